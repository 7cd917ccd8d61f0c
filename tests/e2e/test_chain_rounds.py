"""The chain with the real CLI: rounds of work, and a judge that nothing but a real pass gets by."""

from __future__ import annotations

import json
import threading

import pytest

from flower.documents.brief import brief_digest
from flower.documents.goal import Goal
from flower.model import GoalNotReached, StepAbort
from flower.testing import HttpError, Reply
from flower.workflow.starter import starter_flow
from tests.e2e.chain_model import ACHIEVED, BRIEF, CANNOT, DOER, GOAL, NOT_YET, Chain, Model


def seed(chain: Chain) -> None:
    """A directory whose brief and goal are frozen already."""
    chain.paths.notes.mkdir(parents=True)
    chain.paths.brief.write_text(BRIEF)
    goal = Goal.parse(GOAL)
    chain.paths.goal.write_text(Goal(goal.statement, goal.checks, brief_digest(BRIEF)).render())


def test_the_whole_chain_rejected_once_then_passed(tmp_path):
    chain, model = Chain(tmp_path), Model(verdicts=(NOT_YET, ACHIEVED))
    ran = chain.run(model, "say hello", rounds=2)  # success in the last round is success
    assert ran.aborted is None and "_failed_at" not in ran.ctx
    assert ran.rows == ["确认需求", "设定目标", "干活", "干活·判定#1", "干活#round2", "干活·判定#2"]
    assert "A file that says hello." in chain.paths.brief.read_text()
    assert Goal.parse(chain.paths.goal.read_text()).derived_from(chain.paths.brief.read_text())
    assert ran.session("干活") == ran.session("干活#round2")
    judges = {ran.session("干活·判定#1"), ran.session("干活·判定#2")}
    lineage = json.loads((chain.run_dir / "lineage.json").read_text())
    assert len(judges) == 2 and not judges & set(lineage["steps"].values())
    assert set(lineage["steps"]) == {"确认需求", "设定目标", "干活"}
    # The sent-back session hears what is missing; the judge hears the goal and nothing of the work.
    assert "it does not greet" in model.said["doer"][1] and "A file that says hello." in model.said["doer"][0]
    second = ran.requests(ran.session("干活·判定#2"))
    told = "\n".join(r.all_text for r in second)
    for secret in ("round", "greeting is written", "does not greet", "判定", str(brief_digest(BRIEF))):
        assert secret not in told
    assert "the file is there" in second[0].prompt


@pytest.mark.parametrize(
    ("verdict", "looks"),
    [
        ("true", True),
        ("DONE", False),
        (ACHIEVED, False),
        ("Everything works and the goal is achieved, well done.", True),
        ("Conclusion: achieved\nReason: fine\n1. pass: it is there", True),
        ("Conclusion: achieved\nReason: fine\n1. pass: there\n2. fail: no", True),
    ],
)
def test_a_judge_that_did_not_judge_never_passes(tmp_path, verdict, looks):
    chain = Chain(tmp_path)
    seed(chain)
    ran = chain.run(Model(verdicts=(verdict,), looks=looks), rounds=1)
    assert isinstance(ran.aborted, GoalNotReached) and ran.aborted.exit_code == 3
    assert "干活" not in ran.ctx and ran.rows == ["干活", "干活·判定#1"]


def test_a_round_that_changes_nothing_ends_the_run(tmp_path):
    chain = Chain(tmp_path)
    seed(chain)
    ran = chain.run(Model(verdicts=(NOT_YET,), writes=False), rounds=5)
    assert isinstance(ran.aborted, GoalNotReached) and "changed no file" in str(ran.aborted)
    assert ran.rows == ["干活", "干活·判定#1", "干活#round2", "干活·判定#2"]


def test_one_round_is_one_round(tmp_path):
    chain = Chain(tmp_path)
    seed(chain)
    ran = chain.run(Model(verdicts=(NOT_YET,)), rounds=1)
    assert ran.rows == ["干活", "干活·判定#1"] and ran.aborted.exit_code == 3
    assert "it does not greet" in str(ran.aborted)


def test_unreachable_with_nobody_there(tmp_path):
    chain = Chain(tmp_path)
    seed(chain)
    ran = chain.run(Model(verdicts=(CANNOT,)))
    assert isinstance(ran.aborted, StepAbort) and ran.aborted.exit_code == 3
    assert "nobody to ask" in str(ran.aborted) and ran.rows == ["干活", "干活·判定#1"]


def answering(chain: Chain, *answers: str):
    """A channel whose person answers in order, from another thread."""
    left = list(answers)

    def on_question(question):
        threading.Thread(target=lambda: channel.answer(question.id, left.pop(0))).start()

    channel = chain.channel(timeout_s=30, on_question=on_question)
    return channel


