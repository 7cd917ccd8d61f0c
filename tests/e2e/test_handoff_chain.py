"""Handoffs inside the chain: rounds and wakes go on in the successor, and the judge knows nothing of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from flower.scripted.demo import demo_script, role_of
from flower.testing import Reply, Request, ScriptedEndpoint
from tests.e2e.chain_model import NOT_YET
from tests.e2e.handing import DOCUMENT, asked_for_handoff, generation
from tests.e2e.harness import Place


@dataclass
class Chain:
    """The demo's model, whose first coordinator is full at once and whose judge sends the first round back."""

    judged: int = 0

    def __call__(self, request: Request) -> Reply:
        coordinator = role_of(request) == "coordinator"
        if coordinator and asked_for_handoff(request):
            return Reply(DOCUMENT["zh"], usage={"input_tokens": 90_000})
        reply = demo_script(request)
        if coordinator:
            full = generation(request) == 0
            return Reply(reply.text, reply.blocks, usage={"input_tokens": 90_000 if full else 12_000})
        if role_of(request) == "judge" and not reply.blocks and "Judge the goal." in request.all_text:
            self.judged += 1
            return Reply(NOT_YET) if self.judged == 1 else reply
        return reply


def test_rounds_and_wakes_go_on_in_the_successor(tmp_path: Path) -> None:
    with ScriptedEndpoint(Chain()) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        first = place.run("--json", "go", "--window", "140000", "--timeout", "0", "make a md -> html script")
        assert first.returncode == 0, first.stderr
        work = [row for row in place.rows if row["step"].startswith("干活") and "判定" not in row["step"]]
        retired = [sid for row in work for sid in row["retired"]]
        assert len(retired) == 1
        assert [row["step"] for row in work] == ["干活", "干活#round2"] and work[0]["retired"]
        successor = place.lineage["steps"]["干活"]
        assert successor == work[-1]["session_id"] != retired[0]
        judges = [r["session_id"] for r in place.rows if "判定" in r["step"]]
        seen = [r.request.all_text for r in endpoint.requests if r.request.session_id in judges]
        assert seen and not any("yacc" in text or "You take over" in text for text in seen)
        document = place.dir / ".flower" / "notes" / "交接-干活.md"
        assert "yacc 太慢" in document.read_text()
        events = [json.loads(line) for line in first.stdout.splitlines()]
        assert [e["state"] for e in events if e["type"] == "handoff"] == ["writing", "done"]
        again = place.run("--json", "go", "--window", "140000", "--timeout", "0")
        assert again.returncode == 0, again.stderr
        assert place.lineage["steps"]["干活"] == successor and place.rows[-2]["session_id"] == successor
        endpoint.check()


def test_a_window_that_cannot_hold_a_handoff_is_a_usage_error(tmp_path: Path) -> None:
    place = Place.make(tmp_path)
    refused = place.run("go", "--window", "59999", "x")
    assert refused.returncode == 2 and "59999" in refused.stderr and "60000" in refused.stderr
    assert not (place.dir / "runs").exists()


def test_no_handoff_is_what_it_says(tmp_path: Path) -> None:
    with ScriptedEndpoint(Chain()) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        arguments = (
            "--window",
            "140000",
            "--no-handoff",
            "--no-goal",
            "--timeout",
            "0",
            "make a md -> html script",
        )
        assert place.run("go", *arguments).returncode == 0
        assert not any(row["retired"] for row in place.rows)
