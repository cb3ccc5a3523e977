"""Answering over HTTP: what every server of Millstream needs, and the HTTP of views (`server.views`)."""
