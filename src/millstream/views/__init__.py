"""Views: asking the stores of an application, on whichever instance they are, from copies made of their changelogs."""
