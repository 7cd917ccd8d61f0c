"""One session of 10,000 turns: what flower's own process needs at its end beside what it needed at its beginning.

The CLI is a stand-in that does not wait for a model, so that hours of work are over in seconds; everything else is
real. `python -m benchmarks.endurance [TURNS]` prints the samples.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.table import Row

TURNS = 10_000
STAND_IN = Path(__file__).with_name("long_session.py")
EVENTS_PER_TURN = 3
"""A text, a tool call and its result."""


def measure(turns: int, place: Path) -> list[dict[str, float]]:
    """Run one session in a process of its own; its samples, one after each tenth of the turns."""
    cli = place / "claude"
    cli.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    cli.chmod(0o755)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": "sk-nobody-asks",
        "FLOWER_CLAUDE": str(cli),
        "FLOWER_BENCH_TURNS": str(turns),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    command = [sys.executable, "-m", "benchmarks.endurance", "--child", str(turns)]
    done = subprocess.run(command, cwd=place, env=env, check=True, stdout=subprocess.PIPE, timeout=1800)
    samples: list[dict[str, float]] = json.loads(done.stdout)
    return samples


def _child(turns: int) -> list[dict[str, float]]:
    import asyncio

    from flower import AgentSpec, Event, Runtime

    samples: list[dict[str, float]] = []
    calls = 0

    def on_event(event: Event) -> None:
        nonlocal calls
        if event.kind == "tool_result":
            calls += 1
            if calls % max(1, turns // 10) == 0:
                samples.append(_sample(calls))

    with Runtime(workspace="ws", run_dir="runs", handoff=False, resilience=False, budget_usd=1e9) as rt:
        spec = AgentSpec("x", allowed_tools=["Bash"])
        row = asyncio.run(rt.run(spec, "go", step_name="long", on_event=on_event))
        assert row.ok and calls == turns, (row, calls)
        stored = rt.store.backend.known_uuids({"project_key": rt.project_key, "session_id": row.session_id})
        assert len(stored) == 2 * turns + 2, len(stored)
    return samples


def _sample(turn: int) -> dict[str, float]:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    books = sum(p.stat().st_size for p in Path("runs").glob("*.json"))
    return {
        "turn": turn,
        "rss_mb": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        "fds": len(os.listdir("/proc/self/fd")),
        "cpu_s": time.process_time(),
        "json_kb": books / 1e3,
    }


def rows(turns: int = TURNS) -> list[Row]:
    """The table's rows; empty where there is no /proc to read memory from."""
    if not Path("/proc/self/statm").exists():
        return []
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as scratch:
        samples = measure(turns, Path(scratch))
    first, last = samples[2], samples[-1]  # until then SQLite's page cache fills
    events = (last["turn"] - first["turn"]) * EVENTS_PER_TURN
    at = f"at turn {first['turn']:,.0f}"
    return [
        _pair(f"RSS at turn {turns:,}", first, last, "rss_mb", "MB", at, 1.25),
        _pair(f"open files at turn {turns:,}", first, last, "fds", "", at, 1.1),
        _pair(f"books beside the database at turn {turns:,}", first, last, "json_kb", "kB", at, 1.5),
        Row("CPU per 1,000 events", (last["cpu_s"] - first["cpu_s"]) / events * 1000, "s", "", 0.0, None),
    ]


def _pair(
    name: str, first: dict[str, float], last: dict[str, float], what: str, unit: str, at: str, bound: float
) -> Row:
    return Row(name, last[what], unit, f"{at}: {first[what]:.3g}", last[what] / first[what], bound)


def main(arguments: list[str]) -> Any:
    if arguments[:1] == ["--child"]:
        print(json.dumps(_child(int(arguments[1]))))
    else:
        for row in rows(int(arguments[0]) if arguments else TURNS):
            print(row)


if __name__ == "__main__":
    main(sys.argv[1:])
