"""Looking at real processes: shared by the tests of the room."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from flower.supervise import MARKER, guard

ROOT = Path(guard.__file__).parents[2]


def until(condition: Callable[[], bool], what: str, limit: float = 10.0) -> None:
    """Poll until it holds, at most ``limit`` seconds."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < limit, f"not within {limit} s: {what}"
        time.sleep(0.005)


def alive(pid: int) -> bool:
    row = guard.stat(pid)
    return row is not None and row[4] not in "ZX"


def carriers(marker: str) -> list[int]:
    """The living processes that carry the marker, found without the code under test."""
    wanted = f"{MARKER}={marker}".encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if wanted in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue  # it ended, or is another user's
    return found


def python_environment(**more: str) -> dict[str, str]:
    """For a Python that plays flower."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}
