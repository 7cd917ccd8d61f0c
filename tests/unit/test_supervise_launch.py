"""What the SDK is given, which CLI it is, and what the CLI's environment holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flower.model import ConfigurationError
from flower.supervise import Launch, child_environment, find_claude, guard, launch, shim
from tests.unit.supervise_tools import python_environment

ENTRY = Path(__file__).parents[2] / "packaging" / "entry.py"


def executable(path: Path, content: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)
    return path


def run(started: Launch, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **started.env, **more}
    return subprocess.run([started.cli_path, *arguments], env=env, capture_output=True, text=True)


# --- find_claude


def test_the_sdks_own_cli_is_found_without_importing_the_sdk() -> None:
    program = """
import sys
from flower.supervise import find_claude
print(find_claude())
assert not [m for m in sys.modules if m.startswith(("claude_agent_sdk", "mcp", "anyio"))]
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=python_environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("claude_agent_sdk/_bundled/claude")


def test_flower_claude_is_taken_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = executable(tmp_path / "my claude")
    monkeypatch.setenv("FLOWER_CLAUDE", str(mine))
    assert find_claude() == mine
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FLOWER_CLAUDE", "~/my claude")
    assert find_claude() == mine
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLOWER_CLAUDE", "./my claude")
    assert find_claude().is_absolute()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("nothing", "does not exist"), ("directory", "not a file"), ("plain", "not executable")],
)
def test_a_flower_claude_that_cannot_run_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, wrong: str
) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "plain").write_text("")
    monkeypatch.setenv("FLOWER_CLAUDE", str(tmp_path / name))
    with pytest.raises(ConfigurationError, match=wrong) as caught:
        find_claude()
    assert str(tmp_path / name) in caught.value.message and "FLOWER_CLAUDE" in caught.value.hint
    assert caught.value.exit_code == 5


def test_path_comes_last_and_none_at_all_is_an_error(tmp_path: Path) -> None:
    program = "from flower.supervise import find_claude; print(find_claude())"
    (tmp_path / "claude_agent_sdk").mkdir()  # an SDK without its CLI hides the installed one
    (tmp_path / "claude_agent_sdk" / "__init__.py").touch()
    own = executable(tmp_path / "bin" / "claude")
    env = python_environment(PATH=str(own.parent))
    env["PYTHONPATH"] = f"{tmp_path}:{env['PYTHONPATH']}"
    found = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert found.stdout.strip() == str(own), found.stderr
    own.unlink()
    missing = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert missing.returncode == 1
    assert "neither beside claude_agent_sdk nor in PATH" in missing.stderr


# --- launch


def test_an_empty_marker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="marker"):
        launch(tmp_path, marker="")


@pytest.mark.parametrize("given", [True, False])
def test_a_shim_without_its_mode_is_copied_to_a_private_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    installed = tmp_path / "claude-guard.sh"
    installed.write_bytes(shim.SHIM.read_bytes())
    installed.chmod(0o644)
    monkeypatch.setattr(shim, "SHIM", installed)
    cache = tmp_path / "a cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    cli = executable(tmp_path / "cli", "#!/bin/sh\nexit 7\n")
    for _ in range(2):
        started = launch(cli, marker="m", scratch=tmp_path / "scratch" if given else None)
        copy = Path(started.cli_path)
        assert copy.parent == (tmp_path / "scratch" if given else cache / "flower")
        assert [p.name for p in copy.parent.iterdir()] == [copy.name]
        assert copy.stat().st_mode & 0o777 == 0o700
        assert run(started).returncode == 7
        copy.write_text("#!/bin/sh\nexit 1\n")  # a damaged copy is replaced


def test_no_place_for_the_shim_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "claude-guard.sh"
    installed.write_bytes(shim.SHIM.read_bytes())
    monkeypatch.setattr(shim, "SHIM", installed)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be written") as caught:
        launch(tmp_path / "cli", marker="m", scratch=tmp_path / "file")
    assert str(installed) in caught.value.hint


def test_the_shim_started_by_hand_says_so(tmp_path: Path) -> None:
    by_hand = subprocess.run([str(shim.SHIM)], env={}, capture_output=True, text=True)
    assert by_hand.returncode != 0 and "FLOWER_GUARD_PYTHON" in by_hand.stderr
    unasked = subprocess.run([sys.executable, "-IS", guard.__file__], env={}, capture_output=True, text=True)
    assert unasked.returncode == guard.CANNOT_START and "by flower itself" in unasked.stderr


# --- the environment of children


def test_the_environment_is_left_alone_when_not_frozen() -> None:
    given = {"LD_LIBRARY_PATH": "/mine", "_PYI_X": "1", "A": "b"}
    assert child_environment(given) == given


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"_PYI_X": "1", "LD_LIBRARY_PATH": "/bundle", "LD_LIBRARY_PATH_ORIG": "/mine"},
            {"LD_LIBRARY_PATH": "/mine"},
        ),
        ({"_PYI_X": "1", "LD_LIBRARY_PATH": "/bundle"}, {}),
        (
            {"_PYI_X": "1", "LD_LIBRARY_PATH": "/bundle", "LD_LIBRARY_PATH_ORIG": ""},
            {"LD_LIBRARY_PATH": ""},
        ),
        # Given back already, at the start of the program.
        ({"LD_LIBRARY_PATH": "/mine"}, {"LD_LIBRARY_PATH": "/mine"}),
        (
            {"_PYI_ARCHIVE_FILE": "x", "PYINSTALLER_RESET_ENVIRONMENT": "1", "PYTHONPATH": "p"},
            {"PYTHONPATH": "p"},
        ),
    ],
)
def test_a_frozen_flower_gives_the_persons_environment_back(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: dict[str, str]
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert child_environment(given) == expected


def test_a_frozen_flower_is_its_own_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The frozen program is played by a script that runs its entry point."""
    entry = executable(
        tmp_path / "the frozen flower",
        f"#!{sys.executable}\n"
        f"import runpy, sys\nsys.frozen = True\nrunpy.run_path({str(ENTRY)!r}, run_name='__main__')\n",
    )
    cli = executable(tmp_path / "cli", '#!/bin/sh\nprintf "%s\\n" "$@"\nenv\nexit 9\n')
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(entry))
    started = launch(cli, marker="m")
    loader = {"LD_LIBRARY_PATH": "/bundle", "LD_LIBRARY_PATH_ORIG": "/mine", "_PYI_ARCHIVE_FILE": "x"}
    done = run(started, "an argument", **loader, PYTHONPATH=python_environment()["PYTHONPATH"])
    assert done.returncode == 9, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "an argument"
    assert "FLOWER_SESSION=m" in lines and "LD_LIBRARY_PATH=/mine" in lines
    assert not [line for line in lines if line.startswith(("FLOWER_GUARD", "_PYI_", "LD_LIBRARY_PATH_ORIG"))]
