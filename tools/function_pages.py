"""The pages of SQL's functions, one per category, from the registry and the examples."""

from __future__ import annotations

from itertools import groupby

from function_examples import Example, examples
from millstream.sql.functions.model import FunctionDescription, VariantDescription
from millstream.sql.functions.registry import default_registry


def pages() -> dict[str, str]:
    """Markdown by the name of its file; `index.md` lists all functions."""
    described = sorted(default_registry().describe(), key=lambda function: (function.category, function.name))
    known = examples()
    found = {}
    index = [
        "# Functions of SQL",
        "",
        f"All {len(described)} functions that `SHOW FUNCTIONS` lists. Every example here is run by the tests.",
        "Functions of your own are written in Python: [functions in Python](../sql.md#functions-in-python).",
    ]
    for category, group in groupby(described, key=lambda function: function.category):
        functions = list(group)
        file = f"{category.lower().replace(' / ', '-').replace(' ', '-')}.md"
        found[file] = "\n\n".join(
            [f"# {_title(category)}", *(_function(function, known[function.name]) for function in functions)]
        )
        links = [f"[{function.name}]({file}#{function.name.lower()})" for function in functions]
        index += ["", f"## {_title(category)}", "", " · ".join(links)]
    return {"index.md": "\n".join(index) + "\n", **found}


def _title(category: str) -> str:
    return {"JSON": "JSON", "URL": "URLs"}.get(category, category.capitalize())


def _function(function: FunctionDescription, example: Example) -> str:
    parts = [f"## {function.name}", function.description]
    signatures: dict[str, list[str]] = {}
    for variant in function.variants:
        signatures.setdefault(variant.description, []).append(_signature(function.name, variant))
    for description, lines in signatures.items():
        if description != function.description:
            parts.append(description)
        parts.append("```sql\n" + "\n".join(lines) + "\n```")
    given = f" of {', '.join(example.values)}" if example.values else ""
    parts.append(f"Example: `{example.call}`{given} gives `{example.gives}`")
    return "\n\n".join(parts) + "\n"


def _signature(name: str, variant: VariantDescription) -> str:
    arguments = ", ".join(
        f"{argument.name} {argument.type}{'...' if argument.is_variadic else ''}" for argument in variant.arguments
    )
    return f"{name}({arguments}) -> {variant.returns}"
