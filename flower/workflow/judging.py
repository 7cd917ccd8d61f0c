"""The goal guard: after each round a judge who knows nothing of the work looks at the products."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from flower.agents import roles, rules
from flower.agents.channel import HumanChannel
from flower.books.files import write_atomic
from flower.documents.brief import language
from flower.documents.goal import Goal
from flower.documents.verdict import Verdict
from flower.locale import _, ngettext
from flower.model import Event, GoalNotReached, StepAbort, StepResult, UsageError
from flower.workflow.deriving import GoalFiles, derive_again
from flower.workflow.documents import amend_brief, read
from flower.workflow.footprint import Footprint, take
from flower.workflow.plan import SET_GOAL
from flower.workflow.protocol import Context, Runs
from flower.workflow.step import JUDGE_MARK, Step, plain_name
from flower.workflow.workflow import emit

_STATE = "_judging"

SENT_BACK = """\
The goal is not reached yet. Somebody who looked at the products, and at nothing else, says:

{reason}
{missing}

Put this right, then report again. Only the products count, not the report."""

PERSON_SAYS = """\
A judge called the goal unreachable here:

{reason}
{missing}

The person disagrees{words}. Go on and reach it."""


class Ruling(Enum):
    """What follows from a verdict."""

    PASS = "pass"
    SEND_BACK = "send_back"
    ASK = "ask"
    STUCK = "stuck"


def failed_checks(verdict: Verdict, total: int) -> frozenset[int]:
    """The numbers of the checks that a verdict does not call passed, those it leaves out included."""
    return frozenset(n for n in range(1, total + 1) if verdict.checks.get(n, ("fail", ""))[0] != "pass")


def rule(
    verdict: Verdict, total: int, *, looked: bool, changed: bool, before: frozenset[int] | None
) -> Ruling:
    """What follows from a judge's answer.

    Args:
        verdict: the answer, read.
        total: how many checks the goal has.
        looked: the judge used one of its tools at least once.
        changed: the round changed a file in the workspace.
        before: the checks that failed in the round before; ``None`` in the first.
    """
    verdict = verdict.decide(looked)
    failed = failed_checks(verdict, total)
    if verdict.achieved and total > 0 and not failed:
        return Ruling.PASS
    if verdict.conclusion == "unreachable":
        return Ruling.ASK
    return Ruling.STUCK if not changed and before == failed else Ruling.SEND_BACK


@dataclass
class _Rounds:
    """What the guard knows of one run: never told to a judge."""

    judged: int = 0
    footprint: Footprint | None = None
    failed: frozenset[int] | None = None
    told: str = ""


def with_goal(
    step: Step,
    channel: HumanChannel | None,
    goal_path: str | Path,
    rounds: int = 3,
    can_run: bool = False,
    *,
    brief_path: str | Path | None = None,
    judge: Any = None,
    without: Collection[Path] = (),
) -> Step:
    """The step under a goal: it counts as done only when a judge says that the frozen goal is achieved.

    Every round is judged in a session of its own (``<step>·判定#N``) that is given the goal and nothing else.
    *Achieved* needs a conclusion that says so, a ``pass`` for every check and at least one look by the judge.
    *Not yet* sends the same work session back with what is missing. *Unreachable* asks the person: accept,
    amend the goal, or tell the judge that it is wrong.

    Args:
        step: the work. Its own gate and on_reject must be free.
        channel: whom to ask when the goal is called unreachable; ``None`` = nobody.
        goal_path: the frozen goal.
        rounds: work rounds in all, at least 1; they start over with each run.
        can_run: the judge may run commands, not only read.
        brief_path: the brief that the goal was derived from. With it, words added while the work went on make
            the goal be derived again before it is judged.
        judge: another agent than ``roles.judge(can_run)``.
        without: directories that hold no products, besides run_dir, ``.git`` and ``.flower``.

    Raises:
        UsageError: fewer than one round, or a step with a gate of its own.
        GoalNotReached: (out of the gate, a StepAbort) rounds used up, a round that changed nothing, or
            unreachable and nobody answered.
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise UsageError(_("rounds must be 1 or more, not {value!r}").format(value=rounds))
    if step.gate is not None or step.on_reject is not None:
        raise UsageError(
            _("step {name!r} has a gate of its own; with_goal brings the gate").format(name=step.name)
        )
    guard = _Guard(
        step.name,
        channel,
        Path(goal_path),
        Path(brief_path) if brief_path else None,
        rounds,
        judge or roles.judge(can_run=can_run),
        tuple(without),
    )
    return replace(step, retries=rounds - 1, gate=guard.passes, on_reject=guard.words)


@dataclass(frozen=True)
class _Guard:
    step: str
    channel: HumanChannel | None
    goal_path: Path
    brief_path: Path | None
    rounds: int
    judge: Any
    without: tuple[Path, ...] = field(default=())

    def words(self, result: StepResult, ctx: Context) -> str:
        """What the rejected session is told."""
        return self._state(ctx).told

    async def passes(self, result: StepResult, ctx: Context) -> bool:
        """Judge the products as they are now."""
        runtime: Runs | None = ctx.get("_runtime")
        if runtime is None:
            raise StepAbort(_("there is no runtime in the context, so nobody can judge the goal"))
        state = self._state(ctx)
        while True:
            goal = await self._goal(ctx)
            now = await asyncio.to_thread(self._look, runtime, state.footprint)
            changed = state.footprint is None or not now.same_as(state.footprint)
            verdict, looked = await self._ask_judge(runtime, ctx, goal, state)
            verdict = verdict.decide(looked)
            ruling = rule(verdict, len(goal.checks), looked=looked, changed=changed, before=state.failed)
            state.failed = failed_checks(verdict, len(goal.checks))
            # After the judge: what it built while checking is not the next round's work.
            state.footprint = await asyncio.to_thread(self._look, runtime, now)
            state.told = SENT_BACK.format(reason=verdict.reason, missing=verdict.missing)
            if ruling is Ruling.PASS:
                return True
            if ruling is Ruling.STUCK:
                raise GoalNotReached(
                    _(
                        "goal not reached: the round changed no file and fails the same checks: {missing}"
                    ).format(missing=_one_line(verdict))
                )
            if ruling is Ruling.ASK:
                answer = await self._ask_person(ctx, verdict, state)
                if answer is Ruling.PASS:
                    return True
                if answer is Ruling.ASK:
                    continue
            self._check_rounds(ctx, verdict)
            return False

    def _state(self, ctx: Context) -> _Rounds:
        states: dict[str, _Rounds] = ctx.setdefault(_STATE, {})
        return states.setdefault(self.step, _Rounds())

    async def _goal(self, ctx: Context) -> Goal:
        """The frozen goal; derived again first when the brief has grown since."""
        self._restore(ctx)
        if self.brief_path is not None:
            files = GoalFiles(self.goal_path, self.brief_path)
            if not files.current:
                await derive_again(ctx, files, self.judge)
        goal = Goal.parse(read(self.goal_path))
        if not goal.complete:
            raise StepAbort(_("there is no goal to judge by in {path}").format(path=self.goal_path))
        return goal

    def _restore(self, ctx: Context) -> None:
        """The frozen list counts, not what the work made of it: workers can write where the goal is kept."""
        frozen = ctx.get(SET_GOAL)
        if isinstance(frozen, str) and Goal.parse(frozen).complete and read(self.goal_path) != frozen:
            write_atomic(self.goal_path, frozen)
            line = _("{path} was changed while the work went on; the goal frozen before it counts")
            emit(ctx, Event("notice", line.format(path=self.goal_path), step=self.step))

    def _look(self, runtime: Runs, before: Footprint | None) -> Footprint:
        return take(Path(runtime.workspace), without=(Path(runtime.run_dir), *self.without), before=before)

    async def _ask_judge(
        self, runtime: Runs, ctx: Context, goal: Goal, state: _Rounds
    ) -> tuple[Verdict, bool]:
        """A fresh session, the goal, nothing else."""
        state.judged += 1
        name = f"{self.step}{JUDGE_MARK}{state.judged}"
        looks: list[str] = []

        def hear(event: Event) -> None:
            if event.kind == "tool_use" and not event.agent_id and event.tool in self.judge.allowed_tools:
                looks.append(event.tool)
            emit(ctx, event)

        shown = replace(goal, brief_digest="").render(language(read(self.goal_path)))
        emit(
            ctx, Event("step", step=name, data={"resumed": False, "woke": ctx.get("_woke", 1), "context": 0})
        )
        result = await runtime.run(
            self.judge,
            rules.text("judge_goal").replace("{goal}", shown.strip()),
            step_name=name,
            on_event=hear,
        )
        row = result.as_row(runtime.run_id)
        emit(ctx, Event("step_end", step=name, session_id=result.session_id, data=row))
        if not result.ok:
            raise StepAbort(_("the judge could not finish: {error}").format(error=result.error))
        verdict = Verdict.parse(result.text, goal.checks)
        emit(ctx, _verdict_event(verdict.decide(bool(looks)), name, result, state))
        return verdict, bool(looks)

    async def _ask_person(self, ctx: Context, verdict: Verdict, state: _Rounds) -> Ruling:
        """What to do about a goal called unreachable: pass, send back, or judge again (ASK)."""
        accept, amend, wrong = (
            _("accept it as it is"),
            _("amend the goal"),
            _("the judge is wrong, go on"),
        )
        question = _("The judge says that the goal cannot be reached here: {why}. What now?").format(
            why=_one_line(verdict)
        )
        answer = await self.channel.confirm(question, [accept, amend, wrong]) if self.channel else None
        if answer is None or self.channel is None:
            raise GoalNotReached(
                _("goal unreachable, and nobody to ask: {missing}").format(missing=_one_line(verdict))
            )
        if answer == accept:
            emit(ctx, Event("notice", _("You accepted the result as it is."), step=self.step))
            return Ruling.PASS
        if answer == wrong:
            state.told = PERSON_SAYS.format(reason=verdict.reason, missing=verdict.missing, words="")
            return Ruling.SEND_BACK
        # Anything but an option is the person's own words for the change.
        words = answer if answer != amend else await self.channel.confirm(_("What is to change?"), [])
        if not words or self.brief_path is None:
            raise GoalNotReached(
                _("the goal was not amended; edit {path} and run again").format(path=self.goal_path)
            )
        amend_brief(self.brief_path, words)
        return Ruling.ASK

    def _check_rounds(self, ctx: Context, verdict: Verdict) -> None:
        """Say at once that this was the last round, with the status that belongs to it."""
        done = sum(plain_name(n) == self.step and JUDGE_MARK not in n for n in ctx.get("_results", {}))
        if done >= self.rounds:
            text = ngettext(
                "goal not reached in {n} round: {missing}",
                "goal not reached in {n} rounds: {missing}",
                self.rounds,
            )
            raise GoalNotReached(text.format(n=self.rounds, missing=_one_line(verdict)))


def _verdict_event(verdict: Verdict, name: str, result: StepResult, state: _Rounds) -> Event:
    return Event(
        "verdict",
        verdict.reason or verdict.problem,
        step=name,
        session_id=result.session_id,
        data={
            "round": state.judged,
            "conclusion": verdict.conclusion,
            "checks": {str(n): list(line) for n, line in sorted(verdict.checks.items())},
            "missing": verdict.missing,
        },
    )


def _one_line(verdict: Verdict) -> str:
    return "; ".join(line.strip() for line in verdict.missing.splitlines() if line.strip()) or verdict.reason
