"""Nobody at the terminal: a job that can tell by status and lines what happened, and never hangs on a question."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import jsonschema

from flower.books.locks import RunLease
from flower.cli.exits import words_of
from flower.model.schema import json_schema
from flower.testing import Reply, Request, Rule, ScriptedEndpoint
from tests.e2e.chain_model import NOT_YET, Model
from tests.e2e.harness import FLOWER, Place, wait_for

FLOWS = """
import os
from flower import AgentSpec, NetworkGaveUp, Step, StepAbort, Workflow

def main():
    return Workflow([Step('word', AgentSpec(name='terse'), 'say it')])

async def driven(runtime):
    return (await runtime.run(AgentSpec(name='a'), 'say it', step_name='x')).text

def stops(runtime):
    raise StepAbort('this is not for machines')

def offline(runtime):
    raise NetworkGaveUp('an hour without a network')

broken = 1 / 0 if False else 'text'
"""
LINE = jsonschema.Draft202012Validator(json_schema(closed=True))


def lines_of(output: str) -> list[dict[str, Any]]:
    """The events of ``--json``, each as described and nothing besides."""
    lines = [json.loads(line) for line in output.splitlines()]
    for line in lines:
        assert LINE.is_valid(line), line
    assert [n for n, line in enumerate(lines) if "schema_version" in line] == [0]
    assert [n for n, line in enumerate(lines) if line["type"] == "end"] == [len(lines) - 1]
    return lines


def ended(done: subprocess.CompletedProcess[str], code: int, word: str) -> list[dict[str, Any]]:
    """The lines of a run that ended so, by its status, by its last line, and without a traceback."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) < 20
    lines = lines_of(done.stdout)
    assert (lines[-1]["exit_code"], lines[-1]["status"]) == (code, word) and word in words_of(code)
    return lines


def without_stdin(place: Place, *words: str) -> subprocess.CompletedProcess[str]:
    """The command with its stdin closed, not only empty, and stdout and stderr pipes."""
    line = ["/bin/sh", "-c", 'exec "$0" "$@" <&-', *FLOWER, *words]
    return subprocess.run(line, cwd=place.dir, env=place.env, capture_output=True, text=True, timeout=120)


def test_every_command_of_the_readme_without_stdin(tmp_path: Path) -> None:
    """With ``--no-goal``, which costs a judge less; the whole chain runs without a terminal in many a test."""
    model = Model(writes=False)

    def script(request: Request) -> Reply:
        reply = model(request)
        return Reply("It is there.") if reply.text == Model()._unknown(request).text else reply

    with ScriptedEndpoint(script) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        (place.dir / "flows.py").write_text(FLOWS)

        def result(*words: str) -> str:
            done = without_stdin(place, *words)
            assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
            return done.stdout

        nothing = without_stdin(place)
        assert (
            nothing.returncode == 2
            and not nothing.stdout
            and list(place.dir.iterdir()) == [place.dir / "flows.py"]
        )
        assert result("--no-goal", "make a hello") == "It is there.\n"
        assert result("--no-goal", "also wave") == "It is there.\n" and "- also wave" in place.note("需求.md")
        assert result("--no-goal") == "It is there.\n" and place.lineage["woke"] == 3
        assert (
            result("--new", "--no-goal", "something else") == "It is there.\n" and place.lineage["woke"] == 1
        )
        assert result("once", "read this repo") == "It is there.\n"
        assert result("run", "flows.py:main") == "It is there.\n"
        setup = without_stdin(place, "setup")
        assert setup.returncode == 2 and not setup.stdout and "terminal" in setup.stderr
        endpoint.check()


