"""A long body is cut out of its row; what looks like it elsewhere in the row stays."""

from __future__ import annotations

import json

from flower.transcript.cut import HOLE
from flower.transcript.rewrite import Rules
from flower.transcript.trim import TrimPolicy
from tests.data.build import Transcript
from tests.unit.test_transcript_rewrite import LARGE, Shelf, blocks, fed


def test_a_body_that_moves_leaves_an_equal_text_beside_it_alone() -> None:
    t = Transcript()
    t.user("go")
    first, second = t.call("make", "make again")
    t.user([{"type": "tool_result", "tool_use_id": name, "content": LARGE} for name in (first, second)])
    t.user([{"type": "text", "text": LARGE}])
    rules = Rules(trim=TrimPolicy(keep_recent=1, block=1))
    one, other = blocks(fed(t, rules, spill=Shelf())[3])
    assert "moved to" in one["content"] and other["content"] == LARGE


def test_a_row_that_holds_the_mark_of_a_hole_keeps_it() -> None:
    t = Transcript()
    t.user("go")
    t.run("make", LARGE)
    t.entries[-1]["note"] = t.entries[-1]["toolUseResult"] = json.loads(HOLE)
    t.run("make", LARGE)
    rules = Rules(trim=TrimPolicy(keep_recent=1, block=1))
    moved = fed(t, rules, spill=Shelf())[2]
    assert moved["note"] == json.loads(HOLE)
    assert "moved to" in blocks(moved)[0]["content"]
