"""The chain run again and again with the real CLI: the same sessions go on, and hear what they must hear."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import psutil
import pytest

from flower.agents.spec import AgentSpec
from flower.documents.goal import Goal
from flower.model import StepAbort, UsageError
from flower.testing import Reply, ScriptedEndpoint
from flower.workflow.step import Step
from flower.workflow.workflow import Workflow
from tests.e2e.chain_model import NOT_YET, Chain, Model
from tests.e2e.harness import Place, wait_for


def lineage(chain: Chain) -> dict:
    return json.loads((chain.run_dir / "lineage.json").read_text())


def test_run_again_and_again(tmp_path):
    chain = Chain(tmp_path)
    first = chain.run(Model(), "say hello")
    brief, goal = chain.paths.brief.read_bytes(), chain.paths.goal.read_bytes()

    # Nothing said: nothing is appended, nothing derived, the work session goes on with all it has heard.
    silent = Model()
    second = chain.run(silent)
    assert second.rows == ["干活", "干活·判定#1"] and second.ctx["_woke"] == 2
    assert (chain.paths.brief.read_bytes(), chain.paths.goal.read_bytes()) == (brief, goal)
    assert second.ctx["_sessions"] == {"干活": first.ctx["_sessions"]["干活"]}
    assert silent.said["doer"][0].startswith("Carry on from where you stopped")
    history = second.requests(second.ctx["_sessions"]["干活"])[0].all_text
    assert (
        "Do this, to the end" in history and "The greeting is written." in history and "hello1.txt" in history
    )
    assert second.ctx["确认需求"] == brief.decode() and second.ctx["设定目标"] == goal.decode()
    assert first.session("干活·判定#1") != second.session("干活·判定#1")

    # Words: in the brief, in the goal, in the work step's prompt.
    spoken = Model()
    third = chain.run(spoken, "and also wave")
    assert third.rows == ["设定目标", "干活", "干活·判定#1"] and third.ctx["_woke"] == 3
    assert (
        chain.paths.brief.read_bytes().startswith(brief) and "and also wave" in chain.paths.brief.read_text()
    )
    assert "and also wave" in spoken.said["judge"][0] and "Set the goal." in spoken.said["judge"][0]
    assert Goal.parse(chain.paths.goal.read_text()).derived_from(chain.paths.brief.read_text())
    assert spoken.said["doer"][0].startswith("and also wave")
    assert third.ctx["_sessions"] == {k: first.ctx["_sessions"][k] for k in ("设定目标", "干活")}
    assert lineage(chain)["steps"] == first.ctx["_sessions"]


def test_words_taken_down_by_a_run_that_ended_too_early_are_heard_by_the_next(tmp_path):
    chain = Chain(tmp_path)
    chain.run(Model(verdicts=(NOT_YET,)), "say hello", rounds=1)
    ended = chain.run(Model(goals=("no list",)), "and also wave")
    assert ended.ctx["_failed_at"] == "设定目标" and "no usable goal" in ended.ctx["_why"]
    model = Model()
    ran = chain.run(model)
    assert ran.rows == ["设定目标", "干活", "干活·判定#1"]
    assert "and also wave" in model.said["doer"][0] and model.said["doer"][0].startswith("Carry on")


def test_nothing_to_carry_on_and_nothing_said(tmp_path):
    with pytest.raises(UsageError, match="nothing to carry on"):
        Chain(tmp_path).run(Model())


PROCESS = """
import threading
from pathlib import Path
from tests.e2e.chain_model import Chain
from flower.runtime.runtime import Runtime
from flower.workflow.starter import starter_flow
import asyncio, sys
chain = Chain(Path(sys.argv[1]))
def answer(question):
    threading.Timer(0.05, channel.answer, (question.id, "blue")).start()
