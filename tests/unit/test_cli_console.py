"""What a person sees of a run."""

from __future__ import annotations

import io
import json

import pytest

from flower import locale
from flower.cli import phrases
from flower.cli.console import Console
from flower.cli.jsonl import JsonLines
from flower.cli.screen import Screen
from flower.model import EVENT_KINDS, Event


def shown(*events: Event, verbose: bool = False, quiet: bool = False) -> str:
    stream = io.StringIO()
    console = Console(Screen(stream, live=False), verbose=verbose, quiet=quiet)
    for event in events:
        console(event)
    return stream.getvalue()


def test_the_wake_banner() -> None:
    line = phrases.banner("~/explore/test-ide", clarifying=False, checks=15, context=80_200, wake=3)
    facts = "brief confirmed | 15 checks | work context 80.2K | wake 3"
    assert line == f"<- ~/explore/test-ide: picking up where we left off  {facts}"


def test_the_banner_leaves_out_what_is_not_known() -> None:
    line = phrases.banner("~/x", clarifying=False, checks=0, context=0, wake=2)
    assert line.endswith("left off  brief confirmed | wake 2")


def test_the_banner_of_a_directory_killed_while_it_was_asking() -> None:
    line = phrases.banner("~/x", clarifying=True, checks=0, context=0, wake=2)
    assert line.endswith("left off  going on with the clarification | wake 2")


def test_the_banner_in_chinese() -> None:
    locale.use("zh")
    try:
        line = phrases.banner("~/x", clarifying=False, checks=15, context=80_200, wake=3)
    finally:
        locale.use(None)
    assert "接上上次" in line
    assert line.endswith("需求已确认 · 目标 15 条 · 干活上下文 80.2K · 第 3 次唤醒")


def test_the_step_header_repeats_the_wake() -> None:
    line = phrases.header("干活", 3, 3, continued=True, wake=3)
    assert line == "== 干活 ==============================  3/3  <- continued | wake 3"
    assert phrases.header("干活", 3, 3, continued=False, wake=1).endswith("=  3/3")


@pytest.mark.parametrize(
    ("n", "text"), [(999, "999"), (1000, "1.0K"), (80_234, "80.2K"), (999_960, "1.0M"), (1_200_000, "1.2M")]
)
def test_context_sizes(n: int, text: str) -> None:
    assert phrases.tokens(n) == text


def test_subagents_are_indented() -> None:
    out = shown(Event("text", "main"), Event("text", "sub", agent_id="a1"))
    assert out == "main\n    sub\n"


def test_a_tool_shows_the_argument_that_says_most() -> None:
    event = Event("tool_use", tool="Bash", data={"input": {"description": "d", "command": "ls -l\nrm x"}})
    assert shown(event) == "> Bash: ls -l rm x\n"


def test_paths_in_the_workspace_are_shown_as_seen_from_it() -> None:
    run = Event("run", data={"workspace": "/w/here"})
    call = Event("tool_use", tool="Bash", data={"input": {"command": "cat /w/here/a/b /w/hereafter"}})
    assert shown(run, call) == "> Bash: cat a/b /w/hereafter\n"


def test_escape_sequences_of_models_and_tools_never_reach_the_screen() -> None:
    evil = "\x1b[2J\x1b]0;x\x07boo"
    data = {"input": {"command": evil}, "is_error": True, "options": [evil], "reason": evil, "error": evil}
    for kind in EVENT_KINDS:
        out = shown(Event(kind, evil, step=evil, tool="T", data={**data, "ok": False}), verbose=True)
        assert "\x1b" not in out, kind
        assert "\x07" not in out, kind


def test_results_are_shown_only_when_they_failed_or_on_demand() -> None:
    good = Event("tool_result", "output", tool="Bash")
    bad = Event("tool_result", "no such file", tool="Bash", data={"is_error": True})
    assert shown(good, bad) == "! no such file\n"
    assert shown(good, verbose=True) == "  output\n"


def test_a_question_lists_its_options() -> None:
    out = shown(Event("question", "Which?", data={"id": 1, "options": ["one", "two"]}))
    assert out == "?? Which?\n   1) one\n   2) two\n"


def test_a_quiet_console_still_asks_and_warns() -> None:
    out = shown(Event("text", "hi"), Event("question", "Which?"), Event("error", "bad"), quiet=True)
    assert out == "?? Which?\n!! bad\n"


def test_the_status_line_says_what_is_going_on() -> None:
    console = Console(Screen(io.StringIO(), live=True), cost=lambda: 0.25)
    console(Event("step", step="干活", data={"index": 3, "total": 3}))
    console(Event("usage", data={"context": 33_000, "window": 200_000}))
    for number in ("a", "b"):
        console(Event("tool_use", tool="Agent", tool_use_id=number, data={"input": {}}))
    console(Event("tool_use", tool="Bash", tool_use_id="c", data={"input": {}}))
    text = console.status_text()
    assert text.startswith(".. 干活 3/3 | 0:0")
    assert text.endswith("| Bash | 2 subagents | $0.25 | context 33.0K of 200.0K")
    console(Event("tool_result", tool="Agent", tool_use_id="a"))
    assert "| 1 subagent |" in console.status_text()


def test_the_status_line_is_rewritten_in_place_and_gone_before_a_line() -> None:
    stream = io.StringIO()
    screen = Screen(stream, live=True)
    screen.status("working")
    screen.line("done")
    assert stream.getvalue() == "\rworking\r       \rdone\n"


def test_a_status_line_never_covers_a_prompt() -> None:
    stream = io.StringIO()
    screen = Screen(stream, live=True)
    screen.ask("answer")
    screen.status("working")
    assert stream.getvalue() == "   (answer)\n> "


def test_marks_are_plain_ascii_in_english() -> None:
    for kind in EVENT_KINDS:
        data = {"index": 1, "total": 3, "conclusion": "not_yet", "state": "done", "options": ["a"]}
        assert shown(Event(kind, "text", step="X", tool="T", data=data), verbose=True).isascii(), kind


def test_json_lines_name_the_schema_once_and_end_with_the_end() -> None:
    stream = io.StringIO()
    sink = JsonLines(stream)
    sink(Event("run", data={"run": "r"}))
    sink(Event("text", "a\nb \ud800 干"))
    sink.end("ok", 0, steps=2, cost_usd=0.5, run="r")
    first, second, last = map(json.loads, stream.getvalue().splitlines())
    assert first["schema_version"] == 1
    assert "schema_version" not in second
    assert second["text"] == "a\nb \ud800 干"
    assert last == {"type": "end", "status": "ok", "exit_code": 0, "steps": 2, "cost_usd": 0.5, "run": "r"}


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_closed_pipe_is_no_error() -> None:
    told = []
    sink = JsonLines(Gone())
    sink.on_closed = lambda: told.append(1)
    sink(Event("text", "a"))
    sink(Event("text", "b"))
    Screen(Gone(), live=False).line("x")
    assert told == [1]
