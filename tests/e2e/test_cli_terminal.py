"""A person at a real terminal: questions, Ctrl-C, words; and nobody at all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.scripted.demo import demo_script
from flower.testing import Reply, Request, ScriptedEndpoint
from tests.conftest import clean_environment
from tests.e2e.screens import Terminal

FLOWER = [sys.executable, "-m", "flower"]
ROOT = str(Path(__file__).parents[2])


class Slow:
    """Thinks for a minute when asked first; answers at once when told anything more."""

    def __call__(self, request: Request) -> Reply:
        return Reply("all right, briefly") if "be brief" in request.all_text else Reply("late", delay=60)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    here = tmp_path / "project"
    here.mkdir()
    return here


@pytest.fixture
def slow() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(Slow()) as endpoint:
        yield endpoint


def environment(place: Path, endpoint: ScriptedEndpoint | None) -> dict[str, str]:
    home = place.parent / "home"
    home.mkdir(exist_ok=True)
    extra = endpoint.env() if endpoint else {}
    return clean_environment(home, **{**extra, "PYTHONPATH": ROOT, "TERM": "xterm"})


def terminal(place: Path, endpoint: ScriptedEndpoint, *words: str, **env: str) -> Terminal:
    return Terminal(place, *words, env={**endpoint.env(), **env})


def nobody(place: Path, endpoint: ScriptedEndpoint | None, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FLOWER, *words],
        cwd=place,
        env=environment(place, endpoint),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def rows(place: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((place / "runs" / "manifest.json").read_text("utf-8"))
    return found


TERMS = ["xterm-256color", "dumb"]


def test_the_request_is_asked_for_and_a_number_answers_a_question(place: Path) -> None:
    """Where the terminal cannot draw a typing line; test_cli_typing.py has the others."""
    with ScriptedEndpoint(demo_script) as endpoint:
        with terminal(place, endpoint, "--clarify-only", TERM="dumb") as at:
            at.wait("What is to be done")
            at.enter("make a md -> html script")
            at.wait("2) A fragment")
            at.wait("Enter skips")
            at.enter("2")
            at.wait("answered: A fragment")
            assert at.end() == 0
        endpoint.check()
    assert "fragment" in (place / ".flower" / "notes" / "需求.md").read_text("utf-8")


@pytest.mark.parametrize("term", TERMS)
def test_ctrl_c_once_lets_the_person_speak_and_the_same_session_goes_on(
    place: Path, slow: ScriptedEndpoint, term: str
) -> None:
    with terminal(place, slow, "once", "tell me everything", TERM=term) as at:
        at.wait("== ad-hoc")
        at.wait(lambda: any(line.startswith(".. ad-hoc 1/1 | 0:0") for line in at.rows))  # the sign of life
        at.wait(lambda: slow.requests)
        at.ctrl("c")
        at.wait("Say what to change")
        at.enter("be brief")
        at.wait("all right, briefly")
        assert at.end() == 0
    (row,) = rows(place)
    assert row["ok"] and not row["errors"]
    sessions = {r.request.session_id for r in slow.requests}
    assert sessions == {row["session_id"]}


def test_ctrl_c_twice_leaves_with_a_row_and_no_traceback(place: Path, slow: ScriptedEndpoint) -> None:
    with terminal(place, slow, "once", "tell me everything") as at:
        at.wait(lambda: slow.requests)
        at.ctrl("c")
        at.wait("Say what to change")
        at.ctrl("c")
        assert at.end() == 130
        assert "Traceback" not in at.text
    (row,) = rows(place)
    assert row["error"] == "interrupted-by-human"


@pytest.mark.parametrize("term", TERMS)
def test_ctrl_c_at_the_prompt_leaves_without_a_trace(place: Path, slow: ScriptedEndpoint, term: str) -> None:
    with terminal(place, slow, TERM=term) as at:
        at.wait("What is to be done")
        at.ctrl("c")
        assert at.end() == 130
        assert "Traceback" not in at.text
    assert not (place / "runs").exists()


def test_without_a_terminal_nothing_prompts(place: Path) -> None:
    done = nobody(place, None)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert list(place.iterdir()) == []


USAGE = [
    ("once", "--fork", "hi"),
    ("--rounds", "0", "hi"),
    ("-W", "hi"),
    ("-T", "go", "hi"),
    ("--lang", "fr", "hi"),
    ("--budget", "0", "hi"),
    ("run", "nowhere.py:main"),
    ("run", "nothing"),
    ("demo", "-w", "x"),
    ("--isolate", "hi"),
]


@pytest.mark.parametrize("words", USAGE, ids=" ".join)
def test_impossible_values_are_refused_before_anything_is_written(
    place: Path, words: tuple[str, ...]
) -> None:
    done = nobody(place, None, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert list(place.iterdir()) == []


def test_resuming_an_unknown_session_is_a_usage_error(place: Path, slow: ScriptedEndpoint) -> None:
    done = nobody(place, slow, "once", "--resume", "00000000-0000-4000-8000-000000000000", "hi")
    assert done.returncode == 2
    assert slow.requests == []


def test_home_itself_needs_to_be_named(place: Path, slow: ScriptedEndpoint) -> None:
    home = place.parent / "home"
    home.mkdir()
    done = subprocess.run(
        [*FLOWER, "hi"], cwd=home, env=environment(place, slow), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "-w" in done.stderr


def test_missing_credentials_end_with_5_and_say_where_flower_looked(place: Path) -> None:
    done = nobody(place, None, "hi")
    assert done.returncode == 5
    assert ".config/flower/.env" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 4


def test_a_function_of_ones_own_that_drives_the_runtime(place: Path) -> None:
    (place / "flows.py").write_text(
        "from flower import AgentSpec\n"
        "async def driven(runtime):\n"
        "    return (await runtime.run(AgentSpec(name='a'), 'say it', step_name='x')).text\n"
    )
    with ScriptedEndpoint(default="hello") as endpoint:
        assert nobody(place, endpoint, "run", "flows:driven").stdout == "hello\n"
