"""kill -9 at any moment of the chain: nothing lives on, nothing shown is lost, the next run goes on."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from flower.testing import ScriptedEndpoint
from tests.e2e.harness import Place, wait_for
from tests.e2e.killing import check_books, kill_loop, slow_demo, watched

PER_SEED = 7
SEEDS = 6  # 42 kills in a plain run


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_next_run_goes_on(seed: int, tmp_path: Path) -> None:
    with ScriptedEndpoint(slow_demo) as endpoint:
        assert kill_loop(tmp_path, endpoint.env(), seed, PER_SEED) == PER_SEED
        endpoint.check()


def test_killed_between_any_two_writes_of_the_books(tmp_path: Path) -> None:
    """At sampled operations on files and database, from the first to the last of a run."""
    with ScriptedEndpoint(slow_demo) as endpoint:
        place = Place.make(tmp_path, endpoint.env(), PYTHONPATH=str(Path(__file__).parents[2]))
        shown: dict[str, str] = {}
        kills = 0
        for n in (1, 4, 9, 16, 25, 40, 60, 85, 120, 170, 240, 330, 10_000):
            report = tmp_path / "report"
            command = [sys.executable, "-m", "tests.faulty_flower", str(n), "KILL", "once", str(report)]
            words = [] if place.note("请求.md") else ["make a md -> html script"]
            with watched(place, *words, command=command) as run:
                wait_for(lambda p=run.process: p.poll() is not None, 180.0, run.tail)
            assert run.process.returncode in (0, -signal.SIGKILL), run.tail()
            kills += run.process.returncode != 0
            wait_for(lambda: not place.tree(), timeout=2.0, what="the end of the whole tree")
            shown |= {e["uuid"]: e["session_id"] for e in run.events if e.get("uuid") and e.get("session_id")}
            if place.lineage:
                check_books(place, shown, {})
        assert run.process.returncode == 0 and kills >= 9
        assert [row["step"] for row in place.rows][-1].startswith("干活·判定")
        endpoint.check()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_two_hundred_kills(seed: int, tmp_path: Path) -> None:
    with ScriptedEndpoint(slow_demo) as endpoint:
        assert kill_loop(tmp_path, endpoint.env(), seed, 10) == 10
        endpoint.check()
