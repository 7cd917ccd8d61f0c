"""The chain behind ``flower "…"``: clarify the request, set a goal, work until a judge calls it reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flower.agents import roles
from flower.agents.channel import HumanChannel
from flower.agents.workbench import DIRECTORY, Workbench, isolated_root
from flower.books.files import write_atomic
from flower.books.lineage import Lineage
from flower.books.wake import REQUEST
from flower.locale import _, current
from flower.model import UsageError
from flower.workflow.clarify import clarify_step
from flower.workflow.documents import amend_brief, read
from flower.workflow.goal import goal_step, with_goal
from flower.workflow.plan import CLARIFY, SET_GOAL, WORK, Told, WakeBooks, WakePlan, plan_wake
from flower.workflow.protocol import Context, Runs
from flower.workflow.step import Step
from flower.workflow.told import words_for
from flower.workflow.workflow import Workflow


@dataclass(frozen=True)
class ChainPaths:
    """Where the chain keeps its documents.

    Attributes:
        root: the workbench: ``<workspace>/.flower``, or ``.flower-<name>`` beside it with ``isolate``.
        brief, goal, asks: ``需求.md``, ``目标.md`` and ``问答记录.md`` in its ``notes/``.
    """

    root: Path

    @classmethod
    def of(cls, workspace: str | Path, *, isolate: bool = False) -> ChainPaths:
        """The places that belong to a workspace."""
        home = Path(workspace).resolve()
        return cls(isolated_root(home) if isolate else home / DIRECTORY)

    @property
    def notes(self) -> Path:
        return self.root / "notes"

    @property
    def archive(self) -> Path:
        return self.notes / "archive"

    @property
    def brief(self) -> Path:
        return self.notes / "需求.md"

    @property
    def goal(self) -> Path:
        return self.notes / "目标.md"

    @property
    def request(self) -> Path:
        """What was typed first, kept from the moment before it is sent until it is archived."""
        return self.notes / REQUEST

    @property
    def asks(self) -> Path:
        return self.notes / "问答记录.md"


def read_books(
    paths: ChainPaths,
    *,
    steps: Mapping[str, str],
    woke: int,
    exists: Callable[[str], bool],
    context_of: Callable[[str], int] = lambda session: 0,
    with_goal: bool = True,
    clarify_only: bool = False,
) -> WakeBooks:
    """Collect what ``plan_wake`` decides upon; writes nothing.

    Args:
        paths: where the documents are.
        steps, woke: the lineage, as ``wake_state`` or ``Lineage`` gives them.
        exists, context_of: a runtime's ``has_session`` and ``context_of``.
        with_goal, clarify_only: what kind of run it is to be.
    """
    stored = {session for session in steps.values() if exists(session)}
    return WakeBooks(
        brief=read(paths.brief),
        goal=read(paths.goal),
        steps=dict(steps),
        stored=stored,
        contexts={session: context_of(session) for session in stored},
        woke=woke,
        with_goal=with_goal,
        clarify_only=clarify_only,
        request=read(paths.request),
    )


def starter_flow(
    ask: str | None = None,
    *,
    channel: HumanChannel | None = None,
    workspace: str | Path = ".",
    rounds: int = 3,
    goal: bool = True,
    judge_can_run: bool = False,
    isolate: bool = False,
    clarify_only: bool = False,
    coordinator: Any = None,
) -> Workflow:
    """``确认需求`` → ``设定目标`` → ``干活``, continuing what an earlier run in the workspace began.

    What is frozen is skipped and still found in the context. In a directory with a brief, ``ask`` is an
    addition: it goes into the brief and to the work step, and the goal is derived again. Without ``ask`` the
    work is carried on.

    Args:
        ask: what the person wants, or adds; ``None`` or blank = carry on.
        channel: how to reach the person; give the same one to the runtime.
        workspace: the runtime's workspace.
        rounds: work rounds at most, at least 1.
        goal: False works without goal and judge.
        judge_can_run: the judge may run commands.
        isolate: the runtime gives each worker a worktree; the workbench moves out of the repository.
        clarify_only: end once the brief is frozen.
        coordinator: another agent than ``roles.coordinator()`` for the work.

    Raises:
        UsageError: rounds below 1; out of ``run``: nothing to carry on and no ``ask``.
    """
    chain = _Chain(
        ask=(ask or "").strip(),
        paths=ChainPaths.of(workspace, isolate=isolate),
        with_goal=goal,
        clarify_only=clarify_only,
    )
    work = Step(
        WORK,
        coordinator or roles.coordinator(),
        lambda ctx: chain.words(ctx, "work_with_words" if chain.plan(ctx).amend else "work"),
        resume_prompt=lambda ctx: chain.words_continued(ctx, WORK),
    )
    steps = [
        clarify_step(
            channel,
            chain.paths.brief,
            prompt=lambda ctx: chain.words(ctx, "request"),
            resume_prompt=lambda ctx: chain.words_continued(ctx, CLARIFY),
        )
    ]
    judged = with_goal(
        work,
        channel,
        chain.paths.goal,
        rounds,
        judge_can_run,
        brief_path=chain.paths.brief,
        without=(chain.paths.root,),
    )
    if goal and not clarify_only:
        steps.append(goal_step(chain.paths.brief, chain.paths.goal, can_run=judge_can_run))
    if not clarify_only:
        steps.append(judged if goal else work)
    bench = Workbench(chain.paths.root, workspace=workspace)
    return Workflow(steps, name="starter", channel=channel, workbench=bench, opening=chain.open)


@dataclass(frozen=True)
class _Chain:
    ask: str
    paths: ChainPaths
    with_goal: bool
    clarify_only: bool

    def open(self, ctx: Context) -> None:
        """Decide, take down what was said, and put what is frozen into the context."""
        runtime: Runs = ctx["_runtime"]
        lineage: Lineage | None = ctx["_lineage"]
        books = read_books(
            self.paths,
            steps=lineage.steps if lineage else {},
            woke=ctx["_woke"] - 1,
            exists=runtime.has_session,
            context_of=runtime.context_of,
            with_goal=self.with_goal,
            clarify_only=self.clarify_only,
        )
        plan = plan_wake(books, self.ask)
        if plan.needs_request:
            raise UsageError(_("there is nothing to carry on here; say what to do"))
        ctx["_plan"] = plan
        ctx["_request"] = self._take_down(plan)
        if plan.amend:
            amend_brief(self.paths.brief, self.ask)
        if (clarify := plan.step(CLARIFY)) and clarify.action == "skip":
            ctx[CLARIFY] = read(self.paths.brief)
        if (set_goal := plan.step(SET_GOAL)) and set_goal.action == "skip":
            ctx[SET_GOAL] = read(self.paths.goal)

    def _take_down(self, plan: WakePlan) -> str:
        """The request that a new clarification is given. A kill before its session exists must not lose it."""
        clarify = plan.step(CLARIFY)
        if clarify is None or clarify.action != "new":
            return self.ask
        request = "\n\n".join(
            dict.fromkeys(part for part in (read(self.paths.request).strip(), self.ask) if part)
        )
        write_atomic(self.paths.request, request + "\n")
        return request

    def plan(self, ctx: Context) -> WakePlan:
        plan: WakePlan = ctx["_plan"]
        return plan

    def words_continued(self, ctx: Context, name: str) -> str:
        """What a session continued from an earlier process is told."""
        step = self.plan(ctx).step(name)
        assert step is not None, "only steps of the plan are run"
        return self.words(ctx, step.told)

    def words(self, ctx: Context, told: Told) -> str:
        """The words of a decision, with the documents as they are now."""
        return words_for(
            told,
            request=ctx["_request"],
            words=self.ask,
            brief=read(self.paths.brief),
            goal=read(self.paths.goal) if self.with_goal else "",
            brief_path=self._shown(ctx, self.paths.brief),
            goal_path=self._shown(ctx, self.paths.goal),
            language=current(),
        )

    def _shown(self, ctx: Context, path: Path) -> str:
        """A path as the agent sees it: relative to its directory, absolute outside of it."""
        workspace = Path(ctx["_runtime"].workspace).resolve()
        return str(path.relative_to(workspace)) if path.is_relative_to(workspace) else str(path)