def test_each_way_to_end_has_its_status_and_its_word(tmp_path: Path) -> None:
    """Those that need no paid work, or hardly any; 0, 4, 5 and Ctrl-C at a terminal are tested where they belong."""
    model = Model(verdicts=[NOT_YET], writes=False)
    with ScriptedEndpoint(model) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        (place.dir / "flows.py").write_text(FLOWS)

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            return place.run("--json", *words)

        ended(run("run", "flows.py:stops"), 1, "step-abort")
        ended(run("run", "flows.py:offline"), 75, "network-gave-up")
        ended(run("run", "flows.py:broken"), 2, "usage-error")
        ended(run("--rounds", "x", "hi"), 2, "usage-error")
        with RunLease.acquire(place.runs, "another"):
            ended(run("--new", "hi"), 6, "run-is-live")
        lines = ended(run("--rounds", "1", "make a hello"), 3, "goal-not-reached")
        kinds = [line["type"] for line in lines]
        assert kinds[0] == "run" and kinds.count("step") == kinds.count("step_end") == 4 == lines[-1]["steps"]
        assert next(line["conclusion"] for line in lines if line["type"] == "verdict") == "not_yet"
        assert lines[-1]["cost_usd"] > 0 and lines[-1]["run"] == place.rows[-1]["run"]
        usage = [line["cost_usd"] for line in lines if line["type"] == "usage"]
        assert usage == sorted(usage) and usage[-1] > usage[0]


def test_what_ends_a_long_run_from_outside(tmp_path: Path) -> None:
    """A deadline, Ctrl-C, TERM and a reader that goes away, all in the middle of a request."""
    with ScriptedEndpoint([Rule(reply=Reply("late", delay=120))]) as endpoint:
        places = {
            name: Place.make(tmp_path / name, endpoint.env()) for name in ("late", "int", "term", "gone")
        }
        told = tmp_path / "told"
        late = ("--deadline", "15s", "--notify", f'echo "$FLOWER_STATUS|$FLOWER_EXIT_CODE" >{told}')
        runs = {
            name: place.start("--json", "once", *(late if name == "late" else ()), "tell me")
            for name, place in places.items()
        }
        try:
            # The deadline may strike before the request where the machine is slow.
            wait_for(lambda: len(endpoint.requests) + (runs["late"].poll() is not None) >= len(runs), 90.0)
            runs["int"].send_signal(signal.SIGINT)
            runs["term"].send_signal(signal.SIGTERM)
            gone = runs["gone"].stdout
            assert gone is not None
            assert json.loads(os.read(gone.fileno(), 65536).splitlines()[0])["type"] == "run"
            gone.close()
            runs["gone"].send_signal(signal.SIGINT)  # whose receipt is the line that finds nobody
            outcome = {}
            for name in ("late", "int", "term"):
                out, err = runs[name].communicate(timeout=60)
                assert "Traceback" not in err
                last = lines_of(out)[-1]
                outcome[name] = (runs[name].returncode, last["exit_code"], last["status"])
            assert runs["gone"].stderr is not None
            with runs["gone"].stderr as complaints:
                assert "Traceback" not in complaints.read()
            assert runs["gone"].wait(60) in (130, -signal.SIGTERM)
        finally:
            for process in runs.values():
                process.kill()
                process.wait()
    assert outcome == {
        "late": (3, 3, "deadline-passed"),
        "int": (130, 130, "human-interrupt"),
        "term": (-signal.SIGTERM, 143, "killed-by-signal"),
    }
    assert told.read_text() == "deadline-passed|3\n"
    for name, place in places.items():
        assert not place.tree()
        assert name == "late" or [row["error"] != "" for row in place.rows] == [True]


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    """``flower … | head -1`` in every shape: the work is done, nobody complains. A full disk is told, once."""
    with ScriptedEndpoint(default="hello") as endpoint:
        place = Place.make(tmp_path, endpoint.env())

        def status(line: str) -> tuple[str, str]:
            """What a line of shell leaves in ``$?``, and what it says."""
            script = f'flower() {{ {FLOWER[0]} "$@"; echo $? >status; }}; {line}'
            shell = ["/bin/bash", "-c", script]
            done = subprocess.run(
                shell, cwd=place.dir, env=place.env, capture_output=True, text=True, timeout=60
            )
            return (place.dir / "status").read_text().strip(), done.stderr

        shut = "| { exec <&-; sleep 3; }"
        assert status(f"{{ sleep 0.3; flower once hi; }} 2>&1 {shut}") == ("0", "")
        assert [row["ok"] for row in place.rows] == [True]
        for words in ("--version", "once --help", "steps"):
            assert status(f"{{ sleep 0.3; flower {words}; }} {shut}") == ("0", "")
            assert status(f"flower {words} >/dev/full") == ("1", "flower: No space left on device\n")
            assert status(f"flower {words} >&- 2>&- <&-") == ("0", "")
