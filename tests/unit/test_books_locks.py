"""Leases end with their process, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from flower.books.locks import (
    Holder,
    RunLease,
    SessionLease,
    holder_of,
    is_held,
    is_held_elsewhere,
    live_runs,
)
from flower.model import BooksError

HOLD = """
import sys
from flower.books.locks import RunLease, SessionLease
run = RunLease.acquire(sys.argv[1], "theirs")
lease = SessionLease.acquire(sys.argv[1], "sid", run="theirs")
print(type(lease).__name__, flush=True)
sys.stdin.read()
"""


def other_process(books: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(books)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline() == "SessionLease\n"
    return process


def test_a_session_is_driven_by_one_process_and_a_kill_frees_it(tmp_path: Path) -> None:
    process = other_process(tmp_path)
    held = SessionLease.acquire(tmp_path, "sid", run="mine")
    assert isinstance(held, Holder) and (held.pid, held.run) == (process.pid, "theirs")
    assert str(process.pid) in str(held) and held.since >= held.started > 0
    assert is_held_elsewhere(tmp_path, "sid") and holder_of(tmp_path, "sid") == held
    assert [h.run for h in live_runs(tmp_path)] == ["theirs"]
    assert isinstance(RunLease.acquire(tmp_path, "mine", alone=True), Holder)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not is_held(tmp_path, "sid") and live_runs(tmp_path) == []
    with SessionLease.acquire(tmp_path, "sid") as lease:
        assert isinstance(lease, SessionLease)
        assert is_held(tmp_path, "sid") and not is_held_elsewhere(tmp_path, "sid")
        assert isinstance(SessionLease.acquire(tmp_path, "sid"), Holder)


def test_what_a_dead_holder_wrote_never_blocks(tmp_path: Path) -> None:
    lock = tmp_path / "live" / "sid" / "lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(f'{{"host": "elsewhere", "pid": {os.getpid()}, "started": 1, "run": "r", "since": 1}}')
    assert not is_held(tmp_path, "sid")
    lease = SessionLease.acquire(tmp_path, "sid")
    assert isinstance(lease, SessionLease) and lease.directory == lock.parent
    lock.write_bytes(b"\xff nonsense")
    assert SessionLease.acquire(tmp_path, "sid") == Holder()
    lease.release()


def test_alone_means_alone_until_shared(tmp_path: Path) -> None:
    alone = RunLease.acquire(tmp_path, "one", alone=True)
    assert isinstance(alone, RunLease)
    late = RunLease.acquire(tmp_path, "two", timeout=0.1)
    assert isinstance(late, Holder) and late.run == "one"
    alone.share()
    two = RunLease.acquire(tmp_path, "two", timeout=0.1)
    assert isinstance(two, RunLease) and {h.run for h in live_runs(tmp_path)} == {"one", "two"}
    for lease in (alone, two, two):
        lease.release()
    assert os.listdir(tmp_path / "live") == ["runs.gate"]


def test_a_directory_removed_by_one_holder_is_never_shared_by_two(tmp_path: Path) -> None:
    inside, clashes = threading.Semaphore(1), []

    def drive() -> None:
        for _ in range(60):
            lease = SessionLease.acquire(tmp_path, "sid")
            if isinstance(lease, Holder):
                continue
            if not inside.acquire(blocking=False):
                clashes.append("two at once")
                continue
            mark = lease.directory / "config"
            mark.mkdir()
            (mark / "file").touch()
            if not (mark / "file").exists():
                clashes.append("removed by another")
            inside.release()
            lease.release(remove=True)

    threads = [threading.Thread(target=drive) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clashes == []


def test_impossible_places_and_ids_are_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for take in (SessionLease.acquire, RunLease.acquire):
        with pytest.raises(BooksError, match="cannot be used as a run directory"):
            take(tmp_path / "file", "x")
    for bad in ("", "..", "a/b"):
        with pytest.raises(ValueError):
            SessionLease.acquire(tmp_path, bad)
