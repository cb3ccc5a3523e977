"""The wheel has everything, and works in an environment that has nothing of the repository."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import millstream
from wheel_check import REPOSITORY, Environment, build, check


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


def test_it_has_every_file_of_the_package(wheel: Path) -> None:
    source = REPOSITORY / "src"
    files = [path for path in (source / "millstream").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "millstream/py.typed" in names
    assert {str(path.relative_to(source)) for path in files} == {
        name for name in names if not name.startswith(f"millstream-{millstream.__version__}.dist-info/")
    }


def test_it_works_outside_of_the_repository(wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = Environment(tmp_path)
    environment.install(wheel, "--no-deps", "--no-index")
    environment.link_dependencies()

    check(environment)

    printed = capsys.readouterr().out
    assert printed.startswith(f"version {millstream.__version__}\n")
    assert "getting-started.md: " in printed
    assert "sql.md: " in printed
    assert "Usage: millstream" in printed
