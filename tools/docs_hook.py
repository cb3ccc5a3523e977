"""What MkDocs calls when it makes the site: adds the pages that are made from the code and those beside `docs/`."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from mkdocs.structure.files import File

import folder_listing
import function_pages
import import_graph
import pattern_pictures
import reference_pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).parents[1]

#: Pages at the top of the repository, and what they are called on the site.
BESIDE = {
    "README.md": "about.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}

#: Pages of the patterns, which lie beside their code.
PATTERNS = {f"examples/patterns/{name}/README.md": f"patterns/{name}.md" for name in pattern_pictures.names()}

#: All pages that are not in docs/, by where they are in the repository.
ELSEWHERE = {**BESIDE, **PATTERNS}

_LINK = re.compile(r"\[(?P<label>[^\]]*)\]\((?!\w+:)(?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Says which pages there are: the guides in the order of docs/index.md, then those that are made."""
    index = (REPOSITORY / "docs" / "index.md").read_text(encoding="utf-8")
    guides = [link["target"] for link in _LINK.finditer(index) if "/" not in link["target"]]
    config.nav = [
        {"Guides": ["index.md", *dict.fromkeys(guides)]},
        {"Patterns": [*PATTERNS.values()]},
        {"Functions of SQL": [f"functions/{name}" for name in function_pages.pages()]},
        {"API reference": [f"reference/{name}" for name in reference_pages.pages()]},
        {"How it is built": [*BESIDE.values(), "internals/folders.md", "internals/imports.md"]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are not in docs/."""
    made = {
        "internals/folders.md": folder_listing.page(),
        "internals/imports.md": import_graph.page(import_graph.read()),
        **{f"functions/{name}": text for name, text in function_pages.pages().items()},
        **{f"reference/{name}": text for name, text in reference_pages.pages().items()},
        **{new: (REPOSITORY / name).read_text(encoding="utf-8") for name, new in ELSEWHERE.items()},
    }
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links from and to pages outside of docs/ to the pages of the site; what is no page becomes its name."""
    path = page.file.src_uri
    here = {new: name for name, new in ELSEWHERE.items()}.get(path, f"docs/{path}")

    def lead(link: re.Match[str]) -> str:
        there = posixpath.normpath(posixpath.join(posixpath.dirname(here), link["target"]))
        target = ELSEWHERE.get(there, there.removeprefix("docs/"))
        if files.get_file_from_path(target) is None:
            # Generated pages have no place in the repository: their links are those of the site already.
            return link[0] if there.startswith("docs/") else str(link["label"])
        return f"[{link['label']}]({posixpath.relpath(target, posixpath.dirname(path))}{link['anchor'] or ''})"

    return _LINK.sub(lead, markdown)
