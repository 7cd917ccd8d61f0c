"""The second step: turn the brief into a goal with checks, and put the work under it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flower.agents import roles
from flower.model import StepResult
from flower.workflow.deriving import GoalFiles, check_reply, goal_prompt
from flower.workflow.documents import read
from flower.workflow.judging import with_goal
from flower.workflow.plan import SET_GOAL
from flower.workflow.protocol import Context
from flower.workflow.step import Step, When
from flower.workflow.told import SET_GOAL_AGAIN

__all__ = ["goal_step", "with_goal"]


def goal_step(
    brief_path: str | Path,
    goal_path: str | Path,
    *,
    can_run: bool = False,
    spec: Any = None,
    retries: int = 2,
    when: When | None = None,
) -> Step:
    """The step ``设定目标``: derive the goal from the brief and freeze it with the digest of that brief.

    What nobody can verify in this environment is announced then, before the work costs money. A continued
    session is told the whole brief again: it is the list that has to be derived anew.

    Args:
        brief_path: the frozen brief.
        goal_path: where the goal is frozen; the directory is made.
        can_run: what the judge of this goal may do; the goal setter is the same role.
        spec: another agent than ``roles.judge(can_run)``.
        retries: how often a reply without statement or checks is sent back.
        when: whether the step runs; by default unless the goal is complete and derived from this very brief.
    """
    files = GoalFiles(Path(goal_path), Path(brief_path))

    def again(result: StepResult, ctx: Context) -> str:
        return SET_GOAL_AGAIN.format(problem=ctx["_goal_problem"])

    return Step(
        SET_GOAL,
        spec or roles.judge(can_run=can_run),
        lambda ctx: goal_prompt(files, ctx),
        retries=retries,
        gate=lambda result, ctx: check_reply(files, result, ctx),
        when=when or (lambda ctx: not files.current),
        on_reject=again,
        reduce=lambda result, ctx: read(files.goal),
    )
