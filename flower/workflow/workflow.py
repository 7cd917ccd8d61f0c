"""Runs steps one after another and remembers, across processes, which session each of them used."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from flower.books.lineage import Lineage
from flower.books.locks import is_held
from flower.locale import _
from flower.model import Event, StepAbort, StepResult, UsageError
from flower.workflow.choice import Choice, choose_session
from flower.workflow.protocol import Context, OnEvent, Runs
from flower.workflow.step import Step, attempt_name, say

T = TypeVar("T")


@dataclass(frozen=True)
class StepInfo:
    """What a header says about an attempt that is about to begin.

    Attributes:
        name: the manifest's name of the attempt.
        index, total: the step's place in the workflow, counted from 1, and the number of steps.
        resumed: the session existed before: continued from an earlier process, or sent back in this one.
        woke: which wake of this directory it is, 1 for the first run.
        context: tokens in the session's context so far, 0 for a new or an unknown one.
        session: the session it starts from, ``None`` for a new one.
    """

    name: str
    index: int
    total: int
    resumed: bool
    woke: int
    context: int
    session: str | None


OnStep = Callable[[Step, StepInfo], None]


class Workflow:
    """Steps in order, with one context that they fill.

    Args:
        steps: what to do, in order; the names must differ.
        name: for people.
        context: values the steps find in their context from the beginning.
        channel: the ``HumanChannel`` through which agents and gates reach the person.
        workbench: a ``Workbench``; it is created before the first step.
        continuous: go on with the sessions that earlier processes used for the same step names in the same
            workspace and run_dir. ``False`` neither reads nor writes that memory.
        opening: called once with the context, after the wake is counted and before the first step.

    Raises:
        UsageError: (a ValueError) no steps, or two with one name.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        name: str = "workflow",
        context: Mapping[str, Any] | None = None,
        channel: Any = None,
        workbench: Any = None,
        continuous: bool = True,
        opening: Callable[[Context], None] | None = None,
    ) -> None:
        self.steps = list(steps)
        self.name = name
        self.context = dict(context or {})
        self.channel = channel
        self.workbench = workbench
        self.continuous = continuous
        self.opening = opening
        if not self.steps:
            raise UsageError(_("a workflow needs at least one step"))
        names = [step.name for step in self.steps]
        if doubled := sorted({n for n in names if names.count(n) > 1}):
            raise UsageError(_("two steps are called {name!r}; names must differ").format(name=doubled[0]))

    async def run(
        self, runtime: Runs, on_event: OnEvent | None = None, on_step: OnStep | None = None
    ) -> Context:
        """Run the steps and return the context.

        ``ctx[step name]`` is what each step left. flower's own keys: ``_runtime``, ``_on_event``,
        ``_channel``, ``_sessions`` (step → session), ``_results`` (attempt → StepResult), ``_lineage`` (None
        unless continuous), ``_woke``, ``_failed_at`` (the step that ended the workflow) and ``_aborted`` (the
        StepAbort that did).

        Raises:
            UsageError: a ``resume_from`` that has no session anywhere.
            FlowerError: what the runtime raises: budget, credentials, interrupts. Only StepAbort is caught.
        """
        ctx = self._begin(runtime, on_event)
        try:
            if self.opening is not None:
                self.opening(ctx)
            self._check_sources(ctx)
            for index, step in enumerate(self.steps, 1):
                if step.when is not None and not await settled(step.when(ctx)):
                    continue
                if not await _Turn(step, index, len(self.steps), ctx, on_step).take():
                    ctx["_failed_at"] = step.name
                    break
        except StepAbort as abort:
            ctx["_aborted"] = abort
        return ctx

    def _begin(self, runtime: Runs, on_event: OnEvent | None) -> Context:
        notice = teller(on_event)
        if self.workbench is not None:
            self.workbench.create()
        for name in ("workbench", "channel"):
            if getattr(self, name) is not None and getattr(runtime, name, self) is None:
                setattr(runtime, name, getattr(self, name))
        lineage = woke = None
        if self.continuous:
            lineage = Lineage.open(Path(runtime.run_dir), Path(runtime.workspace), notice=notice)
            woke = lineage.wake()
        return {
            **self.context,
            "_runtime": runtime,
            "_on_event": on_event,
            "_channel": self.channel,
            "_sessions": {},
            "_results": {},
            "_lineage": lineage,
            "_woke": woke or 1,
            # Sessions that this very run drives: a lock on one of them is our own.
            "_ours": set(),
            "_beside": set(),
        }

    def _check_sources(self, ctx: Context) -> None:
        """Find a ``resume_from`` that can never work before the first step costs money."""
        before: set[str] = set()
        for step in self.steps:
            source = step.resume_from
            if source is not None and source not in before:
                choose_session(step.name, source, step.fork, **_memory(ctx))
            before.add(step.name)


