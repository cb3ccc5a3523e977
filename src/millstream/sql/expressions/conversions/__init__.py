"""Values of SQL types, and one type's values as those of another."""
