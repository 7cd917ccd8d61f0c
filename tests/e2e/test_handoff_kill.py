"""kill -9 between "the threshold is seen" and "the successor has its first entry": one line goes on, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flower.runtime.inheritance import first_message, original_request, said_to
from flower.testing import ScriptedEndpoint
from tests.e2e.handing import Desk, Filler
from tests.e2e.handoff_process import REQUEST, flow, runtime

ROOT = Path(__file__).parents[2]

POINTS = [
    ("event usage", 1),  # the threshold is seen, the tool is still running
    ("event handoff writing", 1),
    ("before rules", 1),  # the handoff's own turn has begun
    ("after document", 1),  # written, not yet frozen
    ("after .md>交接/", 1),  # the old document is in the archive, the new one not yet in its place
    ("after .tmp>notes/交接-work.md", 1),
    ("after .tmp>handoff/", 1),  # the successor is chosen,
    ("after .tmp>handoff/", 2),  # and that is known from both ends
    ("before inheritance", 1),  # it runs and has no entry
    ("before .tmp>runs/lineage.json", 1),  # it has one, the lineage does not know yet
    ("after .tmp>runs/lineage.json", 1),
]


def sessions(base: Path) -> dict[str, list[dict[str, Any]]]:
    """Every session in the books with its entries."""
    database = sqlite3.connect(f"file:{base / 'runs' / 'sessions.db'}?mode=ro", uri=True)
    found: dict[str, list[dict[str, Any]]] = {}
    for key, payload in database.execute("SELECT store_key, payload FROM entries ORDER BY store_key, seq"):
        if key.count("/") == 1:
            found.setdefault(key.split("/")[1], []).append(json.loads(payload))
    database.close()
    return found


def killed(base: Path, label: str, nth: int) -> bool:
    """Run until the point; whether it was reached."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.e2e.handoff_process", str(base), label, str(nth)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert process.returncode in (0, -signal.SIGKILL), process.stderr
    return process.returncode != 0


def check(base: Path, label: str, nth: int) -> bool:
    desk = Desk(base)
    desk.document.parent.mkdir(parents=True)
    half = "# Handoff\n\n## Doing\n\nsomething else\n\n## Next\n\nhalf a wo"
    desk.document.write_text(half)
    model = Filler(1)
    with ScriptedEndpoint(model) as endpoint:
        os.environ.update(endpoint.env())
        struck = killed(base, label, nth)
        before = sessions(base)
        named = json.loads((base / "runs" / "lineage.json").read_text())["steps"]["work"]
        assert named in before, "the lineage names a session that is not in the books"
        text = desk.document.read_text() if desk.document.exists() else ""
        edited = struck and len(before) == 1 and "regex stays" in text
        if edited:
            desk.document.write_text(text.replace("regex stays", "regex goes"))
        next_run = runtime(base)
        ctx = asyncio.run(flow().run(next_run))
        next_run.close()
        endpoint.check()
    assert ctx["work"] == "all is done"
    if label == "after document":
        assert len(model.handoffs) == 1, "what was written is paid for once"
    after = sessions(base)
    assert len(after) == 2, "more than one line of succession"
    old, new = sorted(after, key=lambda s: "You take over" in first_message(after[s]))
    assert (
        ctx["_sessions"]["work"]
        == new
        == json.loads((base / "runs" / "lineage.json").read_text())["steps"]["work"]
    )
    assert (
        original_request(first_message(after[old])) == original_request(first_message(after[new])) == REQUEST
    )
    kept = {e["uuid"] for entries in after.values() for e in entries if e.get("uuid")}
    assert {e["uuid"] for entries in before.values() for e in entries if e.get("uuid")} <= kept
    assert any("worked" in json.dumps(e) for e in after[old])
    # A successor that had begun already is told of the edit; one that begins afterwards begins from it.
    heard = "\n".join(said_to(after[new]))
    assert ("regex goes" if edited else "regex stays") in heard and "something else" not in heard
    assert [p.read_text() for p in desk.archive] == [half]
    return struck


@pytest.mark.parametrize(("label", "nth"), POINTS, ids=[f"{label} {nth}" for label, nth in POINTS])
def test_one_line_goes_on(tmp_path: Path, label: str, nth: int) -> None:
    assert check(tmp_path, label, nth), "the point was never reached"


@pytest.mark.soak
def test_at_every_point(tmp_path: Path) -> None:
    nth = 1
    while check(tmp_path / str(nth), "", nth):
        nth += 1
    assert nth > 25
