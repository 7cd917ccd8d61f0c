"""How the frozen flower ends: by kill -9 at any moment, by Ctrl-C in a terminal, by SIGTERM."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pexpect

from flower.testing import Reply, Request, ScriptedEndpoint
from tests.e2e.harness import Place, wait_for
from tests.e2e.killing import kill_loop, slow_demo

SEED = 31
KILLS = 8


def test_every_next_run_goes_on(command: list[str], tmp_path: Path) -> None:
    with ScriptedEndpoint(slow_demo) as endpoint:
        assert kill_loop(tmp_path, endpoint.env(), SEED, KILLS, command=command) == KILLS
        endpoint.check()


def slow(request: Request) -> Reply:
    """Thinks for a minute when asked first; answers at once when told anything more."""
    return Reply("all right, briefly") if "be brief" in request.all_text else Reply("late", delay=60)


def test_ctrl_c_in_a_terminal_arrives_once(command: list[str], tmp_path: Path) -> None:
    with ScriptedEndpoint(slow) as endpoint:
        place = Place.make(tmp_path, endpoint.env(), TERM="xterm")
        child = pexpect.spawn(
            command[0],
            [*command[1:], "once", "tell me everything"],
            cwd=str(place.dir),
            env=place.env,
            encoding="utf-8",
            timeout=60,
            dimensions=(40, 110),
        )
        wait_for(lambda: endpoint.requests, 60)
        child.sendintr()
        # Arriving twice, it would leave instead of asking.
        child.expect("Say what to change")
        child.sendline("be brief")
        child.expect("all right, briefly")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
    (row,) = place.rows
    assert row["ok"] and not place.tree()


def test_sigterm_leaves_a_row_and_the_right_status(command: list[str], tmp_path: Path) -> None:
    with ScriptedEndpoint(slow) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        words = [*command, "once", "tell me everything"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started = subprocess.Popen(words, cwd=place.dir, env=place.env, **quiet)  # type: ignore[call-overload]
        wait_for(lambda: endpoint.requests, 60)
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == -signal.SIGTERM
        wait_for(lambda: not place.tree(), 2, "the end of the tree")
    (row,) = place.rows
    assert not row["ok"] and row["error"] == "killed-by-signal", json.dumps(row)
