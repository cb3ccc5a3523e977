"""Java as functions need it: its regular expressions, URIs, times, strings and orders."""
