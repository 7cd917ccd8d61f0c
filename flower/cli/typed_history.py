"""What a person typed before, for the arrow keys: one file of the user's own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory, InMemoryHistory

MOST_BYTES = 256 * 1024
"""A larger file loses its older half when a run begins."""


def history_file() -> Path:
    """``${XDG_STATE_HOME:-~/.local/state}/flower/history``."""
    base = os.environ.get("XDG_STATE_HOME") or ""
    state = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state"
    return state / "flower" / "history"


class TypedHistory(InMemoryHistory):
    """Remembers in memory, and in the file as far as the file lets it; only its owner may read it."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._file: FileHistory | None = None
        # Without a place to write (a read-only home) the arrow keys still know this run.
        with suppress(OSError):
            if path is not None:
                _prepare(path)
                self._file = FileHistory(str(path))

    def load_history_strings(self) -> Iterable[str]:
        if self._file is not None:
            with suppress(OSError):
                return list(self._file.load_history_strings())
        return super().load_history_strings()

    def store_string(self, string: str) -> None:
        super().store_string(string)
        if self._file is not None:
            with suppress(OSError):
                self._file.store_string(string)


def _prepare(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    if path.stat().st_size > MOST_BYTES:
        data = path.read_bytes()
        half = data.find(b"\n\n# ", len(data) // 2)
        path.write_bytes(data[half + 1 :] if half > 0 else b"")
