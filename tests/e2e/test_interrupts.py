"""Ctrl-C and signals at every kind of moment, typed at a real terminal into the installed command."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from flower.scripted.demo import demo_script, role_of
from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse
from tests.e2e import killing
from tests.e2e.harness import FLOWER, Place, wait_for
from tests.e2e.killing import Watched

watched = partial(killing.watched, controlling=True)
CTRL_C = b"\x03"
WORDS = "use a table instead"


def chain(block: Callable[[Request], Reply | None]) -> Callable[[Request], Reply]:
    """The demo's model, held up where ``block`` says, until the person has said something."""
    heard: list[bool] = []

    def script(request: Request) -> Reply:
        if WORDS in request.all_text:
            heard.append(True)
        held = None if heard else block(request)
        return held or demo_script(request)

    return script


def in_work(request: Request) -> bool:
    return role_of(request) == "coordinator"


def in_a_tool(request: Request) -> Reply | None:
    if request.agent_id and not request.calls:
        return Reply(blocks=[ToolUse("Bash", {"command": "sleep 300", "description": "x"})])
    return None


def in_a_stream(request: Request) -> Reply | None:
    return replace(Reply("word " * 400), chunk_delay=0.2) if in_work(request) else None


def with_parallel_subagents(request: Request) -> Reply | None:
    if in_work(request) and not request.calls:
        task = {"description": "d", "prompt": "do a part", "subagent_type": "worker"}
        return Reply(blocks=[ToolUse("Agent", task), ToolUse("Agent", task), ToolUse("Agent", task)])
    return in_a_tool(request)


HELD = [in_a_tool, in_a_stream, with_parallel_subagents]


def busy(
    run: Watched, place: Place, endpoint: ScriptedEndpoint, held: Callable[[Request], Reply | None]
) -> None:
    """Wait until the run is in the middle of what holds it up."""

    def there() -> bool:
        if held is in_a_stream:
            return any(in_work(r.request) for r in endpoint.requests)
        want = 3 if held is with_parallel_subagents else 1
        return sum("sleep 300" in " ".join(cmdline(p)) for p in place.tree()) >= want

    wait_for(there, 120.0, run.tail)


def cmdline(process: object) -> list[str]:
    try:
        return list(process.cmdline())  # type: ignore[attr-defined]
    except Exception:  # psutil's NoSuchProcess: it has just ended
        return []


def ended(run: Watched, status: int, seconds: float = 20.0) -> None:
    wait_for(lambda: run.process.poll() is not None, seconds, run.tail)
    assert run.process.poll() == status, run.tail()
    assert b"Traceback" not in run.said, run.tail()


@pytest.mark.parametrize("held", HELD, ids=lambda held: held.__name__)
def test_words_after_ctrl_c_go_on_in_the_same_session(
    held: Callable[[Request], Reply | None], tmp_path: Path
) -> None:
    with ScriptedEndpoint(chain(held)) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        with watched(place, "make a md -> html script") as run:
            busy(run, place, endpoint, held)
            os.write(run.terminal, CTRL_C)
            wait_for(lambda: b"Say what to change" in run.said, 20.0, run.tail)
            os.write(run.terminal, WORDS.encode() + b"\n")
            ended(run, 0, 120.0)
        work = [row for row in place.rows if row["step"] == "干活"]
        assert len(work) == 1 and work[0]["ok"] and work[0]["attempts"] == 2 and not work[0]["errors"]
        assert {e["session_id"] for e in run.events if e.get("uuid") and e["step"] == "干活"} == {
            work[0]["session_id"]
        }
        told = [r.request for r in endpoint.requests if WORDS in r.request.all_text]
        assert told and not any("[Request interrupted" in request.all_text for request in told)
        assert not place.tree()
        endpoint.check()


