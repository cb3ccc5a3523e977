"""JSON: a quick reader for rows like those before, and an exact one for the rest."""
