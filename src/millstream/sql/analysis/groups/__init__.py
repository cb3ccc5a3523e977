"""GROUP BY: what records are grouped by, and their aggregates."""
