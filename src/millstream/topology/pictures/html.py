"""A topology as a page of its own."""

from __future__ import annotations

from html import escape

from millstream.topology.description import TopologyDescription
from millstream.topology.pictures.svg import draw_svg

_STYLE = """
body { margin: 0; background: #f1f5f9; color: #1f2933;
       font-family: "Inter", "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 32px 24px 48px; }
h1 { font-size: 22px; margin: 0 0 20px; }
h2 { font-size: 15px; margin: 28px 0 10px; color: #334155; }
figure, pre { margin: 0; background: #ffffff; border: 1px solid #d9e2ec; border-radius: 10px; overflow: auto; }
figure { padding: 8px; }
figure svg { display: block; margin: 0 auto; }
pre { padding: 16px 18px; font-size: 12.5px; line-height: 1.45; }
"""


def draw_html(description: TopologyDescription, title: str) -> str:
    """Put the drawing and the text of the description on one page that needs nothing else."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<figure>
{draw_svg(description)}</figure>
<h2>Description</h2>
<pre>{escape(str(description))}</pre>
</main>
</body>
</html>
"""
