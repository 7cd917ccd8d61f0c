"""The report: which turns belong to a step, what a judge said, and a page that is one safe file."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from flower.books.sqlite import SqliteSessionStore
from flower.cli.report_chart import MOST_BARS, turns_chart
from flower.cli.report_page import page
from flower.config.secrets import Masker
from flower.inspect.database import Database
from flower.inspect.moments import time_of
from flower.inspect.report import Report, report_of
from flower.inspect.turns import Turn, turns_of
from tests.recorded import entries, fill, row, write_books

TOKEN = "tok-0123456789abcdef"
VERDICT = (
    "Conclusion: not yet\nReason: the second is wrong\n\n1. pass: seen\n2. fail: <script>alert(1)</script>"
)


def span(name: str) -> tuple[float, float]:
    times = [time for entry in entries(name) if (time := time_of(entry))]
    return min(times) - 1, max(times) + 1


@pytest.fixture
def report(tmp_path: Path) -> Report:
    sessions = fill(tmp_path / "runs", tmp_path, ["subagent", "tools"])
    (began, ended), (judged, done) = span("subagent"), span("tools")
    rows: list[dict[str, Any]] = [
        row("work", sessions["subagent"], started_at=began, ended_at=ended, text=f"done, with {TOKEN}"),
        row("work·判定#1", sessions["tools"], started_at=judged, ended_at=done, text=VERDICT, run="later"),
        row(
            "work#round2",
            sessions["subagent"],
            started_at=ended + 60,
            ended_at=0,
            ok=False,
            error="killed & lost",
        ),
    ]
    write_books(tmp_path / "runs", tmp_path, {"work": sessions["subagent"]}, rows)
    return report_of(tmp_path / "runs", tmp_path, Masker([TOKEN]))


def test_steps_have_their_own_turns_and_judges_their_verdicts(report: Report) -> None:
    work, again, judge = report.steps
    assert [run.run for run in report.runs] == ["20261201-010203-abcdef", "later"]
    answers = {e["message"]["id"] for e in entries("subagent") if e["type"] == "assistant"}
    main = [turn for turn in work.turns if not turn.agent]
    assert len(main) == len(answers) and all(turn.context and turn.cost_usd for turn in main)
    assert {turn.agent for turn in work.turns} == {"", "a4a684d546b9b6f14"}
    assert any("Agent" in turn.tools for turn in main)
    assert again.turns == () and again.started == again.ended, "what never ended has no length"
    assert judge.verdict is not None and judge.verdict.conclusion == "not_yet" and work.verdict is None
    assert [status for status, _evidence in judge.verdict.checks.values()] == ["pass", "fail"]


def test_an_answer_in_parts_is_one_turn(tmp_path: Path) -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}
    message = {"id": "m", "role": "assistant", "model": "claude-opus-5-5", "usage": usage}
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    parts = [
        {**message, "content": [{"type": "text", "text": "I look."}]},
        {**message, "usage": {**usage, "output_tokens": 50}, "content": [call]},
        {**message, "model": "<synthetic>", "id": "s", "content": []},
        {**message, "id": "next", "content": []},
    ]
    store = SqliteSessionStore(tmp_path / "runs" / "sessions.db")
    key = {"project_key": "-p", "session_id": "s"}
    store.append_now(key, [{"type": "assistant", "uuid": f"u{n}", "message": m} for n, m in enumerate(parts)])
    store.close()
    with Database(tmp_path / "runs" / "sessions.db") as database:
        one, other = turns_of(database, database.transcripts()[0])
    assert (one.context, one.output, one.tools, other.tools) == (100, 50, ("Bash",), ())
    assert one.cost_usd > other.cost_usd > 0


class Balanced(HTMLParser):
    """Notes every element and attribute, and fails on a tag that closes nothing."""

    EMPTY = ("meta", "rect", "polyline", "br", "link")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: dict[str, set[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


def test_the_page_is_whole_loads_nothing_and_runs_nothing(report: Report) -> None:
    text = "".join(page(report))
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert parser.open == [] and {"svg", "rect", "polyline", "table"} <= parser.seen
    assert not parser.seen & {"script", "link", "img", "iframe"} and not parser.attributes.keys() & {
        "src",
        "href",
    }
    assert (
        "&lt;script&gt;" in text
        and "killed &amp; lost" in text
        and "@import" not in text
        and "url(" not in text
    )
    assert TOKEN not in text and "…cdef" in text
    widths = [float(w) for w in re.findall(r"width:([0-9.]+)%", text)]
    assert all(0 <= width <= 100 for width in widths) and len(widths) == 3


def test_nothing_and_damage_make_a_page_too(tmp_path: Path) -> None:
    empty = report_of(tmp_path / "runs", tmp_path, Masker([]))
    assert "no step has been run here yet" in "".join(page(empty))
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "sessions.db").write_bytes(b"x" * 5000)
    (runs / "manifest.json").write_text(
        json.dumps([{"step": 5, "cost_usd": "much", "attempts": None}, "junk"])
    )
    damaged = report_of(runs, tmp_path, Masker([]))
    assert len(damaged.steps) == 1 and [Path(p.file).name for p in damaged.problems] == ["sessions.db"]
    assert "sessions.db" in "".join(page(damaged))


def test_a_long_session_does_not_make_a_page_of_megabytes() -> None:
    turns = [Turn(float(n), n, 1, 0.01, ("Bash",)) for n in range(50_000)]
    drawn = turns_chart(turns)
    assert drawn.count("<rect") <= MOST_BARS and "$500.00" in drawn and len(drawn) < 300_000
