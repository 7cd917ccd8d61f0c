"""Events as JSON lines on stdout."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable

from flower.cli.pipes import silence
from flower.model.schema import SCHEMA_VERSION

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any, TextIO

    from flower.model import Event


class JsonLines:
    """A listener that writes one JSON object a line, flushed at once.

    Args:
        stream: where to; stdout by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self.on_closed: Callable[[], None] | None = None
        """Called once when the reader has gone away. Nothing is written after that."""
        self._lock = threading.Lock()
        self._first = True
        self._gone = False
        self.ended = False

    def __call__(self, event: Event) -> None:
        self.write(event.as_json())

    def end(
        self, status: str, exit_code: int, *, steps: int = 0, cost_usd: float = 0.0, run: str | None = None
    ) -> None:
        """The last line: how it ended, how many rows the run left, what it cost, and its id."""
        self.ended = True
        figures = {"steps": steps, "cost_usd": round(cost_usd, 6), "run": run}
        self.write({"type": "end", "status": status, "exit_code": exit_code, **figures})

    def write(self, record: dict[str, Any]) -> None:
        """One line. Lone surrogates stay escaped, so that the line is valid UTF-8 whatever a tool printed."""
        with self._lock:
            if self._gone:
                return
            if self._first:
                record = {"schema_version": SCHEMA_VERSION, **record}
                self._first = False
            try:
                self._stream.write(json.dumps(record, ensure_ascii=True, default=str) + "\n")
                self._stream.flush()
                return
            except BrokenPipeError:
                self._gone = True
                silence(self._stream)
        if self.on_closed is not None:
            self.on_closed()
