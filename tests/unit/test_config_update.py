"""The daily look for a newer version: told, never installed, never in the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flower.config import update
from tests.unit.test_config_probe import Server, serving

INSTALLED = """
import sys
from flower.config.update import check_in_background
told = []
thread = check_in_background(sys.argv[1], told.append)
if thread:
    thread.join()
print(bool(thread), *told, sep="|")
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A site directory that holds the package as an installation does: without a ``.git`` beside it."""
    package = Path(update.__file__).parents[1]
    for part in ("config", "locale", "model"):
        shutil.copytree(
            package / part, tmp_path / "flower" / part, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in ("__init__.py", "values.py"):
        shutil.copy(package / file, tmp_path / "flower")
    return tmp_path


def check(site: Path, server: Server | None, current: str = "1.0", **env: str) -> str:
    index = server.url if server else "http://127.0.0.1:9"
    full = {"HOME": os.environ["HOME"], "PYTHONPATH": str(site), "FLOWER_INDEX_URL": index, **env}
    done = subprocess.run(
        [sys.executable, "-c", INSTALLED, current],
        env=full,
        cwd=site,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def index(version: str) -> tuple[int, dict[str, dict[str, str]]]:
    return 200, {"info": {"version": version}}


def test_a_newer_version_is_told_and_asked_for_once_a_day(installed: Path) -> None:
    with serving(index("1.1")) as server:
        first = check(installed, server)
        second = check(installed, server)
        assert first.startswith("True|") and "1.1" in first and "1.0" in first
        assert second.startswith("False|") and "1.1" in second
        assert [request[:2] for request in server.seen] == [("GET", "/flower-agent/json")]

        memory = Path(os.environ["HOME"]) / ".cache/flower/update.json"
        yesterday = json.loads(memory.read_text()) | {"checked": time.time() - 86401}
        memory.write_text(json.dumps(yesterday))
        assert check(installed, server).startswith("True|")
        assert len(server.seen) == 2


@pytest.mark.parametrize(
    "answer", [index("1.0"), index("0.9"), index("2.0rc1"), index("junk"), (404, b""), (200, b"{"), (200, [])]
)
def test_nothing_is_said_otherwise(installed: Path, answer: tuple[int, object]) -> None:
    with serving(answer) as server:
        assert check(installed, server) == "True"
        assert check(installed, server) == "False"
        assert len(server.seen) == 1


def test_no_network_is_silence(installed: Path) -> None:
    assert check(installed, None) == "True"


@pytest.mark.parametrize("switch", ["1", "0", "no"])
def test_it_can_be_switched_off(installed: Path, switch: str) -> None:
    with serving(index("9")) as server:
        assert check(installed, server, FLOWER_NO_UPDATE=switch) == "False"
    assert server.seen == [] and not (Path(os.environ["HOME"]) / ".cache").exists()


def test_a_checkout_never_asks(installed: Path) -> None:
    (installed / ".git").mkdir()
    with serving(index("9")) as server:
        assert check(installed, server) == "False"
    assert server.seen == []


def test_a_place_that_cannot_be_written_means_no_check(installed: Path) -> None:
    (Path(os.environ["HOME"]) / ".cache").write_text("a file")
    with serving(index("9")) as server:
        assert check(installed, server) == "False"
    assert server.seen == []


@pytest.mark.parametrize("memory", ["", "{", "[]", '{"checked": "x"}', '{"checked": 1e999, "latest": "9"}'])
def test_a_damaged_memory_is_none(installed: Path, memory: str) -> None:
    file = Path(os.environ["HOME"]) / ".cache/flower/update.json"
    file.parent.mkdir(parents=True)
    file.write_text(memory)
    with serving(index("1.1")) as server:
        assert "1.1" in check(installed, server)


@pytest.mark.parametrize(
    ("candidate", "current", "newer"),
    [
        ("1.0.1", "1.0", True),
        ("1.10", "1.9", True),
        ("1.0", "1.0.0", False),
        ("1.0", "1.0rc1", True),
        ("1.0", "1.0.dev3", True),
        ("1.0rc1", "0.9", False),
        ("2.0", "1.0+local", True),
        ("", "1.0", False),
        ("latest", "1.0", False),
        ("1.0", "unknown", False),
        ("0.9", "1.0", False),
    ],
)
def test_what_is_newer(candidate: str, current: str, newer: bool) -> None:
    assert update.is_newer(candidate, current) is newer
