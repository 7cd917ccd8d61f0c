"""Every test starts from an empty environment with a HOME of its own and talks to loopback only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

KEPT = ("PATH", "TZ", "PYTHONPATH")


def clean_environment(home: Path, **extra: str) -> dict[str, str]:
    """An environment that inherits nothing of the machine's but the way to its programs."""
    env = {k: v for k, v in os.environ.items() if k in KEPT}
    env |= {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "FLOWER_NO_UPDATE": "1",
        "FLOWER_NO_PROBE": "1",
    }
    return env | extra


@pytest.fixture(autouse=True)
def empty_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Replaces the process environment for the length of a test; yields the test's HOME."""
    home = tmp_path_factory.mktemp("home")
    before = dict(os.environ)
    clean = {k: v for k, v in before.items() if k.startswith("PYTEST_")} | clean_environment(home)
    os.environ.clear()
    os.environ.update(clean)
    try:
        yield home
    finally:
        os.environ.clear()
        os.environ.update(before)
