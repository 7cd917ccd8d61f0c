"""What the hooks add to each tool call, in this process: the CLI's own way there and back is not in it."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.table import Row, percentile
from flower.agents.access import Access
from flower.agents.hooks.post_tool import post_tool_hook
from flower.agents.hooks.pre_tool import pre_tool_hook
from flower.agents.roles import coordinator, worker
from flower.agents.workbench import Workbench

CALLS = 400
BIG = "0123456789abcdef " * 2000
"""34,000 characters: written to a file, and a pointer stays."""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as scratch:
        return asyncio.run(_rows(Path(scratch)))


async def _rows(place: Path) -> list[Row]:
    bench = Workbench(place / ".flower", workspace=place)
    bench.create()
    access = Access(place, place / "runs", workbench=bench)
    spec = coordinator({"worker": worker()})
    before, after = pre_tool_hook(spec, access), post_tool_hook(spec, access)
    look = {"tool_name": "Bash", "tool_input": {"command": "git status --short && ls -la src | head -20"}}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(place / "a.py")}, "agent_id": "a1"}
    small = {**edit, "tool_response": {"filePath": str(place / "a.py")}}
    out = [
        *await _measure("PreToolUse, a look in the shell", before, lambda n: look),
        *await _measure("PreToolUse, an edit by a worker", before, lambda n: edit),
        *await _measure("PostToolUse, a small result", after, lambda n: small),
    ]

    def big(n: int) -> dict[str, Any]:
        text = f"{n} {BIG}"
        return {
            **look,
            "agent_id": "a1",
            "tool_response": {"stdout": text, "stderr": "", "interrupted": False},
        }

    return [*out, *await _measure("PostToolUse, 34 KB go to a file", after, big)]


async def _measure(name: str, hook: Any, data: Any) -> list[Row]:
    took = []
    for number in range(CALLS + 10):
        call = {"cwd": "", "session_id": "s", **data(number)}
        begun = time.perf_counter()
        await hook(call, f"toolu_{number}", {"signal": None})
        if number >= 10:
            took.append((time.perf_counter() - begun) * 1e6)
    return [
        Row(f"{name}: p50", statistics.median(took), "µs"),
        Row(f"{name}: p99", percentile(took, 0.99), "µs"),
    ]


if __name__ == "__main__":
    for row in rows():
        print(row)
