"""What a durable entry costs: flower's store beside openai-agents' SQLiteSession and the SDK's InMemorySessionStore.

All with the settings they have when nothing is said, but for SQLiteSession: its synchronous mode is what SQLite's build
says, and it is asked for the same durability as flower's (FULL).
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.table import Row, beside, percentile
from flower.books.sqlite import SqliteSessionStore

BATCHES, BATCH = 300, 8
LOADS = 15
SESSION = "0" * 8 + "-0000-4000-8000-" + "0" * 12
KEY = {"project_key": "bench", "session_id": SESSION}
Append = Callable[[list[dict[str, Any]]], Awaitable[Any]]
Load = Callable[[], Awaitable[Any]]


def entries() -> list[dict[str, Any]]:
    """A batch as a turn with a tool call leaves it: about 1 KB an entry."""
    text = "The quick brown fox jumps over the lazy dog. " * 16
    return [
        {
            "type": ("user", "assistant")[n % 2],
            "uuid": str(uuid.uuid4()),
            "sessionId": SESSION,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": ("user", "assistant")[n % 2], "content": [{"type": "text", "text": text}]},
        }
        for n in range(BATCH)
    ]


def items() -> list[dict[str, Any]]:
    """The same amount in the shape that SQLiteSession takes."""
    return [
        {"role": e["message"]["role"], "content": e["message"]["content"][0]["text"], **e} for e in entries()
    ]


async def timed(call: Callable[[], Awaitable[Any]]) -> float:
    begun = time.perf_counter()
    await call()
    return (time.perf_counter() - begun) * 1000


class Fsync:
    """What the disk itself takes for as many bytes, in a file beside the databases."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT)
        self._block = os.urandom(BATCH * 1024)

    async def append(self, _batch: object) -> None:
        os.write(self._file, self._block)
        os.fdatasync(self._file)


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(
        prefix="flower-bench-", dir=os.environ.get("FLOWER_BENCH_DIR")
    ) as scratch:
        return asyncio.run(_rows(Path(scratch)))


async def _rows(place: Path) -> list[Row]:
    from claude_agent_sdk import InMemorySessionStore

    store = SqliteSessionStore(place / "sessions.db")
    memory = InMemorySessionStore()
    openai = openai_session(place / "openai.db")
    disk = Fsync(place / "raw")
    sides: dict[str, tuple[Append, Callable[[], Any]]] = {
        "flower": (lambda batch: store.append(KEY, batch), entries),
        "memory": (lambda batch: memory.append(KEY, batch), entries),
        "disk": (disk.append, list),
    }
    loads: dict[str, Load] = {"flower": lambda: store.load(KEY), "memory": lambda: memory.load(KEY)}
    if openai is not None:
        sides["openai"] = (openai.add_items, items)
        loads["openai"] = openai.get_items
    appended = await _appends(sides)
    loaded: dict[str, list[float]] = {name: [] for name in loads}
    for _ in range(LOADS):
        for name, load in loads.items():
            loaded[name].append(await timed(load))
    await asyncio.to_thread(store.close)
    if openai is not None:
        openai.close()
    return _table(appended, loaded)


async def _appends(sides: dict[str, tuple[Append, Callable[[], Any]]]) -> dict[str, list[float]]:
    out: dict[str, list[float]] = {name: [] for name in sides}
    order, chance = list(sides.items()), random.Random(1)
    for number in range(BATCHES + 5):
        # Not in turns: a rotation keeps who comes after whom, and each leaves the disk and the caches differently.
        chance.shuffle(order)
        for name, (append, make) in order:
            batch = make()
            took = await timed(lambda append=append, batch=batch: append(batch))  # type: ignore[misc]
            if number >= 5:
                out[name].append(took)
    return out


def _table(appended: dict[str, list[float]], loaded: dict[str, list[float]]) -> list[Row]:
    many = f"{BATCH} entries"
    out = []
    for other, name, bound in (("openai", "SQLiteSession", 1.0), ("memory", "InMemorySessionStore", None)):
        if other in appended:
            out.append(beside(f"append {many}", appended["flower"], name, appended[other], "ms", bound))
            total = f"load {BATCHES * BATCH} entries"
            out.append(beside(total, loaded["flower"], name, loaded[other], "ms", bound))
    ours, raw = percentile(appended["flower"], 0.99), percentile(appended["disk"], 0.99)
    out.append(Row(f"append {many}, p99", ours, "ms", f"fdatasync p99: {raw:.3g}", ours / raw, 4.0))
    middle = statistics.median(appended["disk"])
    out.append(beside(f"append {many}", appended["flower"], "fdatasync", [middle], "ms"))
    return out


def openai_session(path: Path) -> Any:
    """openai-agents' SQLiteSession at full durability; None where it is not installed."""
    try:
        from agents.memory import SQLiteSession
    except ImportError:
        return None

    class Durable(SQLiteSession):
        """Says what it would say at most: every connection syncs at each commit."""

        def _get_connection(self) -> Any:
            connection = super()._get_connection()
            connection.execute("PRAGMA synchronous=FULL")
            return connection

    return Durable(SESSION, path)


if __name__ == "__main__":
    for row in rows():
        print(row)
