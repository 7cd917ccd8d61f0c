"""Finding and ending what a session left, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.supervise import MARKER, end_strays, guard, strays
from tests.unit.supervise_tools import alive, carriers, python_environment, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def marker() -> Iterator[str]:
    made = f"test-{uuid.uuid4()}"
    yield made
    for pid in carriers(made):
        guard.kill(pid)


def start(marker: str, script: str, directory: Path) -> list[int]:
    """Run the script, which writes the pids of what it leaves running; none of them is our child."""
    env = {**os.environ, MARKER: marker, "PIDS": str(directory / "pids")}
    subprocess.run(["/bin/sh", "-c", script], env=env, check=True)
    until(lambda: (directory / "pids").exists(), "the pids")
    return [int(line) for line in (directory / "pids").read_text().split()]


def test_every_carrier_of_the_marker_is_ended_and_no_other(marker: str, tmp_path: Path) -> None:
    pids = start(marker, 'for n in 1 2 3; do setsid sleep 600 & echo $! >> "$PIDS"; done', tmp_path)
    waiting = [sys.executable, "-IS", "-c", "import time; time.sleep(600)", f"{MARKER}={marker}"]
    others = [
        subprocess.Popen(waiting),  # names the marker, but in its arguments
        subprocess.Popen(waiting, env={**os.environ, MARKER: marker + "x"}),
    ]
    try:
        assert sorted(strays(marker)) == sorted(pids)
        assert end_strays(marker) == 3
        assert not any(map(alive, pids))
        assert strays(marker) == [] and end_strays(marker) == 0
        assert [other.poll() for other in others] == [None, None]
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_a_descendant_that_cleaned_its_environment_goes_with_its_parent(marker: str, tmp_path: Path) -> None:
    script = (
        'setsid sh -c \'env -i /bin/sleep 600 & echo $$ $! > "$PIDS.new"; mv "$PIDS.new" "$PIDS"; wait\' &'
    )
    pids = start(marker, script, tmp_path)
    until(lambda: Path("/proc", str(pids[1]), "environ").read_bytes() == b"", "the clean environment")
    assert strays(marker) == [pids[0]]
    assert end_strays(marker) == 2
    assert not any(map(alive, pids))


def test_a_flower_started_by_an_agent_does_not_end_itself(marker: str, tmp_path: Path) -> None:
    program = f"""
import subprocess, sys
from flower.supervise import end_strays
child = subprocess.Popen(["sleep", "600"])
print(end_strays({marker!r}), child.wait())
"""
    env = python_environment(**{MARKER: marker})
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" -c "$1"; echo the shell lives', sys.executable, program],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["1 -9", "the shell lives"], done.stderr


def test_an_empty_marker_would_mean_everything_and_is_refused() -> None:
    for call in (strays, end_strays):
        with pytest.raises(ValueError, match="marker"):
            call("")


ORPHANS = """
import os, subprocess, sys, time
from flower.supervise import become_subreaper, end_orphans
quick = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
def orphan(command):
    subprocess.run(["/bin/sh", "-c", f"({command}) & echo"], check=True, **quick)
before = subprocess.Popen(["sleep", "600"], start_new_session=True, **quick)
become_subreaper()
own = subprocess.Popen(["sleep", "600"], **quick)
guard_like = subprocess.Popen(["sleep", "600"], start_new_session=True,
    env={**os.environ, "FLOWER_GUARD_PARENT": f"{os.getpid()}:1"}, **quick)
known = subprocess.Popen(["sleep", "600"], start_new_session=True, **quick)
dead_guard = subprocess.Popen(["true"], start_new_session=True, **quick)
orphan("setsid env -i /bin/sleep 600")
orphan("setsid sh -c 'sleep 600 & sleep 600'")
time.sleep(0.3)
count = end_orphans(known=[known.pid])
spared = [p.poll() is None for p in (before, own, guard_like, known)]
print(count, spared, dead_guard.wait())
for p in (before, own, guard_like, known): p.kill(); p.wait()
try:
    os.waitpid(-1, os.WNOHANG); print("something is left")
except ChildProcessError:
    print("nothing is left")
"""


def test_orphans_of_a_killed_guard_are_ended_and_reaped_and_other_children_spared() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ORPHANS], env=python_environment(), capture_output=True, text=True, timeout=20
    )
    first, second = done.stdout.splitlines() or ["", done.stderr]
    assert first == "4 [True, True, True, True] 0", done.stdout
    assert second == "nothing is left"
