"""Seeing that migrations that were applied are still what they were."""

from __future__ import annotations

from millstream.migrations.errors import MigrationError
from millstream.migrations.files import all_migrations, checksum
from millstream.migrations.metadata import NONE, Metadata, require_migrated
from millstream.migrations.project import Project


def validate(metadata: Metadata, project: Project) -> None:
    """See that the files of applied migrations are still what was applied.

    Raises:
        MigrationError: one of them is gone, or was changed.
    """
    files = {found.version: found for found in all_migrations(project.directory)}
    version, following = metadata.latest_migrated(), NONE
    while version != NONE:
        applied = metadata.migration(version)
        if following != NONE:
            require_migrated(applied, following)
        file = files.get(int(version))
        if file is None:
            raise MigrationError(f"No migrations file found for version with status MIGRATED. Version: {version}")
        found = checksum(file.read())
        if found != applied.checksum:
            raise MigrationError(
                f"Migrations file found for version {version} does not match the checksum saved for this version. "
                f"Expected checksum: {applied.checksum}. Actual checksum: {found}. File name: {file.path}",
                hint="put the file back as it was, and write the change as a migration of its own",
            )
        version, following = applied.previous, version
