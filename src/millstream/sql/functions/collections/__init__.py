"""Functions of arrays, maps and structs, and table functions."""
