"""The driver's side: who owns the application, where each batch ends, what is told to people."""
