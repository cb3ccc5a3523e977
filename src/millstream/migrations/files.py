"""The files of migrations: `V000001__description.sql`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millstream.migrations.errors import MigrationError

HIGHEST_VERSION = 999_999
_NAME = re.compile(r"V([0-9]{6})__(.+)\.sql")
#: What a file's name cannot have everywhere.
_UNFIT = re.compile(r"[\s/\\:*?\"<>|]")


@dataclass(frozen=True)
class MigrationFile:
    """A migration.

    Args:
        version: its number.
        name: its description.
        path: its file.
    """

    version: int
    name: str
    path: Path

    def read(self) -> bytes:
        """What the file has.

        Raises:
            MigrationError: it cannot be read.
        """
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise MigrationError(f"Failed to read {self.path}: {error.strerror}") from error


def checksum(content: bytes) -> str:
    """What tells whether a file was changed after it was applied.

    >>> checksum(b"SHOW STREAMS;")
    'c9cfeac9a2716e4ae7393ebe6e9d83d1'
    """
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def all_migrations(directory: Path, tell: Callable[[str], None] = lambda text: None) -> list[MigrationFile]:
    """The migrations of a directory, by their versions.

    Args:
        directory: where the files are.
        tell: is told of files that are no migrations.

    Raises:
        MigrationError: there is no such directory, or two files have one version.
    """
    if not directory.is_dir():
        raise MigrationError(f"{directory} is not a directory.")
    found: dict[int, MigrationFile] = {}
    for path in sorted(path for path in directory.iterdir() if not path.is_dir()):
        matched = _NAME.fullmatch(path.name)
        if matched is None:
            tell(
                "Skipping file does not match expected migration file pattern "
                f"'V<six digit number>__<name>.sql': {path.name}"
            )
            continue
        version = int(matched[1])
        if version == 0:
            raise MigrationError(f"MigrationFile file versions must be positive. Found: {path.name}")
        if version in found:
            raise MigrationError(
                f"Found multiple migration files with the same version. Version: {version}. "
                f"Files: '{path}', '{found[version].path}'"
            )
        found[version] = MigrationFile(version, matched[2].replace("_", " "), path)
    return list(found.values())


def create(directory: Path, description: str, version: int | None, tell: Callable[[str], None]) -> Path:
    """Make an empty file for a migration.

    Args:
        directory: where the files are.
        description: what it does, in a few words.
        version: its number; the next one if not given.
        tell: what is told to people.

    Raises:
        MigrationError: the version is there already, or there can be none such.
    """
    if not description:
        raise MigrationError("Description cannot be empty.")
    there = {found.version: found for found in all_migrations(directory)}
    if version is None:
        version = max(there, default=0) + 1
    if version in there:
        raise MigrationError(f"Found existing migrations file for version {version}: {there[version].path}")
    if not 1 <= version <= HIGHEST_VERSION:
        raise MigrationError(f"Invalid version file version: {version}. Version must be a positive six-digit integer.")
    path = directory / f"V{version:06}__{_UNFIT.sub('_', description)}.sql"
    tell(f"Creating migration file: {path}")
    try:
        path.touch(exist_ok=False)
    except OSError as error:
        raise MigrationError(f"Failed to create file {path}: {error.strerror}") from error
    tell("Migration file successfully created")
    return path
