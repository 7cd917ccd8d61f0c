"""Streams whose reader has gone away."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import TextIO


def silence(stream: TextIO) -> None:
    """Point a stream at nothing, so that the interpreter's last flush cannot fail on the closed pipe."""
    try:
        target = stream.fileno()
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, target)
        os.close(sink)
    except (OSError, ValueError):
        pass  # no descriptor behind it: then there is no flush to fail either
