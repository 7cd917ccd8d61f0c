"""The built file, and a room without Python, Node and network for it. `make binary` builds it first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frozen.room import Room

ROOT = Path(__file__).parents[2]
DIST = Path(os.environ.get("FLOWER_DIST") or ROOT / "dist")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.frozen)


@pytest.fixture(scope="session")
def binary() -> Path:
    """The one file."""
    found = sorted(DIST.glob(f"flower-*-{sys.platform}-*"))
    assert len(found) == 1, f"exactly one built file is expected in {DIST}: run make binary ({found})"
    return found[0]


@pytest.fixture(scope="session")
def tree() -> Path:
    """The tree that was put into the file."""
    assert (DIST / "flower" / "flower").is_file(), "run make binary"
    return DIST / "flower"


@pytest.fixture(scope="session")
def cache(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A FLOWER_CACHE in which the file is unpacked."""
    place = tmp_path_factory.mktemp("cache") / "flower"
    subprocess.run(
        [str(binary), "--version"], env={"FLOWER_CACHE": str(place)}, check=True, capture_output=True
    )
    return place


@pytest.fixture(scope="session")
def unpacked(cache: Path) -> Path:
    """The unpacked tree."""
    (found,) = (path for path in cache.iterdir() if path.is_dir())
    return found


@pytest.fixture(scope="session")
def command(binary: Path, cache: Path) -> list[str]:
    """The words before the arguments; `env` becomes the file, so the pid is the one that was started."""
    return ["env", f"FLOWER_CACHE={cache}", str(binary)]


@pytest.fixture(scope="session")
def room(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    base = tmp_path_factory.mktemp("room")
    # The user of the room must be able to reach it.
    for directory in (base, base.parent, base.parent.parent):
        directory.chmod(0o755)
    room = Room.make(base / "root", binary)
    try:
        yield room
    finally:
        room.close()
        shutil.rmtree(room.root, ignore_errors=True)
