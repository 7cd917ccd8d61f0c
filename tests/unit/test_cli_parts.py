"""`--version -v` names the parts; `cache` knows what lies in the launcher's places; a missing module is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flower.cli import cache
from flower.cli.arguments import asks_for_more
from flower.cli.target import load
from flower.model import StepFailed


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flower", *words], capture_output=True, text=True, check=True
    )


def test_the_version_with_its_parts() -> None:
    lines = run("--version", "-v").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["flower", "Python", "claude-agent-sdk", "claude"]
    assert run("--version").stdout.splitlines() == lines[:1]


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["-v", "--version"], True),
        (["--version", "--verbose"], True),
        (["--version"], False),
        (["go", "-v"], False),
    ],
)
def test_more_is_asked_for_before_the_command(words: list[str], more: bool) -> None:
    assert asks_for_more(words) is more


def unpacked(place: Path, name: str) -> Path:
    tree = place / name
    tree.mkdir(parents=True)
    (tree / "flower").write_text("#!/bin/sh\n")
    return tree


def test_the_cache_shows_and_clears(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLOWER_CACHE", str(tmp_path / "c"))
    assert run("cache").stdout == "Nothing is unpacked.\n"
    tree = unpacked(tmp_path / "c", "0123456789abcdef")
    (tmp_path / "c" / "0123456789abcdef.lock").touch()
    (tmp_path / "c" / "fedcba9876543210.part-12").mkdir()
    other = tmp_path / "c" / "mine.txt"
    other.touch()
    shown = json.loads(run("--json", "cache").stdout.splitlines()[0])
    assert [row["path"] for row in shown["trees"]] == [str(tree)] and shown["removed"] == []
    assert "removed" in run("cache", "--clear").stdout
    assert list((tmp_path / "c").iterdir()) == [other]


def test_the_places_are_those_of_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv("TMPDIR", "/t")
    assert [str(p.parent) for p in cache.places()] == ["/h/.cache", "/var/tmp", "/t", "/tmp"]
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache.places()[0] == Path("/x/flower")
    monkeypatch.setenv("FLOWER_CACHE", "/only")
    assert cache.places() == [Path("/only")]


def test_a_missing_module_is_named(tmp_path: Path) -> None:
    flows = tmp_path / "flows.py"
    flows.write_text("import nowhere_to_be_found\n")
    with pytest.raises(StepFailed, match="'nowhere_to_be_found'") as raised:
        load(f"{flows}:main")
    assert raised.value.hint


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["go", "--help"], ["completion", "bash"]])
def test_what_only_speaks_loads_neither_the_sdk_nor_the_typing_line(words: list[str]) -> None:
    heavy = ("prompt_toolkit", "claude_agent_sdk", "asyncio", "apsw", "psutil", "urllib.request")
    code = (
        "import sys, atexit\nfrom flower.cli.main import main\n"
        f"atexit.register(lambda: print(*[m for m in {heavy!r} if m in sys.modules], file=sys.stderr))\n"
        f"main({words!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []


def test_without_a_terminal_a_run_loads_no_typing_line(tmp_path: Path) -> None:
    (tmp_path / "flows.py").write_text(
        "import sys\ndef main(runtime):\n    return ' '.join(m for m in sys.modules if 'prompt_toolkit' in m)\n"
    )
    env = {**os.environ, "ANTHROPIC_API_KEY": "k"}
    command = [sys.executable, "-m", "flower", "run", "flows.py:main"]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
