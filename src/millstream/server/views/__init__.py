"""The HTTP of views: questions in paths and parameters, answers as JSON; and the way from one instance to another."""