def test_unreachable_and_accepted(tmp_path):
    chain = Chain(tmp_path)
    seed(chain)
    ran = chain.run(Model(verdicts=(CANNOT,)), channel=answering(chain, "1"))
    assert ran.aborted is None and ran.ctx["干活"]


def test_unreachable_and_the_goal_amended(tmp_path):
    chain = Chain(tmp_path)
    seed(chain)
    model = Model(verdicts=(CANNOT, ACHIEVED))
    ran = chain.run(model, channel=answering(chain, "2", "looking is enough"))
    assert ran.aborted is None
    assert ran.rows == ["干活", "干活·判定#1", "设定目标", "干活·判定#2"]
    assert (
        "looking is enough" in chain.paths.brief.read_text() and "looking is enough" in model.said["judge"][1]
    )
    assert Goal.parse(chain.paths.goal.read_text()).derived_from(chain.paths.brief.read_text())


def test_unreachable_and_the_judge_is_wrong(tmp_path):
    chain = Chain(tmp_path)
    seed(chain)
    model = Model(verdicts=(CANNOT, ACHIEVED))
    ran = chain.run(model, channel=answering(chain, "3"))
    assert ran.aborted is None and "The person disagrees" in model.said["doer"][1]


def test_words_said_while_the_work_goes_on_are_judged(tmp_path):
    chain = Chain(tmp_path)
    seed(chain)
    channel = chain.channel()
    model = Model(verdicts=(NOT_YET, ACHIEVED))

    def script(request):
        if "Judge the goal." in request.all_text and "bow" not in chain.paths.brief.read_text():
            channel.say("and bow")  # while the first judge is at work: the second must know
        return model(request)

    flow = starter_flow(channel=channel, workspace=chain.workspace, coordinator=DOER)
    ran = chain.run_flow(flow, script, channel=channel)
    assert ran.aborted is None
    assert ran.rows == ["干活", "干活·判定#1", "干活#round2", "设定目标", "干活·判定#2"]
    assert any("Set the goal." in said and "and bow" in said for said in model.said["judge"])


def test_a_worker_cannot_make_its_own_goal_easier(tmp_path):
    chain = Chain(tmp_path)
    seed(chain)
    frozen = chain.paths.goal.read_text()
    model = Model(verdicts=(ACHIEVED,))

    def script(request):
        if "Judge" not in request.all_text:
            chain.paths.goal.write_text("## Goal\nNothing.\n\n## Checks\n1. true\n")
        return model(request)

    channel = chain.channel()
    ran = chain.run_flow(
        starter_flow(channel=channel, workspace=chain.workspace, coordinator=DOER), script, channel=channel
    )
    assert ran.aborted is None and chain.paths.goal.read_text() == frozen
    assert "it greets" in model.said["judge"][0]


def test_a_judge_that_fails_is_no_pass(tmp_path):
    chain, model = Chain(tmp_path), Model()
    seed(chain)

    def script(request):
        if "Judge the goal." in request.all_text:
            return Reply(error=HttpError(400, message="no judging today"))
        return model(request)

    flow = starter_flow(channel=chain.channel(), workspace=chain.workspace, coordinator=DOER)
    ran = chain.run_flow(flow, script)
    assert isinstance(ran.aborted, StepAbort) and "the judge could not finish" in str(ran.aborted)
    assert "干活" not in ran.ctx


def test_a_brief_that_stays_incomplete_fails_clearly(tmp_path):
    chain = Chain(tmp_path)
    ran = chain.run(Model(briefs=("## Goal\nhello\n",)), "say hello")
    assert ran.ctx["_failed_at"] == "确认需求" and not chain.paths.brief.exists()
    assert "Boundaries" in ran.ctx["_why"]
    assert ran.rows == ["确认需求", "确认需求#round2", "确认需求#round3"]


def test_an_incomplete_brief_is_sent_back_in_the_same_session(tmp_path):
    chain = Chain(tmp_path)
    model = Model(briefs=("## Goal\nhello\n", BRIEF))
    ran = chain.run(model, "say hello", clarify_only=True)
    assert (
        ran.rows == ["确认需求", "确认需求#round2"] and ran.ctx["确认需求"] == chain.paths.brief.read_text()
    )
    assert "missing or empty: Acceptance, Boundaries" in model.said["clarifier"][1]


def test_checks_that_nobody_can_verify_are_announced_before_the_work(tmp_path):
    chain = Chain(tmp_path)
    goal = GOAL + "3. it sounds nice [not verifiable here: no loudspeaker]\n"
    ran = chain.run(Model(goals=("no list", goal), verdicts=(CANNOT,)), "say hello")
    at = next(n for n, e in enumerate(ran.events) if "cannot be verified here" in e.text)
    work = next(n for n, e in enumerate(ran.events) if e.kind == "step" and e.step == "干活")
    assert at < work and "no loudspeaker" in ran.events[at].text
    assert ran.rows[:3] == ["确认需求", "设定目标", "设定目标#round2"]
