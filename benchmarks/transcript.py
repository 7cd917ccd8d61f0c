"""How fast, how lean and how small: what a resumed session is fed, beside the plain way. `python -m
benchmarks.transcript`

Three tables from one run:
- load, rewrite and write the resume file, beside selecting and parsing the same rows (85 MB, three shapes);
- the same for growing sizes: time per MB and peak memory, which must stay level;
- characters of the first request after a resume, with and without the rewriting.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.table import Row, beside, in_turns
from flower.books.rewriting import PruningSessionStore
from flower.transcript.messages import wire_messages
from tests.data.build import SESSION, Transcript

KEY = {"project_key": "bench", "session_id": SESSION}
SHAPES = {"small": (300, 300), "mixed": (200, 12_000), "huge": (60_000, 200_000)}
META = {
    "promptId": "54c4b929-780f-4c43-83ad-38d1b5d97b7f",
    "userType": "external",
    "entrypoint": "sdk-py",
    "cwd": "/home/somebody/work/project",
    "version": "2.1.332",
    "gitBranch": "main",
    "permissionDecision": {"decision": "accept", "source": "hook", "reasonType": "hook"},
}


def fill(path: Path, shape: str, megabytes: float) -> int:
    """A database with one session of about so many MB; the exact number of bytes."""
    low, high = SHAPES[shape]
    chance = random.Random(1)
    words = " ".join(f"{chance.getrandbits(32):08x}/line\n{n}\t" for n in range(40_000))
    t, size = Transcript(shape), 0
    t.user("begin")
    asyncio.run(_append(path, t.entries))
    rows: list[str] = []
    while size < megabytes * 1e6:
        t.entries.clear()
        command = chance.choice(["git status", "ls -la src", "make test", "python build.py --all"])
        ident = t.call(command)[0]
        start = chance.randrange(len(words) // 2)
        length = chance.randint(low, high) if chance.random() < 0.5 or shape != "mixed" else 300
        t.result(ident, words[start : start + length])
        if chance.random() < 0.02:
            t.api_error()
        if chance.random() < 0.05:
            t.deny("rm -rf build")
        t.say("Then I go on with the next part.")
        for entry in t.entries:
            rows.append(json.dumps(entry | META | {"uuid": entry["uuid"]}, separators=(",", ":")))
            size += len(rows[-1])
    _insert(path, rows)
    return size


async def _append(path: Path, entries: list[dict[str, Any]]) -> None:
    store = PruningSessionStore(path, path.parent)
    await store.append(KEY, entries)
    store.close()


def _insert(path: Path, rows: list[str]) -> None:
    with sqlite3.connect(path) as database:
        name = f"{KEY['project_key']}/{SESSION}"
        uids = (json.loads(row)["uuid"] for row in rows)
        values = [(name, n, uid, row) for n, (uid, row) in enumerate(zip(uids, rows, strict=True), 1)]
        database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", values)
    database.close()


def plain(path: Path) -> float:
    """Seconds to select and parse the rows."""
    database = sqlite3.connect(path)
    start = time.perf_counter()
    rows = [json.loads(text) for (text,) in database.execute("SELECT payload FROM entries ORDER BY seq")]
    took = time.perf_counter() - start
    assert rows
    return took


async def ours(path: Path) -> float:
    """Seconds to load, rewrite and write the file that the CLI resumes from."""
    store = PruningSessionStore(path, path.parent)
    start = time.perf_counter()
    await store.materialise(KEY, path.parent / "resume.jsonl")
    took = time.perf_counter() - start
    store.close()
    return took


def _in_process(kind: str, path: Path) -> tuple[float, float]:
    """Best of three, and the peak of memory in MB above an idle start, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.transcript", "--measure", kind, str(path)]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer["s"], answer["mb"]


def _high_water(*, reset: bool = False) -> float:
    """The most memory this process has held, in MB; `reset` starts over (a child inherits its parent's
    mark).
    """
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024  # type: ignore[union-attr]


def measure(kind: str, path: Path) -> None:
    before = _high_water(reset=True)
    first = asyncio.run(ours(path)) if kind == "ours" else plain(path)
    peak = _high_water() - before
    more = [asyncio.run(ours(path)) if kind == "ours" else plain(path) for _ in range(2)]
    print(json.dumps({"s": min(first, *more), "mb": peak}))


def first_request(path: Path) -> tuple[int, int]:
    """Characters of the messages sent first after a resume: plain, and rewritten."""

    async def both() -> tuple[int, int]:
        store = PruningSessionStore(path, path.parent)
        raw, fed = await store.load_raw(KEY), await store.load(KEY)
        store.close()
        sizes = [sum(len(json.dumps(m)) for m in wire_messages(entries or [])) for entries in (raw, fed)]
        return sizes[0], sizes[1]

    return asyncio.run(both())


SIZES = (1.0, 10.0, 85.0, 200.0)
TURNS = 5
"""Processes of each side at 85 MB: from one to the next the same code takes half as long again."""


def rows() -> list[Row]:
    """Time and memory beside the plain way at 85 MB, and the time per MB from 1 to 200 MB."""
    out: list[Row] = []
    pace: dict[float, float] = {}
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as place:
        for megabytes in SIZES:
            path = Path(place, f"{megabytes:g}", "sessions.db")
            path.parent.mkdir()
            text = fill(path, "mixed", megabytes) / 1e6
            if megabytes == 85:
                theirs, ours = in_turns(
                    TURNS, lambda p=path: _in_process("plain", p)[0], lambda p=path: _in_process("ours", p)[0]
                )
                name = f"load, rewrite, write {megabytes:g} MB"
                out.append(beside(name, ours, "select, json.loads", theirs, "s", 1.0))
            mine, peak = _in_process("ours", path)
            pace[megabytes] = mine / text * 1000
            path.unlink()
            if megabytes == 85:
                out.append(Row(f"{name}: peak", peak, "MB", f"text: {text:.0f}", peak / text, 3.0))
    slow, fast = pace[SIZES[-1]], pace[SIZES[1]]
    name = f"a MB of {SIZES[-1]:g} MB"
    return [*out, beside(name, [slow], f"a MB of {SIZES[1]:g} MB", [fast], "ms", 1.5)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument(
        "--sizes", type=float, nargs="*", default=[1, 10, 85, 200], help="MB for the second table"
    )
    parser.add_argument("--megabytes", type=float, default=85)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure[0], Path(arguments.measure[1]))
        return
    with tempfile.TemporaryDirectory() as place:
        print(
            f"{'shape':8}{'MB':>8}{'plain s':>10}{'ours s':>10}{'ratio':>8}{'peak/text':>11}{'request':>10}"
        )
        runs = [(shape, arguments.megabytes) for shape in SHAPES] + [
            ("mixed", size) for size in arguments.sizes
        ]
        for n, (shape, size) in enumerate(runs):
            path = Path(place, str(n), "sessions.db")
            path.parent.mkdir()
            bytes_ = fill(path, shape, size)
            theirs, _ = _in_process("plain", path)
            mine, peak = _in_process("ours", path)
            raw, fed = first_request(path) if n < len(SHAPES) else (1, 0)
            share = f"{fed / raw:10.3f}" if fed else " " * 10
            ratio, memory = mine / theirs, peak / (bytes_ / 2**20)
            print(f"{shape:8}{bytes_ / 1e6:8.1f}{theirs:10.3f}{mine:10.3f}{ratio:8.2f}{memory:11.2f}{share}")


if __name__ == "__main__":
    main()
