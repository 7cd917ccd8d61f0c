"""What follows from a judge's answer, and what the products looked like before and after a round."""

from __future__ import annotations

import asyncio
import os

import pytest

from flower.agents.spec import AgentSpec
from flower.documents.verdict import Verdict
from flower.model import StepAbort, StepResult, UsageError
from flower.workflow.footprint import Footprint, take
from flower.workflow.judging import Ruling, failed_checks, rule, with_goal
from flower.workflow.step import Step

SPEC = AgentSpec(name="s", instructions="x")
GOOD = "Conclusion: achieved\nReason: all there\n1. pass: seen\n2. pass: seen"
HALF = "Conclusion: not yet\nReason: no list\n1. pass: seen\n2. fail: no <ul>"
CANNOT = "Conclusion: unreachable\nReason: no screen\n1. pass: seen\n2. cannot: no display"


@pytest.mark.parametrize(
    ("text", "looked", "changed", "before", "ruling"),
    [
        (GOOD, True, True, None, Ruling.PASS),
        (GOOD, True, False, frozenset({2}), Ruling.PASS),
        (GOOD, False, True, None, Ruling.SEND_BACK),
        ("true", True, True, None, Ruling.SEND_BACK),
        ("It all works, well done, the goal is achieved.", True, True, None, Ruling.SEND_BACK),
        ("DONE", False, True, None, Ruling.SEND_BACK),
        ("", True, True, None, Ruling.SEND_BACK),
        ("Conclusion: achieved\nReason: x\n1. pass: seen", True, True, None, Ruling.SEND_BACK),
        (
            "Conclusion: achieved\nReason: x\n1. pass: a\n2. pass: b\n3. pass: c",
            True,
            True,
            None,
            Ruling.SEND_BACK,
        ),
        ("Conclusion: achieved\nReason: x\n1. pass: a\n2. fail: b", True, True, None, Ruling.SEND_BACK),
        ("Conclusion: achieved\nReason: x\n1. pass: a\n2. cannot: b", True, True, None, Ruling.ASK),
        (HALF, True, True, None, Ruling.SEND_BACK),
        (HALF, True, True, frozenset({2}), Ruling.SEND_BACK),
        (HALF, True, False, frozenset({1, 2}), Ruling.SEND_BACK),
        (HALF, True, False, frozenset({2}), Ruling.STUCK),
        ("true", True, False, frozenset({1, 2}), Ruling.STUCK),
        (CANNOT, True, True, None, Ruling.ASK),
        (CANNOT, True, False, frozenset({2}), Ruling.ASK),
    ],
)
def test_what_follows_from_an_answer(text, looked, changed, before, ruling):
    verdict = Verdict.parse(text, 2)
    assert rule(verdict, 2, looked=looked, changed=changed, before=before) is ruling


def test_a_goal_without_checks_never_passes():
    verdict = Verdict.parse("Conclusion: achieved\nReason: x")
    assert verdict.achieved
    assert rule(verdict, 0, looked=True, changed=True, before=None) is not Ruling.PASS


def test_checks_an_answer_leaves_out_count_as_failed():
    assert failed_checks(Verdict.parse("1. pass: x", 3), 3) == {2, 3}


@pytest.mark.parametrize("rounds", [0, -1, True, 1.5])
def test_rounds_that_cannot_be(rounds):
    with pytest.raises(UsageError, match="rounds must be 1 or more"):
        with_goal(Step("A", SPEC, "x"), None, "goal.md", rounds)


def test_a_step_with_a_gate_of_its_own_is_refused():
    with pytest.raises(UsageError, match="gate of its own"):
        with_goal(Step("A", SPEC, "x", gate=lambda r, c: True), None, "goal.md")


def test_without_a_runtime_nothing_passes():
    gate = with_goal(Step("A", SPEC, "x"), None, "goal.md").gate
    with pytest.raises(StepAbort, match="no runtime"):
        asyncio.run(gate(StepResult("A", ok=True, text="done"), {}))


def test_a_footprint_sees_content_and_nothing_else(tmp_path):
    (tmp_path / "a").write_text("one")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_text("two")
    first = take(tmp_path)
    os.utime(tmp_path / "a")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("x")
    (tmp_path / ".flower").mkdir()
    (tmp_path / ".flower" / "note").write_text("x")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "manifest.json").write_text("[]")
    again = take(tmp_path, without=[tmp_path / "runs"], before=first)
    assert again.same_as(first) and set(again.digests) == {"a", "sub/b"}


@pytest.mark.parametrize("change", ["content", "new", "gone", "mode", "link"])
def test_a_footprint_sees_every_change(tmp_path, change):
    target = tmp_path / "a"
    target.write_text("one")
    (tmp_path / "l").symlink_to("a")
    times = target.stat()
    first = take(tmp_path)
    if change == "content":  # same size, and the time put back by hand
        target.write_text("two")
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    elif change == "new":
        (tmp_path / "b").touch()
    elif change == "gone":
        target.unlink()
    elif change == "mode":
        target.chmod(0o755)
    else:
        (tmp_path / "l").unlink()
        (tmp_path / "l").symlink_to("b")
    assert not take(tmp_path, before=first).same_as(first)


def test_a_footprint_that_is_not_whole_is_like_no_other():
    assert not Footprint(whole=False).same_as(Footprint(whole=False))
