"""What a run of the starter chain goes on with and what each step is told: one pure function.

``plan_wake`` looks at values only: what the books hold and what the person typed. ``starter.read_books``
collects them, ``told.words_for`` turns each decision into words, ``starter.starter_flow`` acts on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Literal

from flower.documents.brief import Brief
from flower.documents.goal import Goal
from flower.workflow.choice import choose_session

CLARIFY = "确认需求"
SET_GOAL = "设定目标"
WORK = "干活"
"""The names of the chain's steps. They are keys in every lineage.json there is and never change."""

Action = Literal["skip", "new", "continue"]

Told = Literal[
    "nothing",  # the step is skipped
    "request",  # the whole request, to a clarifier who has heard nothing
    "clarify_on",  # go on with the unfinished clarification
    "clarify_on_with_words",  # the same, and here is what the person typed now
    "set_goal",  # derive the goal from the brief, in full
    "work",  # brief and goal, in full
    "work_with_words",  # the same, and what was typed at this wake
    "words",  # only what was typed at this wake
    "go_on",  # carry on
    "go_on_amended",  # carry on; the brief has grown since this session last heard of it
]


@dataclass(frozen=True)
class WakeBooks:
    """What a directory remembers.

    Attributes:
        brief, goal: the texts of the two documents, empty where there is none.
        steps: the lineage, step → session; empty for a foreign or a damaged one.
        stored: the sessions of it that the database really holds.
        contexts: session → tokens in its context, where known.
        woke: how many times this directory has been woken so far.
        new: the person asked for something new; the rest is archived first.
        with_goal: False leaves the goal and the judge out.
        clarify_only: stop once the brief is frozen.
        request: what an earlier run was asked; counts where no session ever heard of it.
    """

    brief: str = ""
    goal: str = ""
    steps: Mapping[str, str] = field(default_factory=dict)
    stored: Set[str] = frozenset()
    contexts: Mapping[str, int] = field(default_factory=dict)
    woke: int = 0
    new: bool = False
    with_goal: bool = True
    clarify_only: bool = False
    request: str = ""


@dataclass(frozen=True)
class StepPlan:
    """One step: whether it runs, the session it continues (``None`` = a new one) and what it is told."""

    name: str
    action: Action
    told: Told
    session: str | None = None


@dataclass(frozen=True)
class Banner:
    """The facts of the line that a waking run begins with."""

    clarifying: bool
    checks: int
    context: int
    wake: int


@dataclass(frozen=True)
class WakePlan:
    """The whole decision.

    Attributes:
        steps: the chain's steps in order; those that do not belong to this run are not there.
        amend: the words typed are appended to the brief before anything starts.
        derive_goal: the goal is derived, for the first time or again.
        archive: lineage, brief and goal are moved to the archive before anything starts.
        needs_request: there is nothing to carry on and nothing was typed.
        banner: what to announce; ``None`` when nothing is picked up.
    """

    steps: tuple[StepPlan, ...]
    amend: bool
    derive_goal: bool
    archive: bool
    needs_request: bool
    banner: Banner | None

    def step(self, name: str) -> StepPlan | None:
        """The plan of one step, ``None`` when it is no part of this run."""
        return next((s for s in self.steps if s.name == name), None)


def plan_wake(books: WakeBooks, words: str | None) -> WakePlan:
    """Decide what this run goes on with.

    Args:
        books: what the directory remembers.
        words: what the person typed; ``None`` or blank = nothing.
    """
    said = bool(words and words.strip())
    if books.new:
        kept = WakeBooks(with_goal=books.with_goal, clarify_only=books.clarify_only)
        return _plan(kept, said, archive=True)
    return _plan(books, said, archive=False)


def _plan(books: WakeBooks, said: bool, *, archive: bool) -> WakePlan:
    confirmed = brief_is_complete(books.brief)
    amend = confirmed and said
    current = confirmed and not amend and goal_is_current(books.brief, books.goal)
    derive = books.with_goal and not books.clarify_only and not current
    steps = [_clarify(books, confirmed, said)]
    if books.with_goal and not books.clarify_only:
        steps.append(_set_goal(books, current))
    if not books.clarify_only:
        steps.append(_work(books, amend=amend, unheard=derive and bool(books.goal.strip())))
    clarifying = not confirmed and steps[0].action == "continue"
    return WakePlan(
        steps=tuple(steps),
        amend=amend,
        derive_goal=derive,
        archive=archive,
        needs_request=not (said or confirmed or clarifying or books.request.strip()),
        banner=_banner(books, clarifying) if confirmed or clarifying else None,
    )


def _clarify(books: WakeBooks, confirmed: bool, said: bool) -> StepPlan:
    if confirmed:
        return StepPlan(CLARIFY, "skip", "nothing")
    session = _session(books, CLARIFY)
    if session is None:
        return StepPlan(CLARIFY, "new", "request")
    return StepPlan(CLARIFY, "continue", "clarify_on_with_words" if said else "clarify_on", session)


def _set_goal(books: WakeBooks, current: bool) -> StepPlan:
    if current:
        return StepPlan(SET_GOAL, "skip", "nothing")
    session = _session(books, SET_GOAL)
    return StepPlan(SET_GOAL, "continue" if session else "new", "set_goal", session)


def _work(books: WakeBooks, *, amend: bool, unheard: bool) -> StepPlan:
    session = _session(books, WORK)
    if session is None:
        return StepPlan(WORK, "new", "work_with_words" if amend else "work")
    if amend:
        return StepPlan(WORK, "continue", "words", session)
    # A goal older than the brief: an earlier run took words down and ended before the work step heard them.
    return StepPlan(WORK, "continue", "go_on_amended" if unheard else "go_on", session)


def _session(books: WakeBooks, name: str) -> str | None:
    return choose_session(
        name, None, False, sessions={}, lineage=books.steps, exists=books.stored.__contains__
    ).session


def _banner(books: WakeBooks, clarifying: bool) -> Banner:
    work = _session(books, WORK)
    return Banner(
        clarifying=clarifying,
        checks=len(Goal.parse(books.goal).checks) if books.goal.strip() and not clarifying else 0,
        context=books.contexts.get(work, 0) if work and not clarifying else 0,
        wake=books.woke + 1,
    )


def brief_is_complete(text: str) -> bool:
    """Whether a brief has all four sections."""
    return bool(text.strip()) and Brief.parse(text).complete


def goal_is_current(brief: str, goal: str) -> bool:
    """Whether a goal is complete and was derived from exactly this brief."""
    if not goal.strip():
        return False
    parsed = Goal.parse(goal)
    return parsed.complete and parsed.derived_from(brief)