class _Turn:
    """One step of one run: its attempts until it passes or they are used up."""

    def __init__(self, step: Step, index: int, total: int, ctx: Context, on_step: OnStep | None) -> None:
        self.step, self.index, self.total, self.ctx, self.on_step = step, index, total, ctx, on_step

    async def take(self) -> bool:
        """Run the step; False when the workflow has to end here."""
        step, ctx = self.step, self.ctx
        choice = choose_session(step.name, step.resume_from, step.fork, **_memory(ctx))
        if choice.lost:
            teller(ctx["_on_event"])(
                _("The session of {step} is not in the database any more; the step starts afresh.").format(
                    step=step.name
                )
            )
        start, words, rejected = choice, self._opening_words(choice), False
        for attempt in range(1, step.retries + 2):
            result = await self._attempt(attempt_name(step.name, attempt, rejected=rejected), start, words)
            if result.ok and await self._passes(result):
                ctx[step.name] = step.reduce(result, ctx) if step.reduce else result.text
                return True
            if attempt > step.retries:
                break
            rejected = result.ok and step.on_reject is not None and bool(result.session_id)
            if rejected:
                assert step.on_reject is not None
                words = await settled(step.on_reject(result, ctx))
                start = Choice(result.session_id)
            else:
                start = choice if step.resume_from is not None else Choice()
                words = say(step.prompt, ctx)
        return self._after_failure(result)

    def _opening_words(self, choice: Choice) -> str:
        step = self.step
        if choice.continued and step.resume_prompt is not None:
            return say(step.resume_prompt, self.ctx)
        return say(step.prompt, self.ctx)

    async def _attempt(self, name: str, start: Choice, words: str) -> StepResult:
        ctx, step = self.ctx, self.step
        runtime: Runs = ctx["_runtime"]
        info = StepInfo(
            name=name,
            index=self.index,
            total=self.total,
            resumed=start.session is not None,
            woke=ctx["_woke"],
            context=runtime.context_of(start.session) if start.session else 0,
            session=start.session,
        )
        if self.on_step is not None:
            self.on_step(step, info)
        facts = {"index": info.index, "total": info.total, "resumed": info.resumed, "woke": info.woke}
        emit(ctx, Event("step", step=name, data={**facts, "context": info.context}))
        with remembering(ctx, step.name):
            result = await runtime.run(
                step.spec,
                words,
                step_name=name,
                resume=start.session,
                fork=start.fork,
                on_event=ctx["_on_event"],
                full_prompt=say(step.prompt, ctx) if start.session else None,
            )
        return record(ctx, step.name, name, result)

    async def _passes(self, result: StepResult) -> bool:
        return self.step.gate is None or bool(await settled(self.step.gate(result, self.ctx)))

    def _after_failure(self, result: StepResult) -> bool:
        step, ctx = self.step, self.ctx
        if step.on_fail == "continue":
            ctx[step.name] = result.text
        return step.on_fail != "stop"


@contextmanager
def remembering(ctx: Context, step: str) -> Iterator[None]:
    """While the block runs, the session the runtime uses is remembered as the step's, also across processes.

    It covers one ``runtime.run`` and nothing else: a judge runs on the same runtime, and its session must
    never be taken for the step's.
    """
    runtime: Runs = ctx["_runtime"]
    # A step that works on a fork because another run holds its session leaves the lineage to that run, even
    # when the other one ends first.
    lineage: Lineage | None = ctx["_lineage"] if step not in ctx["_beside"] else None
    ours: set[str] = ctx["_ours"]
    before = runtime.on_session

    def held(session_id: str) -> bool:
        return session_id not in ours and is_held(Path(runtime.run_dir), session_id)

    def hear(session_id: str) -> None:
        ours.add(session_id)
        if lineage is not None:
            lineage.remember(step, session_id, exists=runtime.has_session, held=held)
        if before is not None:
            before(session_id)

    runtime.on_session = hear
    try:
        yield
    finally:
        runtime.on_session = before


def record(ctx: Context, step: str, name: str, result: StepResult) -> StepResult:
    """Put an attempt's result and session into the context and tell the person that it ended."""
    ctx["_results"][name] = result
    if result.session_id:
        ctx["_sessions"][step] = result.session_id
        if result.session_id not in ctx["_ours"]:
            ctx["_beside"].add(step)
    row = result.as_row(ctx["_runtime"].run_id)
    emit(ctx, Event("step_end", step=name, session_id=result.session_id, data=row))
    return result


def emit(ctx: Context, event: Event) -> None:
    """Hand an event to the run's listener, if there is one."""
    if ctx["_on_event"] is not None:
        ctx["_on_event"](event)


def teller(on_event: OnEvent | None) -> Callable[[str], None]:
    """A function that shows one plain line to the person."""

    def tell(line: str) -> None:
        if on_event is not None:
            on_event(Event("notice", line))

    return tell


async def settled(value: T | Awaitable[T]) -> T:
    """The value of a callable that may be async."""
    return await value if inspect.isawaitable(value) else value


def _memory(ctx: Context) -> dict[str, Any]:
    lineage: Lineage | None = ctx["_lineage"]
    return {
        "sessions": ctx["_sessions"],
        "lineage": lineage.steps if lineage is not None else {},
        "exists": ctx["_runtime"].has_session,
    }
