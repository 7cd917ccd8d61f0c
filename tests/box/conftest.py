"""An engine, the image, and people who work in boxes. `make binary` comes first; needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flower.testing import ScriptedEndpoint
from tests.box.box import ROOT, TOKEN, Box
from tests.box.model import plain_model

_ENVIRONMENT = dict(os.environ)
"""The machine's own, before a test's is put in its place: DOCKER_HOST may be in it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.box)


def _answers(host: str) -> bool:
    env = {"PATH": _ENVIRONMENT["PATH"], **({"DOCKER_HOST": host} if host else {})}
    return subprocess.run(["docker", "version"], env=env, capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def docker_host() -> str:
    """DOCKER_HOST of an engine that answers: the machine's, else one of our own; empty for the usual place."""
    host = _ENVIRONMENT.get("DOCKER_HOST", "")
    if shutil.which("docker", path=_ENVIRONMENT["PATH"]) and _answers(host):
        return host
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        pytest.skip("no container engine answers, and one can be started only as root on Debian")
    started = subprocess.run([ROOT / "tests/box/engine.sh"], env=_ENVIRONMENT, capture_output=True, text=True)
    if started.returncode:
        pytest.skip(f"no container engine can be started here: {started.stderr[-300:]}")
    return started.stdout.partition("DOCKER_HOST=")[2].strip()


@pytest.fixture(scope="session")
def image(docker_host: str) -> str:
    """The name of the image, made from this checkout; unchanged parts come from the engine's cache."""
    if named := _ENVIRONMENT.get("FLOWER_IMAGE"):
        return named
    assert (ROOT / "dist/flower/flower").is_file(), "run make binary"
    env = {"PATH": _ENVIRONMENT["PATH"], "HOME": _ENVIRONMENT.get("HOME", "/"), "DOCKER_HOST": docker_host}
    if not docker_host:
        del env["DOCKER_HOST"]
    made = subprocess.run(
        ["make", "image", "IMAGE_ARGS=--network host"], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr[-3000:]
    return "flower-box"


@pytest.fixture(scope="session")
def endpoint() -> Iterator[ScriptedEndpoint]:
    """One for all: it is only asked, never told."""
    with ScriptedEndpoint(plain_model) as endpoint:
        yield endpoint


Person = Callable[..., Box]


@pytest.fixture
def person(docker_host: str, image: str, endpoint: ScriptedEndpoint) -> Iterator[Person]:
    """Makes people: each with a project and credentials for the endpoint."""
    base = Path(tempfile.mkdtemp(prefix="flower-box-test-"))
    base.chmod(0o755)
    made: list[Box] = []

    def make(uid: int = 0, endpoint: ScriptedEndpoint = endpoint, **env: str) -> Box:
        settings = {**endpoint.env(), "FLOWER_IMAGE": image}
        key = next(name for name in settings if name.endswith(("_API_KEY", "_AUTH_TOKEN")))
        made.append(Box.make(base / f"p{len(made)}", docker_host, uid, **{**settings, key: TOKEN, **env}))
        return made[-1]

    try:
        yield make
    finally:
        for box in made:
            box.close()
        shutil.rmtree(base, ignore_errors=True)
