"""How the case format calls operators, and the functions and types it names."""
