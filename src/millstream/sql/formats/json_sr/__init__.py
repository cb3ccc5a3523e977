"""JSON_SR: JSON whose schemas are in a registry."""
