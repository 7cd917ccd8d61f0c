"""Signals as a person and an init system send them, to a Python of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flower.supervise import SignalWatch
from tests.unit.supervise_tools import python_environment, until

HEAD = """
import asyncio, ctypes, os, signal, sys, threading, time
from flower.supervise import SignalWatch
def say(word):
    os.write(1, (str(word) + "\\n").encode())
"""


class Program:
    """A Python that says what happens to it."""

    def __init__(self, process: subprocess.Popen[str], output: Path) -> None:
        self.process = process
        self._output = output

    def said(self) -> list[str]:
        return self._output.read_text().split()

    def hears(self, number: signal.Signals, then: str) -> None:
        self.process.send_signal(number)
        until(lambda: then in self.said(), then)

    def ends(self, limit: float = 10.0) -> int:
        return self.process.wait(limit)


Start = Callable[..., Program]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(body: str, prefix: tuple[str, ...] = ()) -> Program:
        output = tmp_path / "said"
        with output.open("w") as file:
            process = subprocess.Popen(
                [*prefix, sys.executable, "-c", HEAD + body],
                env=python_environment(),
                stdout=file,
                stdin=subprocess.DEVNULL,
                text=True,
            )
        started.append(process)
        program = Program(process, output)
        until(lambda: "ready" in program.said(), "ready")
        return program

    yield begin
    for process in started:
        process.kill()
        process.wait()


ORDERLY = """
async def main():
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    def end(number):
        say(f"end-{number}")
        loop.call_soon_threadsafe(stop.set)
    with SignalWatch(on_end=end):
        say("ready")
        await stop.wait()
        say("stopped")
    say("never")
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_orderly_end_still_ends_by_the_signal(start: Start, number: signal.Signals) -> None:
    program = start(ORDERLY)
    program.process.send_signal(number)
    assert program.ends() == -number
    assert program.said() == ["ready", f"end-{int(number)}", "stopped"]


@pytest.mark.parametrize(
    "block",
    [
        "while True: time.sleep(60)",
        "ctypes.CDLL(None).pause(); ctypes.CDLL(None).sleep(600)",
        "ctypes.CDLL(None).sleep(600)\nctypes.CDLL(None).sleep(600)",
        "asyncio.run(asyncio.sleep(600))",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [15]); say('masked')\nwhile True: time.sleep(60)",
    ],
)
def test_a_blocked_main_thread_ends_within_the_grace(start: Start, block: str) -> None:
    program = start(
        "with SignalWatch(on_end=lambda n: (say('saved'), time.sleep(600)), grace=0.3):\n"
        "    say('ready')\n" + "".join(f"    {line}\n" for line in block.splitlines())
    )
    if "masked" in block:
        until(lambda: "masked" in program.said(), "masked")
    program.hears(signal.SIGTERM, "saved")
    assert program.ends() == -signal.SIGTERM


def test_on_end_is_waited_for_when_the_block_is_left_early(start: Start) -> None:
    program = start("""
left = threading.Event()
def end(number):
    left.set(); time.sleep(0.2); say("saved")
with SignalWatch(on_end=end):
    say("ready"); left.wait()
""")
    program.hears(signal.SIGTERM, "saved")
    assert program.ends() == -signal.SIGTERM


def test_on_end_is_called_once_and_its_failure_changes_nothing(start: Start) -> None:
    program = start("""
def end(number):
    say("called"); sys.stderr = open(os.devnull, "w"); raise RuntimeError
with SignalWatch(on_end=end, grace=0.5):
    say("ready")
    while True: time.sleep(60)
""")
    program.hears(signal.SIGTERM, "called")
    program.process.send_signal(signal.SIGTERM)
    program.process.send_signal(signal.SIGHUP)
    assert program.ends() == -signal.SIGTERM
    assert program.said().count("called") == 1


def pause() -> None:
    """Longer than what counts as one press."""
    time.sleep(0.15)


def test_the_first_ctrl_c_interrupts_the_second_quits_the_third_ends(start: Start) -> None:
    program = start("""
with SignalWatch(on_end=say, on_interrupt=lambda: say("interrupt"), on_quit=lambda: say("quit")):
    say("ready")
    while True: time.sleep(60)
""")
    program.process.send_signal(signal.SIGINT)
    program.hears(signal.SIGINT, "interrupt")  # a launcher's copy of the same press
    pause()
    assert program.said() == ["ready", "interrupt"]
    program.hears(signal.SIGINT, "quit")
    pause()
    program.process.send_signal(signal.SIGINT)
    assert program.ends() == 130


def test_after_resume_the_next_ctrl_c_is_a_first_one(start: Start) -> None:
    program = start("""
count = 0
def interrupt():
    global count
    count += 1
    assert watch.interrupted
    watch.resume()
    say(f"interrupt-{count}")
watch = SignalWatch(on_end=say, on_interrupt=interrupt, on_quit=lambda: say("quit"))
with watch:
    say("ready")
    while True: time.sleep(60)
""")
    for n in (1, 2, 3):
        program.hears(signal.SIGINT, f"interrupt-{n}")
        pause()
    assert "quit" not in program.said()


def test_what_was_ignored_at_the_start_stays_ignored(start: Start) -> None:
    program = start(
        "with SignalWatch(on_end=say, on_interrupt=lambda: say('interrupt'), grace=0.3):\n"
        "    say('ready')\n    while True: time.sleep(60)\n",
        prefix=("/bin/sh", "-c", 'trap "" HUP INT; exec "$0" "$@"'),
    )
    program.process.send_signal(signal.SIGHUP)
    program.process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert program.process.poll() is None and program.said() == ["ready"]
    program.hears(signal.SIGTERM, "15")
    assert program.ends() == -signal.SIGTERM


def test_handlers_are_as_before_afterwards() -> None:
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with SignalWatch(on_end=print, on_interrupt=print, on_quit=print) as watch:
        assert signal.getsignal(signal.SIGINT) != before[signal.SIGINT]
    assert {n: signal.getsignal(n) for n in before} == before
    assert signal.set_wakeup_fd(-1) == -1
    assert watch.ended_by == 0 and not watch.interrupted


def test_outside_of_the_main_thread_it_does_nothing() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def enter() -> None:
        with SignalWatch(on_end=print):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]
