"""Before a run: credentials, the probe on a terminal, the word about a newer version."""

from __future__ import annotations

from flower.cli.options import Settings


def prepare(settings: Settings) -> None:
    pass
