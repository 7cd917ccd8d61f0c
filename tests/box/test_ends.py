"""How a box ends: whatever ends it, the row is written, the status passes, and nothing works on unseen."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pexpect
import pytest

from flower.scripted.demo import demo_script
from flower.testing import Reply, Request, ScriptedEndpoint
from tests.box.box import SHELL, TOKEN, Box
from tests.box.conftest import Person
from tests.e2e.harness import wait_for

FOREVER = "sh: touch working; while :; do date +%s%N >beat; sleep .1; done"


def thinks(request: Request) -> Reply:
    """For a minute when asked first; not at all when told anything more."""
    return Reply("all right, briefly") if "be brief" in request.all_text else Reply("late", delay=60)


@pytest.fixture
def slow() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(thinks) as endpoint:
        yield endpoint


def at_work(box: Box, **more: object) -> subprocess.Popen[str]:
    started = box.start(box.dir, *SHELL, FOREVER, **more)
    wait_for(lambda: (box.dir / "beat").exists(), 90, lambda: f"the worker works: {started.poll()}")
    return started


def is_still(box: Box) -> None:
    before = (box.dir / "beat").read_text()
    time.sleep(0.5)
    assert (box.dir / "beat").read_text() == before, "something works on"


def test_stopping_the_container(person: Person) -> None:
    box = person()
    started = at_work(box)
    begun = time.monotonic()
    box.docker("stop", *box.boxes())
    assert time.monotonic() - begun < 8, "the grace of ten seconds was used up"
    started.communicate(timeout=30)
    assert started.returncode == 143
    assert [row["error"] for row in box.rows] == ["killed-by-signal"]
    is_still(box)
    box.leaves_nothing()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_to_flowerbox_passes(person: Person, number: int, status: int) -> None:
    box = person()
    started = at_work(box)
    started.send_signal(number)
    started.communicate(timeout=60)
    assert started.returncode == status
    wanted = "interrupted-by-human" if number == signal.SIGINT else "killed-by-signal"
    assert [row["error"] for row in box.rows] == [wanted]
    box.leaves_nothing()


def test_kill_9_of_flowerbox(person: Person) -> None:
    box = person()
    started = at_work(box)
    started.kill()
    started.communicate(timeout=30)
    box.leaves_nothing()
    is_still(box)
    assert [row["error"] for row in box.rows] == ["killed-by-signal"]


def test_kill_9_of_flowerbox_and_its_watch(person: Person) -> None:
    """Nobody is left who could end the box: the next start does, and says so."""
    box = person()
    started = at_work(box, start_new_session=True)
    watch = [
        int(pid)
        for pid in os.listdir("/proc")
        if pid.isdigit() and box.env["TMPDIR"] in _words(pid) and int(pid) != started.pid
    ]
    assert watch
    for pid in watch:
        os.kill(pid, signal.SIGKILL)
    started.kill()
    started.communicate(timeout=30)
    (name,) = box.boxes()
    other = person(FLOWER_RUNS=str(box.base / "other books"))
    assert "unwatched" not in other.run(other.dir, "cache").stderr
    found = box.run(box.dir, "cache")
    assert found.returncode == 0 and f"the box {name} was still working here unwatched" in found.stderr
    assert not box.boxes()
    is_still(box)


def _words(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""  # it has ended meanwhile


def test_a_second_box_beside_a_living_one(person: Person) -> None:
    box = person()
    started = at_work(box)
    beside = box.run(box.dir, "cache")
    assert beside.returncode == 0 and "unwatched" not in beside.stderr and len(box.boxes()) == 1
    started.terminate()
    started.communicate(timeout=60)
    assert started.returncode == 143


def test_no_terminal(person: Person) -> None:
    """As in `flowerbox DIR … </dev/null | cat`: no prompt, no carriage return, only the result on stdout."""
    with ScriptedEndpoint(demo_script) as endpoint:
        box = person(endpoint=endpoint)
        done = box.run(box.dir, "--clarify-only", "make a md -> html script", text=False)
    assert done.returncode == 0 and b"## Goal" in done.stdout
    assert b"\r" not in done.stdout + done.stderr and b"\x1b" not in done.stdout + done.stderr  # type: ignore[operator]


def terminal(box: Box, *words: str) -> pexpect.spawn:
    child = pexpect.spawn(
        box.command[0], [str(box.dir), *words], cwd=str(box.base), env=box.env, encoding="utf-8", timeout=90,
        dimensions=(40, 110),
    )  # fmt: skip
    child.delaybeforesend = None
    return child


def test_a_question_is_answered_at_a_terminal(person: Person) -> None:
    with ScriptedEndpoint(demo_script) as endpoint:
        box = person(endpoint=endpoint)
        child = terminal(box, "--clarify-only", "make a md -> html script")
        child.expect("2\\) A fragment")
        child.expect("> ")
        child.sendline("2")
        child.expect("answered: A fragment")
        child.expect(pexpect.EOF)
        child.close()
    assert child.exitstatus == 0
    assert "fragment" in (box.dir / ".flower/notes/需求.md").read_text("utf-8")


def test_ctrl_c_once_goes_on_and_twice_leaves(person: Person, slow: ScriptedEndpoint) -> None:
    box = person(endpoint=slow)
    child = terminal(box, "once", "tell me everything")
    wait_for(lambda: slow.requests, 90, "the model is asked")
    child.sendintr()
    child.expect("Say what to change")
    child.sendline("be brief")
    child.expect("all right, briefly")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0 and [row["ok"] for row in box.rows] == [True]
    assert {r.request.session_id for r in slow.requests} == {box.rows[0]["session_id"]}

    asked = len(slow.requests)
    child = terminal(box, "once", "tell me everything")
    wait_for(lambda: len(slow.requests) > asked, 90, "the model is asked")
    child.sendintr()
    child.expect("Say what to change")
    child.sendintr()
    child.expect(pexpect.EOF)
    assert "Traceback" not in child.before
    child.close()
    assert child.exitstatus == 130
    assert [row["error"] for row in box.rows][1:] == ["interrupted-by-human"]
    box.leaves_nothing()


def test_setup_writes_the_callers_own_file(person: Person) -> None:
    box = person(uid=0, FLOWER_NO_PROBE="1")
    child = terminal(box, "setup")
    for answer in (TOKEN, box.env["ANTHROPIC_BASE_URL"], ""):
        child.expect(": ")
        child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.before
    written = box.home / ".config/flower/.env"
    assert TOKEN in written.read_text() and written.stat().st_mode & 0o777 == 0o600
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        del box.env[name]
    assert box.sh("echo heard") == "heard\n"
