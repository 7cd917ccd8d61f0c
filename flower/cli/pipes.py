"""Streams whose reader has gone away."""

from __future__ import annotations

import os
import sys

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


def open_missing() -> None:
    """Let a standard stream that was closed lead to nothing: whatever is opened next would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def finish(code: int) -> int:
    """Write out what is left for stdout; the exit status, which is 1 if that cannot be written.

    A reader that has gone away is no failure; the interpreter would make one of it at its own end.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
    except OSError as error:
        silence(sys.stdout)
        if not code:
            print(f"flower: {error.strerror}", file=sys.stderr)
        return code or 1
    return code
