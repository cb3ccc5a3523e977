"""Builds the wheel, installs it into an environment of its own outside of the repository, and uses it there.

As a script (`make wheel-check`) everything the wheel depends on is installed, too, from the package index; that takes
minutes. The tests link the dependencies of the running interpreter instead, exactly those that the wheel asks for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[1]

#: Pages that must work for whoever has just installed the wheel.
PAGES = ("getting-started.md", "sql.md")

_WHERE = """
import sys
from importlib.metadata import version
from pathlib import Path

import millstream
from millstream.console.files import static_files

repository = Path(sys.argv[1])
assert Path(millstream.__file__).is_relative_to(sys.prefix), millstream.__file__
within = [path for path in sys.path if Path(path).resolve().is_relative_to(repository)]
assert not within, within
assert "/console" in static_files()
assert version("millstream") == millstream.__version__
print(millstream.__version__)
"""


class Environment:
    """A virtual environment with the wheel.

    Attributes:
        python: its interpreter.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "env" / "bin" / "python"
        _run(sys.executable, "-m", "venv", "--without-pip", str(folder / "env"))

    def install(self, wheel: Path, *options: str) -> None:
        """Installs the wheel."""
        _run(
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", str(self.python)),
            *("install", *options, str(wheel)),
        )

    def link_dependencies(self) -> None:
        """Links what the installed wheel asks for from the running interpreter, and nothing else."""
        packages = Path(self.output("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        distribution = next(iter(metadata.distributions(name="millstream", path=[str(packages)])))
        for entry in sorted(_dependencies(distribution)):
            (packages / entry.name).symlink_to(entry)

    def output(self, *arguments: str) -> str:
        """What the environment's interpreter prints, called away from the repository and without its settings."""
        return _run(str(self.python), *arguments, cwd=self.folder, env=_settings())


def build(folder: Path) -> Path:
    """Builds the wheel into the folder, with the build backend that is installed here."""
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder), cwd=REPOSITORY)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check(environment: Environment) -> None:
    """Uses the wheel as a newcomer does.

    Raises:
        RuntimeError: something does not work; the message has what was printed.
    """
    print("version", environment.output("-c", _WHERE, str(REPOSITORY)).strip())
    # Copies: the environment has nothing of the repository on its path.
    script = shutil.copy(REPOSITORY / "tools" / "pages.py", environment.folder)
    pages = [shutil.copy(REPOSITORY / "docs" / page, environment.folder) for page in PAGES]
    print(environment.output(str(script), *map(str, pages)), end="")
    environment.output("-c", "from millstream import *")  # Spark, the Kafka clients and SQL, too
    command = environment.python.with_name("millstream")
    print(_run(str(command), "--help", cwd=environment.folder, env=_settings()).split("\n")[1].strip())


def _dependencies(distribution: metadata.Distribution) -> set[Path]:
    """The files and folders in site-packages of all that a distribution requires, and what that requires in turn."""
    entries: set[Path] = set()
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting: list[tuple[metadata.Distribution, frozenset[str]]] = [(distribution, frozenset())]
    while waiting:
        asking, extras = waiting.pop()
        for text in asking.requires or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in ["", *extras]):
                continue
            wanted = (canonicalize_name(requirement.name), frozenset(requirement.extras))
            if wanted in seen:
                continue
            seen.add(wanted)
            found = metadata.distribution(requirement.name)
            waiting.append((found, wanted[1]))
            tops = {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}
            entries |= {Path(str(found.locate_file(top))) for top in tops}
    return entries


def _settings() -> dict[str, str]:
    """The settings of this process, without those that would lead an interpreter to the repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def _run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout


def main() -> None:
    """The whole check, with all dependencies from the package index."""
    with tempfile.TemporaryDirectory(prefix="millstream-wheel-") as folder:
        environment = Environment(Path(folder))
        environment.install(build(Path(folder)))
        check(environment)


if __name__ == "__main__":
    main()
