"""Commands that only look, from a cold start, beside the quickest command there is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from benchmarks.table import Row, beside, in_turns

ROUNDS = 15
FLOWER = str(Path(sys.executable).with_name("flower"))
LOOK = "import flower; flower.wake_state()"
WORDS = ("--version", "--help", "demo --help", "cache", "status", "steps", "sessions", "show work")
BOUNDS: dict[str, float | None] = {"flower --help": None, "flower demo --help": None}
"""What only prints help may take the time that click takes."""

SECTIONS = ("Goal", "Acceptance", "Boundaries", "Unknowns and assumptions")


def used(place: Path) -> None:
    """A directory with a frozen brief and goal, and one step with a session of twenty turns."""
    from flower import Lineage, SqliteSessionStore

    notes = place / ".flower" / "notes"
    notes.mkdir(parents=True)
    (notes / "需求.md").write_text("\n".join(f"## {name}\n\nAs said.\n" for name in SECTIONS), "utf-8")
    (notes / "目标.md").write_text("## Goal\n\nIt works.\n\n## Checks\n\n1. it runs\n2. it ends\n", "utf-8")
    session, run_dir = str(uuid.uuid4()), place / "runs"
    Lineage.open(run_dir, place, notice=print).remember(
        "work", session, exists=lambda sid: False, held=lambda sid: False
    )
    row = {"step": "work", "session_id": session, "ok": True, "cost_usd": 0.5, "run": "r", "started_at": 1.0}
    (run_dir / "manifest.json").write_text(json.dumps([row]), "utf-8")
    store = SqliteSessionStore(run_dir / "sessions.db")
    speakers = ("user", "assistant")
    turns = [
        {"type": who, "uuid": str(uuid.uuid4()), "message": {"role": who, "content": "Said in a few words."}}
        for who in speakers * 10
    ]
    store.append_now({"project_key": "-project", "session_id": session}, turns)
    store.close()


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as scratch:
        place = Path(scratch, "project")
        place.mkdir()
        used(place)
        env = {"PATH": os.environ["PATH"], "HOME": scratch, "LANG": "C.UTF-8"}

        def side(*command: str) -> float:
            begun = time.perf_counter()
            subprocess.run(
                command, cwd=place, env=env, check=True, capture_output=True, stdin=subprocess.DEVNULL
            )
            return (time.perf_counter() - begun) * 1000

        from flower.cli.arguments import COMMANDS

        known = [w for w in WORDS if w.startswith("-") or w.split()[0] in COMMANDS]
        commands = {f"flower {words}": [FLOWER, *words.split()] for words in known}
        commands["wake_state()"] = [sys.executable, "-c", LOOK]
        sides = [lambda command=command: side(*command) for command in commands.values()]  # type: ignore[misc]
        times = dict(zip(commands, in_turns(ROUNDS, *sides), strict=True))
        base = times.pop("flower --version")
        return [
            beside(name, took, "--version", base, "ms", BOUNDS.get(name, 2.0)) for name, took in times.items()
        ]


if __name__ == "__main__":
    for row in rows():
        print(row)
