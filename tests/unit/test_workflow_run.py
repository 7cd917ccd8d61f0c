"""The order of things in a workflow, driven through the Runs protocol as somebody's own runtime would be.

What only the real CLI can show (sessions that really go on) is proven end to end, elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path

import pytest

from flower.agents.spec import AgentSpec
from flower.model import StepAbort, StepResult, UsageError
from flower.workflow.step import Step
from flower.workflow.workflow import Workflow

SPEC = AgentSpec(name="s", instructions="x")


class Scripted:
    """A runtime that answers from a list and keeps its sessions in a file, like any other Runs."""

    def __init__(self, base: Path, *answers: str | bool) -> None:
        self.workspace, self.run_dir = base / "ws", base / "runs"
        self.workspace.mkdir(exist_ok=True)
        self.run_dir.mkdir(exist_ok=True)
        self.run_id = "run"
        self.on_session = None
        self.answers = list(answers)
        self.calls: list[tuple[str, str, str | None, bool]] = []
        self.beside = False

    @property
    def _sessions(self) -> Path:
        return self.run_dir / "sessions.json"

    def _stored(self) -> dict[str, int]:
        return json.loads(self._sessions.read_text()) if self._sessions.exists() else {}

    def has_session(self, session_id: str) -> bool:
        return session_id in self._stored()

    def context_of(self, session_id: str) -> int:
        return self._stored().get(session_id, 0)

    async def run(self, spec, prompt, *, step_name, resume=None, fork=False, resume_at=None, on_event=None,
                  full_prompt=None):  # fmt: skip
        self.calls.append((step_name, prompt, resume, fork))
        session = resume if resume and not fork and not self.beside else str(uuid.uuid4())
        if self.on_session and not self.beside:
            self.on_session(session)
        stored = self._stored()
        stored[session] = stored.get(session, 0) + 100
        self._sessions.write_text(json.dumps(stored))
        if self.on_session and not self.beside:
            self.on_session(session)
        answer = self.answers.pop(0) if self.answers else f"{step_name} done"
        return StepResult(
            step_name, session, bool(answer), text=str(answer or "half"), error="" if answer else "bad"
        )


def go(flow: Workflow, runtime: Scripted, **kw):
    return asyncio.run(flow.run(runtime, **kw))


def lineage(runtime: Scripted) -> dict:
    return json.loads((runtime.run_dir / "lineage.json").read_text())


def test_run_twice_continues_the_same_sessions_and_says_the_other_words(tmp_path):
    flow = Workflow([Step("A", SPEC, "do all of it", resume_prompt=lambda ctx: f"go on {ctx['_woke']}"),
                     Step("B", SPEC, "look")])  # fmt: skip
    first = Scripted(tmp_path)
    one = go(flow, first)
    second = Scripted(tmp_path)
    two = go(flow, second)
    assert (one["_woke"], two["_woke"]) == (1, 2)
    assert one["_sessions"] == two["_sessions"] == lineage(second)["steps"]
    assert [c[1] for c in first.calls] == ["do all of it", "look"]
    assert second.calls == [
        ("A", "go on 2", one["_sessions"]["A"], False),
        ("B", "look", one["_sessions"]["B"], False),
    ]


def test_not_continuous_neither_reads_nor_writes_the_lineage(tmp_path):
    go(Workflow([Step("A", SPEC, "do")]), Scripted(tmp_path))
    before = (tmp_path / "runs" / "lineage.json").read_bytes()
    runtime = Scripted(tmp_path)
    ctx = go(
        Workflow([Step("A", SPEC, "do"), Step("B", SPEC, "x", resume_from="A")], continuous=False), runtime
    )
    assert [c[2] for c in runtime.calls] == [None, ctx["_sessions"]["A"]]
    assert ctx["_woke"] == 1 and ctx["_lineage"] is None
    assert (tmp_path / "runs" / "lineage.json").read_bytes() == before


def test_a_rejected_session_is_sent_back_and_the_gate_runs_once_an_attempt(tmp_path):
    seen = []

    async def gate(result, ctx):
        assert runtime.on_session is None, "a judge's session must not be heard"
        seen.append(result.step)
        return len(seen) == 3

    async def back(result, ctx):
        return f"again after {result.step}"

    runtime = Scripted(tmp_path)
    ctx = go(Workflow([Step("A", SPEC, "do", retries=2, gate=gate, on_reject=back)]), runtime)
    sid = ctx["_sessions"]["A"]
    assert runtime.calls == [("A", "do", None, False), ("A#round2", "again after A", sid, False),
                             ("A#round3", "again after A#round2", sid, False)]  # fmt: skip
    assert seen == ["A", "A#round2", "A#round3"] == list(ctx["_results"])
    assert ctx["A"] == "A#round3 done" and lineage(runtime)["steps"] == {"A": sid}


def test_without_on_reject_a_retry_starts_over_under_the_plain_name(tmp_path):
    runtime = Scripted(tmp_path)
    ctx = go(Workflow([Step("A", SPEC, "do", retries=1, gate=lambda r, c: r.step != "A")]), runtime)
    assert runtime.calls == [("A", "do", None, False), ("A#retry1", "do", None, False)]
    assert (
        lineage(runtime)["steps"]
        == {"A": ctx["_sessions"]["A"]}
        == {"A": ctx["_results"]["A#retry1"].session_id}
    )


def test_a_gate_never_sees_a_failed_result_and_on_reject_is_not_asked(tmp_path):
    seen = []
    runtime = Scripted(tmp_path, False, "fine")
    step = Step(
        "A", SPEC, "do", retries=1, gate=lambda r, c: seen.append(r.step) or True, on_reject=lambda r, c: "no"
    )
    ctx = go(Workflow([step]), runtime)
    assert seen == ["A#retry1"] and ctx["A"] == "fine" and runtime.calls[1][:3] == ("A#retry1", "do", None)


@pytest.mark.parametrize(
    ("on_fail", "ran", "value", "failed_at"),
    [("stop", ["A"], None, "A"), ("skip", ["A", "B"], None, None), ("continue", ["A", "B"], "half", None)],
)
def test_on_fail(tmp_path, on_fail, ran, value, failed_at):
    runtime = Scripted(tmp_path, False)
    ctx = go(Workflow([Step("A", SPEC, "do", on_fail=on_fail), Step("B", SPEC, "do")]), runtime)
    assert [c[0] for c in runtime.calls] == ran
    assert (ctx.get("A"), ctx.get("_failed_at")) == (value, failed_at)


@pytest.mark.parametrize("where", ["gate", "when", "reduce", "on_reject", "prompt"])
def test_step_abort_ends_the_workflow_from_anywhere(tmp_path, where):
    def abort(*_):
        raise StepAbort("enough")

    fields = {
        "prompt": "do",
        "gate": lambda r, c: where != "on_reject",
        "retries": 1,
        "on_reject": lambda r, c: "x",
    }
    runtime = Scripted(tmp_path)
    ctx = go(Workflow([Step("A", SPEC, **{**fields, where: abort}), Step("B", SPEC, "do")]), runtime)
    assert str(ctx["_aborted"]) == "enough" and "B" not in ctx and runtime.on_session is None
    assert len(runtime.calls) == (0 if where in ("when", "prompt") else 1)


def test_when_reduce_and_forks(tmp_path):
    async def no(ctx):
        return False

    runtime = Scripted(tmp_path)
    steps = [Step("A", SPEC, "do", reduce=lambda r, c: r.text.upper()), Step("S", SPEC, "do", when=no),
             Step("B", SPEC, lambda ctx: f"see {ctx['A']}", resume_from="A", fork=True),
             Step("C", SPEC, "do", resume_from="A")]  # fmt: skip
    ctx = go(Workflow(steps, context={"given": 1}), runtime)
    a = ctx["_sessions"]["A"]
    assert runtime.calls[1:] == [("B", "see A DONE", a, True), ("C", "do", a, False)]
    assert ctx["A"] == "A DONE" and "S" not in ctx and ctx["given"] == 1 and ctx["_sessions"]["B"] != a


def test_a_source_that_can_never_exist_costs_nothing(tmp_path):
    runtime = Scripted(tmp_path)
    with pytest.raises(ValueError, match="'Z', which has no session"):
        go(Workflow([Step("A", SPEC, "do"), Step("B", SPEC, "do", resume_from="Z")]), runtime)
    assert runtime.calls == []


def test_a_skipped_source_is_found_in_the_lineage(tmp_path):
    go(Workflow([Step("A", SPEC, "do")]), Scripted(tmp_path))
    runtime = Scripted(tmp_path)
    skipped = Step("A", SPEC, "do", when=lambda ctx: False)
    go(Workflow([skipped, Step("B", SPEC, "do", resume_from="A")]), runtime)
    assert runtime.calls == [("B", "do", lineage(runtime)["steps"]["A"], False)]


def test_a_lost_session_is_said_and_begun_anew(tmp_path):
    go(Workflow([Step("A", SPEC, "do", resume_prompt="on")]), Scripted(tmp_path))
    (tmp_path / "runs" / "sessions.json").unlink()
    runtime, events = Scripted(tmp_path), []
    ctx = go(Workflow([Step("A", SPEC, "do", resume_prompt="on")]), runtime, on_event=events.append)
    assert runtime.calls == [("A", "do", None, False)] and lineage(runtime)["steps"] == ctx["_sessions"]
    assert any("A is not in the database" in e.text for e in events if e.kind == "notice")


def test_a_fork_beside_another_run_never_takes_its_place(tmp_path):
    owner = go(Workflow([Step("A", SPEC, "do")]), Scripted(tmp_path))["_sessions"]["A"]
    runtime = Scripted(tmp_path)
    runtime.beside = True

    def gate(result, ctx):
        runtime.beside = False  # from now on the fork is driven like any session
        return result.step == "A#round2"

    ctx = go(Workflow([Step("A", SPEC, "do", retries=1, gate=gate, on_reject=lambda r, c: "more")]), runtime)
    assert ctx["_sessions"]["A"] != owner and lineage(runtime)["steps"] == {"A": owner}
    assert runtime.calls[1][2] == ctx["_results"]["A"].session_id


def test_headers_and_events_tell_where_the_run_is(tmp_path):
    flow = Workflow(
        [Step("A", SPEC, "do"), Step("B", SPEC, "do", retries=1, gate=lambda r, c: "#" in r.step)]
    )
    go(flow, Scripted(tmp_path))
    headers, events = [], []
    go(
        flow,
        Scripted(tmp_path),
        on_event=events.append,
        on_step=lambda step, info: headers.append((step.name, info)),
    )
    told = [(name, i.name, i.index, i.total, i.resumed, i.woke, i.context) for name, i in headers]
    assert told == [
        ("A", "A", 1, 2, True, 2, 100),
        ("B", "B", 2, 2, True, 2, 100),
        ("B", "B#retry1", 2, 2, False, 2, 0),
    ]
    assert [(e.kind, e.step) for e in events] == [
        (k, s) for s in ("A", "B", "B#retry1") for k in ("step", "step_end")
    ]
    assert events[1].data["run"] == "run" and events[1].data["ok"] is True


def test_steps_must_differ_and_exist():
    with pytest.raises(UsageError, match="at least one"):
        Workflow([])
    with pytest.raises(UsageError, match="two steps are called 'A'"):
        Workflow([Step("A", SPEC, "x"), Step("A", SPEC, "y")])