def test_a_second_ctrl_c_leaves_with_a_row_and_the_next_run_goes_on(tmp_path: Path) -> None:
    with ScriptedEndpoint(chain(with_parallel_subagents)) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        with watched(place, "make a md -> html script") as run:
            busy(run, place, endpoint, with_parallel_subagents)
            os.write(run.terminal, CTRL_C)
            wait_for(lambda: b"Say what to change" in run.said, 20.0, run.tail)
            os.write(run.terminal, CTRL_C)
            ended(run, 130)
        assert place.rows[-1]["error"] == "interrupted-by-human" and not place.tree()
        session = place.rows[-1]["session_id"]
        with watched(place, WORDS) as run:
            ended(run, 0, 120.0)
        assert [row["session_id"] for row in place.rows if row["step"] == "干活"][-1] == session
        endpoint.check()


def test_ctrl_c_with_a_question_pending(tmp_path: Path) -> None:
    with ScriptedEndpoint(demo_script) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        with watched(place, "make a md -> html script", answering=False) as run:
            wait_for(lambda: run.of("question"), 60.0, run.tail)
            os.write(run.terminal, CTRL_C)
            wait_for(lambda: b"Say what to change" in run.said, 20.0, run.tail)
            os.write(run.terminal, CTRL_C)
            ended(run, 130)
        (row,) = place.rows
        assert row["error"] == "interrupted-by-human" and not place.tree()
        with watched(place, "--clarify-only") as run:
            os.write(run.terminal, b"\n")  # "carry on?" "yes"
            ended(run, 0, 120.0)
        assert place.rows[-1]["session_id"] == row["session_id"] and place.note("需求.md")
        endpoint.check()


def test_ctrl_c_while_the_judge_looks_starts_no_failed_round(tmp_path: Path) -> None:
    judging = []

    def slow_judge(request: Request) -> Reply:
        reply = demo_script(request)
        looks = role_of(request) == "judge" and any("Judge the goal." in text for text in request.user_texts)
        if looks and not judging:
            judging.append(1)
            return Reply("late", delay=60)
        return reply

    with ScriptedEndpoint(slow_judge) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        with watched(place, "make a md -> html script") as run:
            wait_for(lambda: judging, 120.0, run.tail)
            os.write(run.terminal, CTRL_C)
            wait_for(lambda: b"Say what to change" in run.said, 20.0, run.tail)
            os.write(run.terminal, b"\n")
            ended(run, 0, 120.0)
        judged = [row for row in place.rows if "判定" in row["step"]]
        assert [row["ok"] for row in judged] == [True] * len(judged)
        assert not [row for row in place.rows if row["errors"]]
        endpoint.check()


# ---- nobody to ask, and signals


@contextmanager
def hanging(
    base: Path, *, before: list[str] | None = None
) -> Iterator[tuple[Place, subprocess.Popen[bytes]]]:
    """A run without a terminal whose model does not answer."""
    with ScriptedEndpoint(lambda request: Reply("late", delay=60)) as endpoint:
        place = Place.make(base, endpoint.env())
        process = subprocess.Popen(
            [*(before or []), *FLOWER, "once", "-t", "Bash", "go"], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            wait_for(lambda: endpoint.requests, 60.0, "the request")
            yield place, process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


def test_ctrl_c_without_a_terminal_leaves_at_once(tmp_path: Path) -> None:
    with hanging(tmp_path) as (place, process):
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=20)
        assert process.returncode == 130 and b"Traceback" not in err
        assert place.rows[-1]["error"] == "interrupted-by-human" and not place.tree()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_the_row_and_really_ends_the_process(number: signal.Signals, tmp_path: Path) -> None:
    with hanging(tmp_path) as (place, process):
        began = time.monotonic()
        process.send_signal(number)
        process.wait(20)
        assert process.returncode == -number, "the default action: a shell sees 128 + n"
        assert time.monotonic() - began < 10, (
            "a watchdog ends it within two seconds, the machine's load aside"
        )
        assert place.rows[-1]["error"] == "killed-by-signal"
        wait_for(lambda: not place.tree(), 2.0, "the end of the whole tree")
        assert place.integrity() == "ok"


def test_nohup_stays_deaf_to_a_hangup(tmp_path: Path) -> None:
    with hanging(tmp_path, before=["nohup"]) as (place, process):
        process.send_signal(signal.SIGHUP)
        time.sleep(1.0)
        assert process.poll() is None and not place.rows
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM
