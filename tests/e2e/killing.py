"""Runs the chain with a person at a real terminal, kills it with SIGKILL, and checks what must have survived."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import random
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flower.scripted.demo import QUESTION, demo_script
from flower.testing import Reply, Request, ToolUse
from tests.e2e.harness import FLOWER, Place, wait_for

DETACHED = "(setsid nohup sleep 300 >/dev/null 2>&1 &); sleep 0.3; "
"""Before each of the worker's commands: a process that tries to outlive everybody, and time to be killed in."""


def slow_demo(request: Request) -> Reply:
    """The demo's model with a worker whose commands leave a detached process and take their time."""
    reply = demo_script(request)

    def slower(block: Any) -> Any:
        if isinstance(block, ToolUse) and block.name == "Bash":
            return replace(block, input={**block.input, "command": DETACHED + str(block.input["command"])})
        return block

    return replace(reply, blocks=[slower(block) for block in reply.blocks], delay=0.02)


@dataclass
class Watched:
    """One run of the command with a terminal; its events are read as they come, its questions answered."""

    process: subprocess.Popen[bytes]
    terminal: int
    events: list[dict[str, Any]] = field(default_factory=list)
    answers: int = 0
    answering: bool = True
    said: bytearray = field(default_factory=bytearray)

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):  # the kill may cut the last line
                event = json.loads(line)
                self.events.append(event)
                if event["type"] == "question" and self.answering:
                    self.answers += 1
                    os.write(self.terminal, b"1\n")

    def drain(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self.terminal, 65536):
                self.said += data

    def tail(self) -> str:
        last = self.events[-1:] and self.events[-1]
        return f"event {len(self.events)} {last} of {self.process.args}: {bytes(self.said[-1500:]).decode(errors='replace')}"

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]


def _take_the_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextlib.contextmanager
def watched(
    place: Place,
    *arguments: str,
    command: list[str] | None = None,
    answering: bool = True,
    controlling: bool = False,
) -> Iterator[Watched]:
    """Start ``flower --json …`` with stdin and stderr on a terminal of its own and stdout a pipe.

    ``controlling``: the terminal is that of the process's session, so that a typed Ctrl-C is a signal.
    """
    ours, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    process = subprocess.Popen(
        [*(command or FLOWER), "--json", "go", *arguments],
        cwd=place.dir, env=place.env, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, start_new_session=True,
        preexec_fn=_take_the_terminal if controlling else None,
    )  # fmt: skip
    os.close(theirs)
    run = Watched(process, ours, answering=answering)
    threads = [threading.Thread(target=t, daemon=True) for t in (run.read, run.drain)]
    for thread in threads:
        thread.start()
    if not arguments:
        os.write(ours, b"\n")  # "carry on?" "yes"
    try:
        yield run
        threads[0].join(10)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        threads[0].join(10)
        assert process.stdout is not None
        process.stdout.close()
        os.close(ours)
        threads[1].join(10)


def kill(run: Watched, place: Place) -> None:
    """SIGKILL of the pid the person sees; within 2 s nothing of the tree is left."""
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    wait_for(lambda: not place.tree(), timeout=2.0, what="the end of the whole tree")


def plain(step: str) -> str:
    return step.partition("#")[0].partition("·")[0]


def session_in_flight(run: Watched) -> tuple[str, str]:
    """The step that was running and the session that it was seen to use; empty if none was shown."""
    steps = run.of("step")
    if not steps:
        return "", ""
    name = steps[-1]["step"]
    sessions = [e["session_id"] for e in run.events if e.get("step") == name and e.get("uuid")]
    return name, (sessions[-1] if sessions else "")


def check_books(place: Place, shown: dict[str, str], frozen: dict[str, str]) -> None:
    """What was shown is stored, the books are whole, what was frozen has not changed."""
    if not (place.runs / "sessions.db").exists():
        assert not shown
        return
    assert place.integrity() == "ok"
    stored = {e["uuid"] for sid in set(shown.values()) for e in all_entries(place, sid) if e.get("uuid")}
    assert not set(shown) - stored, "entries that had been shown are not in the books"
    assert isinstance(place.rows, list) and (not place.lineage or "steps" in place.lineage)
    for name, text in frozen.items():
        assert place.note(name).startswith(text), f"{name} had been frozen"


def was_answered(place: Place) -> bool:
    """Whether the log holds the person's answer to the demo's question."""
    log = place.note("问答记录.md")
    return QUESTION in log and "\nA: " in log


def all_entries(place: Place, session_id: str) -> list[dict[str, Any]]:
    return [*place.entries(session_id), *place.entries(session_id, "%")]


def kill_loop(
    base: Path, endpoint_env: dict[str, str], seed: int, kills: int, command: list[str] | None = None
) -> int:
    """Kill runs until ``kills`` have happened, each at another moment; every next run must go on. Returns kills."""
    dice = random.Random(seed)
    done, number = 0, 0
    while done < kills:
        number += 1
        done += _one_project(Place.make(base / f"p{number}", endpoint_env), dice, kills - done, command)
    return done


def _one_project(place: Place, dice: random.Random, wanted: int, command: list[str] | None) -> int:
    done, shown, frozen, answered = 0, {}, {}, False
    before: tuple[str, str] = ("", "")
    while True:
        # Typed once: from the moment it is on disk no kill may lose it.
        words = [] if place.note("请求.md") else ["make a md -> html script"]
        with watched(place, *words, command=command) as run:
            # Moments spread over the whole chain: after some events, and a little later.
            target, pause = dice.randint(0, 14), dice.random() * dice.choice((0.05, 0.3, 0.8))
            wait_for(lambda n=target: len(run.events) > n or run.process.poll() is not None, 120.0, run.tail)
            time.sleep(pause)
            killed = done < wanted and run.process.poll() is None
            if killed:
                kill(run, place)
            else:
                wait_for(lambda: run.process.poll() is not None, 180.0, run.tail)
                assert run.process.poll() == 0, run.tail()
        shown |= {e["uuid"]: e["session_id"] for e in run.events if e.get("uuid") and e.get("session_id")}
        check_books(place, shown, frozen)
        _check_continuation(place, run, before, frozen)
        assert not (answered and run.of("question")), "an answered question was asked again"
        answered = was_answered(place)
        for name in ("需求.md", "目标.md"):
            if place.note(name):
                frozen.setdefault(name, place.note(name))
        before = session_in_flight(run)
        if not killed:
            return done
        done += 1


def _check_continuation(place: Place, run: Watched, before: tuple[str, str], frozen: dict[str, str]) -> None:
    steps = [plain(e["step"]) for e in run.of("step")]
    if "需求.md" in frozen:
        assert "确认需求" not in steps, "a frozen brief is not clarified again"
    if "目标.md" in frozen:
        assert "设定目标" not in steps, "a frozen goal is not set again"
    name, session = before
    if session and "判定" not in name and plain(name) in steps:
        first = next(
            i for i, e in enumerate(run.events) if e["type"] == "step" and plain(e["step"]) == plain(name)
        )
        seen = [
            e["session_id"]
            for e in run.events[first:]
            if e.get("session_id") and plain(e.get("step", "")) == plain(name)
        ]
        assert not seen or seen[0] == session, f"{name} went on in another session"
