"""Commands of `millstream` that files name, read as the command line itself reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
import yaml

from millstream.cli.main import app

DEPLOY = Path(__file__).parents[2] / "deploy"
#: What Kubernetes, Compose and systemd fill in.
_VARIABLE = re.compile(r"\$\((\w+)\)|\$\{?\w+(?::-[^}]*)?\}?")


def options(command: Sequence[str]) -> dict[str, Any]:
    """The options of a command such as `millstream run app.py --once`, by the names of their parameters.

    Raises:
        Exception: there is no such command or option, in the command line's words.
    """
    program, name, *arguments = [_VARIABLE.sub("x", word) for word in command]
    assert program.rsplit("/", 1)[-1] == "millstream", command
    group: Any = typer.main.get_command(app)
    return dict(group.commands[name].make_context(name, list(arguments)).params)


def manifests() -> dict[str, dict[str, Any]]:
    """All objects for Kubernetes, by kind and name."""
    found = {}
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        if file.name != "kustomization.yaml":
            for each in yaml.safe_load_all(file.read_text()):
                found[f"{each['kind']}/{each['metadata']['name']}"] = each
    return found


def container(deployment: dict[str, Any]) -> dict[str, Any]:
    """The one container of a deployment's pods."""
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(found)


def compose() -> dict[str, Any]:
    """The services of Compose, with their commands as lists."""
    services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())["services"]
    return {name: {**service, "command": shlex.split(service.get("command", ""))} for name, service in services.items()}
