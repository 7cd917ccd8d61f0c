"""The goal is derived from the brief: once at the start, and again whenever the brief has grown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flower.agents import rules
from flower.books.files import write_atomic
from flower.documents.brief import brief_digest, language
from flower.documents.goal import Goal
from flower.locale import _, current, ngettext
from flower.model import Event, StepAbort, StepResult
from flower.workflow.documents import read
from flower.workflow.plan import SET_GOAL, goal_is_current
from flower.workflow.protocol import Context, Runs
from flower.workflow.step import JUDGE_MARK, attempt_name, plain_name
from flower.workflow.told import SET_GOAL_AGAIN
from flower.workflow.workflow import emit, record, remembering

_SOURCE = "_goal_source"


@dataclass(frozen=True)
class GoalFiles:
    """Where the goal is frozen, and the brief it is derived from."""

    goal: Path
    brief: Path

    @property
    def current(self) -> bool:
        """Whether the goal is complete and was derived from the brief as it stands now."""
        return goal_is_current(read(self.brief), read(self.goal))


def goal_prompt(files: GoalFiles, ctx: Context) -> str:
    """What the goal setter is told; notes in the context which text of the brief it was."""
    ctx[_SOURCE] = source = read(files.brief)
    return rules.text("set_goal").replace("{brief}", source.strip())


def freeze_goal(files: GoalFiles, reply: str, ctx: Context) -> str:
    """Write the goal out of a reply and announce it; returns what is wrong with it, if anything."""
    goal = Goal.parse(reply)
    if not goal.complete:
        return "it has no statement" if goal.checks else "it has no numbered checks"
    source: str = ctx[_SOURCE]
    # The digest of what the model read, not of what the file holds by now: words may have come in meanwhile.
    goal = replace(goal, brief_digest=brief_digest(source))
    begun = read(files.goal) or source
    lang = language(begun) if begun.strip() else current()
    files.goal.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(files.goal, goal.render(lang))
    announce(goal, ctx)
    return ""


def announce(goal: Goal, ctx: Context) -> None:
    """Tell the person how many checks there are and which of them cannot be verified here."""
    count = len(goal.checks)
    emit(
        ctx,
        Event(
            "notice", ngettext("The goal has {n} check.", "The goal has {n} checks.", count).format(n=count)
        ),
    )
    for number, check in goal.unverifiable.items():
        line = _("Check {n} cannot be verified here: {check}").format(n=number, check=check.text)
        emit(ctx, Event("notice", f"{line} ({check.why})" if check.why else line))


async def derive_again(ctx: Context, files: GoalFiles, spec: Any, *, tries: int = 3) -> None:
    """Derive the goal anew in the middle of a run, in the session that set it, and freeze it.

    Raises:
        StepAbort: no usable goal came of it. The work must not be judged by a list that is out of date.
    """
    runtime: Runs = ctx["_runtime"]
    words, problem = goal_prompt(files, ctx), ""
    for _try in range(tries):
        done = sum(plain_name(name) == SET_GOAL and JUDGE_MARK not in name for name in ctx["_results"])
        name = attempt_name(SET_GOAL, done + 1, rejected=True)
        emit(ctx, Event("step", step=name))
        with remembering(ctx, SET_GOAL):
            result = await runtime.run(
                spec,
                words,
                step_name=name,
                resume=_goal_session(ctx),
                on_event=ctx["_on_event"],
            )
        record(ctx, SET_GOAL, name, result)
        problem = freeze_goal(files, result.text, ctx) if result.ok else result.error
        if not problem:
            ctx[SET_GOAL] = read(files.goal)
            return
        words = SET_GOAL_AGAIN.format(problem=problem) if result.ok else goal_prompt(files, ctx)
    raise StepAbort(_("the goal could not be derived again: {problem}").format(problem=problem))


def _goal_session(ctx: Context) -> str | None:
    """The session that set the goal, in this run or an earlier one."""
    lineage = ctx["_lineage"]
    session: str | None = ctx["_sessions"].get(SET_GOAL) or (lineage.steps.get(SET_GOAL) if lineage else None)
    return session if session and ctx["_runtime"].has_session(session) else None


def check_reply(files: GoalFiles, result: StepResult, ctx: Context) -> bool:
    """A goal step's gate: freezes a usable goal, says what is wrong with another."""
    ctx["_goal_problem"] = problem = freeze_goal(files, result.text, ctx)
    if problem:
        ctx["_why"] = _("no usable goal: {problem}").format(problem=problem)
        emit(ctx, Event("notice", ctx["_why"], step=result.step, session_id=result.session_id))
    return not problem