channel = chain.channel(timeout_s=60, on_question=answer)
runtime = Runtime(workspace=chain.workspace, run_dir=chain.run_dir, channel=channel, resilience=False)
asyncio.run(starter_flow("say hello", channel=channel, workspace=chain.workspace).run(runtime))
"""


def test_killed_inside_the_clarification(tmp_path):
    chain = Chain(tmp_path)
    model = Model(question="Which colour?")

    def script(request):
        reply = model(request)
        # Once it has the answer, the clarifier never comes to its brief: the process is killed there.
        return Reply(reply.text, reply.blocks, delay=60) if request.last_tool_results else reply

    with ScriptedEndpoint(script) as endpoint:
        env = {**os.environ, **endpoint.env(), "PYTHONPATH": os.getcwd(), "WORKSPACE": str(chain.workspace)}
        process = subprocess.Popen([sys.executable, "-c", PROCESS, str(tmp_path)], env=env)
        try:
            wait_for(lambda: any(r.request.last_tool_results for r in endpoint.requests), what="the answer")
            tree = psutil.Process(process.pid).children(recursive=True)
        finally:
            process.kill()
            process.wait()
        wait_for(
            lambda: not [p for p in tree if p.is_running() and p.status() != "zombie"], what="the tree's end"
        )
        first = endpoint.requests[-1].request.session_id
    assert lineage(chain)["steps"] == {"确认需求": first} and not chain.paths.brief.exists()

    asked: list[str] = []
    again = Model(question="Which colour?")
    channel = chain.channel(timeout_s=30, on_question=lambda q: asked.append(q.text))
    ran = chain.run(again, "in rust, please", channel=channel, clarify_only=True)
    assert ran.ctx["_sessions"] == {"确认需求": first} and ran.ctx["_woke"] == 2
    told = again.said["clarifier"][0]
    assert told.startswith("Go on with the unfinished clarification") and "in rust, please" in told
    assert asked == [], "an answered question was asked again"
    request = ran.requests(first)[-1]
    # The answer comes from the log of questions; the killed tool's own result may have been too late for the books.
    assert "say hello" in request.all_text and "blue" in request.all_text
    assert chain.paths.brief.exists()


def test_a_chain_whose_sessions_are_gone_starts_its_steps_afresh(tmp_path):
    chain = Chain(tmp_path)
    first = chain.run(Model(), "say hello")
    for path in chain.run_dir.glob("sessions.db*"):
        path.unlink()
    model = Model()
    ran = chain.run(model)
    assert ran.rows == ["干活", "干活·判定#1"] and ran.session("干活") != first.session("干活")
    assert "Do this, to the end" in model.said["doer"][0] and "It greets." in model.said["doer"][0]
    assert lineage(chain)["steps"]["干活"] == ran.session("干活")


TERSE = AgentSpec(name="terse", instructions="Say one word.", allowed_tools=["Read"])


def echo(request):
    return f"heard {sum(bool(t) for t in request.user_texts)}"


def test_resume_from_fork_and_continuous_false(tmp_path):
    chain = Chain(tmp_path)
    steps = [
        Step("A", TERSE, "first word"),
        Step("B", TERSE, "second word", resume_from="A"),
        Step("F", TERSE, "branch word", resume_from="A", fork=True),
        Step("N", TERSE, "own word"),
    ]
    one = chain.run_flow(Workflow(steps), echo)
    s = one.ctx["_sessions"]
    assert s["A"] == s["B"] and len(set(s.values())) == 3 and one.rows == ["A", "B", "F", "N"]
    branch = one.requests(s["F"])[-1].all_text
    assert "first word" in branch and "second word" in branch and "own word" not in branch
    assert "branch word" not in "".join(r.all_text for r in one.requests(s["A"]))
    assert "first word" not in one.requests(s["N"])[-1].all_text

    two = chain.run_flow(Workflow(steps), echo)
    t = two.ctx["_sessions"]
    assert (t["A"], t["B"], t["N"]) == (s["A"], s["A"], s["N"]) and t["F"] not in s.values()
    assert two.requests(s["A"])[-1].all_text.count("second word") == 2

    three = chain.run_flow(Workflow(steps[:2], continuous=False), echo)
    u = three.ctx["_sessions"]
    assert u["A"] == u["B"] and u["A"] not in {*s.values(), *t.values()}
    assert lineage(chain)["steps"] == t and lineage(chain)["woke"] == 2
    with pytest.raises(ValueError, match="no session"):
        chain.run_flow(Workflow([Step("B", TERSE, "x", resume_from="Z")]), echo)


def test_a_step_abort_from_a_gate_keeps_what_was_done(tmp_path):
    def gate(result, ctx):
        raise StepAbort(f"seen {result.text}")

    chain = Chain(tmp_path)
    ran = chain.run_flow(Workflow([Step("A", TERSE, "one", gate=gate), Step("B", TERSE, "two")]), echo)
    assert str(ran.aborted) == "seen heard 1" and ran.rows == ["A"] and list(lineage(chain)["steps"]) == ["A"]


def test_two_runs_at_once_one_owns_the_session(tmp_path):
    chain = Chain(tmp_path)
    owner = chain.run_flow(Workflow([Step("A", TERSE, "start")]), echo).ctx["_sessions"]["A"]
    both = threading.Barrier(2, timeout=60)
    released = threading.Event()

    def script(request):
        if request.prompt.startswith("slow") and request.session_id == owner:
            both.wait()
            released.wait(60)
        return echo(request)

    # Two processes share nothing but the directory; here the second is this one.
    with ScriptedEndpoint(script) as endpoint:
        env = {**os.environ, **endpoint.env(), "PYTHONPATH": os.getcwd()}
        code = (
            "import sys, asyncio; from pathlib import Path\n"
            "from tests.e2e.test_chain_continuity import *; from flower.runtime.runtime import Runtime\n"
            "c = Chain(Path(sys.argv[1])); rt = Runtime(workspace=c.workspace, run_dir=c.run_dir)\n"
            "asyncio.run(Workflow([Step('A', TERSE, 'slow one')]).run(rt)); rt.close()\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=env)
        try:
            both.wait()
            rounds = Step(
                "A",
                TERSE,
                "beside",
                retries=1,
                gate=lambda r, c: "#" in r.step,
                on_reject=lambda r, c: "more",
            )
            ran = chain.run_flow(Workflow([rounds]), echo)
        finally:
            released.set()
            assert process.wait(60) == 0
    mine = ran.ctx["_sessions"]["A"]
    assert mine != owner and lineage(chain)["steps"] == {"A": owner} and lineage(chain)["woke"] == 3
    assert "start" in ran.requests(mine)[-1].all_text
    stored = Place(tmp_path, tmp_path).entries(owner)
    assert "slow one" in str(stored) and "beside" not in str(stored)
    assert any("working on a fork" in e.text for e in ran.events if e.kind == "notice")
