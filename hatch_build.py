"""Compiles the message catalogues whenever the package is built, editable installs included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def compile_catalogues(root: Path) -> list[Path]:
    """Writes ``flower.mo`` beside every ``flower.po``; fuzzy entries stay English."""
    written = []
    for source in sorted(root.glob("flower/locale/*/LC_MESSAGES/flower.po")):
        with source.open("rb") as stream:
            catalogue = read_po(stream, locale=source.parent.parent.name)
        target = source.with_suffix(".mo")
        with target.open("wb") as stream:
            write_mo(stream, catalogue)
        written.append(target)
    return written


class CatalogueHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs for the wheel and for the editable install, where the ``.mo`` files land in the checkout."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel":
            compile_catalogues(Path(self.root))
