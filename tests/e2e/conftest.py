"""One finished run a worker, given to each test as it was left: a chain costs seconds, a copy nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.scripted.demo import demo_script
from flower.testing import ScriptedEndpoint
from tests.e2e.harness import Place

WORDS = "make a md -> html script"


def _at(base: Path, endpoint: ScriptedEndpoint) -> Place:
    place = Place.make(base, endpoint.env())
    place.dir = base / "a" / "b-c"  # Another path, a-b/c, has the same key.
    place.dir.mkdir(parents=True, exist_ok=True)
    return place


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    """The demo's model."""
    with ScriptedEndpoint(demo_script) as running:
        yield running
        running.check()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Where a first run has come to its end, and a copy of all it left: books know their own path."""
    base = tmp_path_factory.mktemp("used")
    with ScriptedEndpoint(demo_script) as running:
        done = _at(base / "at", running).run("go", WORDS)
        assert done.returncode == 0, done.stderr[-2000:]
    shutil.copytree(base / "at", base / "left", symlinks=True)
    return base / "at", base / "left"


@pytest.fixture
def used(finished: tuple[Path, Path], endpoint: ScriptedEndpoint) -> Place:
    """A directory in which a first run has come to its end; what is beside it belongs to the test."""
    at, left = finished
    shutil.rmtree(at)
    shutil.copytree(left, at, symlinks=True)
    return _at(at, endpoint)
