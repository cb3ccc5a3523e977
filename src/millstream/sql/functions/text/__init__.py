"""Functions of texts, JSON, URLs and bytes."""
