"""Books made of recorded transcripts, for those who look at them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from claude_agent_sdk import project_key_for_directory

from flower.books.sqlite import SqliteSessionStore

TRANSCRIPTS = Path(__file__).parent / "data" / "transcripts"
AGENT = "subagents/agent-a4a684d546b9b6f14"
LATER = 4_000_000_000.0
"""After everything in the recordings, epoch seconds."""


def entries(name: str) -> list[dict[str, Any]]:
    """The entries of a recording."""
    lines = (TRANSCRIPTS / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def session_of(name: str) -> str:
    """The session id of a recording."""
    return next(str(entry["sessionId"]) for entry in entries(name) if entry.get("sessionId"))


def fill(run_dir: Path, workspace: Path, names: Iterable[str]) -> dict[str, str]:
    """Put recordings into a database under a workspace; name → session id."""
    project = project_key_for_directory(str(workspace))
    store = SqliteSessionStore(run_dir / "sessions.db")
    found = {}
    for name in names:
        found[name] = session_of(name)
        key = {"project_key": project, "session_id": found[name]}
        store.append_now(key, entries(name))
        if name == "subagent":
            store.append_now({**key, "subpath": AGENT}, entries("subagent.agent-a4a684d546b9b6f14"))
    store.close()
    return found


def row(step: str, session_id: str, **more: Any) -> dict[str, Any]:
    """A row of the manifest as a run writes it."""
    fields: dict[str, Any] = {"ok": True, "cost_usd": 0.5, "num_turns": 2, "text": "", "error": ""}
    fields |= {"started_at": 1_796_000_000.0, "ended_at": 1_796_000_060.0, "attempts": 1, "errors": []}
    fields |= {"resumed": False, "retired": [], "context": 1000, "duration_s": 60.0}
    return {"step": step, "session_id": session_id, **fields, "run": "20261201-010203-abcdef", **more}


def write_books(
    run_dir: Path, workspace: Path, steps: dict[str, str], rows: list[dict[str, Any]] | None = None
) -> None:
    """Lineage, manifest and project ids beside the database."""
    lineage = {"workspace": str(workspace), "woke": 2, "steps": steps}
    (run_dir / "lineage.json").write_text(json.dumps(lineage, ensure_ascii=False))
    (run_dir / "manifest.json").write_text(json.dumps(rows or [], ensure_ascii=False))


def snapshot(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a directory with its time and content: what a look must leave as it is.

    The database's log and its shared memory are SQLite's own: opening makes them, empty.
    """
    files = [p for p in directory.rglob("*") if p.is_file() and not p.name.endswith(("-wal", "-shm"))]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}
