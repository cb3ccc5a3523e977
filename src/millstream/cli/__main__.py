"""`python -m millstream.cli` is `millstream`."""

from __future__ import annotations

from millstream.cli.main import main

main()
