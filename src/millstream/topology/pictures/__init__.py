"""Pictures of topologies: SVG, HTML and Mermaid, made of a description."""
