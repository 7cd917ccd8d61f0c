"""Starts one attempt: claims the session, writes its resume file, starts the CLI, drives it.

Importing this module does not import the SDK: the CLI is on its way before that begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from flower import supervise
from flower.agents.access import Access
from flower.agents.argv import SessionArgs
from flower.agents.spec import CompactPolicy
from flower.agents.workbench import first_message
from flower.books.locks import SessionLease
from flower.books.rewriting import PruningSessionStore
from flower.locale import _
from flower.model import StepFailed
from flower.runtime.budget import LEAST
from flower.runtime.flight import Flight, Launch
from flower.runtime.live import LiveSession
from flower.runtime.mirror import Mirror
from flower.runtime.prestart import prestart
from flower.runtime.recovery import check_saved
from flower.runtime.saved import saved_line
from flower.runtime.succession import note_successor
from flower.transcript.expire import EphemeralPolicy
from flower.transcript.trim import TrimPolicy

if TYPE_CHECKING:
    from anyio.abc import Process

    from flower.agents.spec import AgentSpec
    from flower.runtime.attempt import Outcome
    from flower.runtime.runtime import Runtime


async def attempt(rt: Runtime, flight: Flight, spec: AgentSpec, launch: Launch) -> Outcome:
    """One CLI process for this step, from claiming the session to giving it back."""
    if launch.resume and not rt.has_session(launch.resume):
        flight.notice(_("session {id} is not in the books; starting a new one").format(id=launch.resume[:8]))
        launch = Launch(launch.full_prompt, launch.full_prompt)
    session_id, lease, fork = await rt.claims.claim(flight, launch)
    flight.row.attempts += launch.counts
    if launch.heir:
        note_successor(rt, launch.heir, session_id)
    live = LiveSession(lease, session_id=session_id, cwd=rt.workspace)
    if live.leftover and not await rt.read_back(flight, live.root):
        lease.release()
        raise StepFailed(
            _("{path} holds entries of an earlier run that cannot be saved").format(path=live.root)
        )
    with live, _kept_from_others(rt, launch) as let_go:
        if launch.resume:
            await _materialise(rt, flight, live, launch.resume, hard=launch.hard)

        def on_first() -> None:
            # In this order: the lineage names a successor only where nobody holds its predecessor.
            let_go()
            rt.claims.remember(flight, session_id)

        mirror = Mirror(rt.store, session_id, on_first)
        session = SessionArgs(
            new_id=session_id if fork or not launch.resume else None,
            resume=launch.resume,
            fork=fork,
            resume_at=launch.resume_at,
        )
        outcome = await _drive(rt, flight, spec, launch, session, live, mirror)
        if outcome.mirror_failed or outcome.state == "failed":
            live.keep = outcome.mirror_failed = not await rt.read_back(flight, live.root)
    check_saved(flight, outcome)
    return outcome


async def _drive(
    rt: Runtime,
    flight: Flight,
    spec: AgentSpec,
    launch: Launch,
    session: SessionArgs,
    live: LiveSession,
    mirror: Mirror,
) -> Outcome:
    """Start the CLI, load the SDK meanwhile if it is not there yet, and let them talk to the last result."""
    marker = rt.marker(session.id)
    spec = _within_limits(rt, flight, spec, launch)
    access = _access(rt, flight)
    running: Process | None = None
    try:
        cli = supervise.launch(supervise.find_claude(), marker=marker, scratch=live.root)
        env = {**live.environment(), **cli.env}
        running = await prestart(
            spec, access=access, session=session, cli_path=cli.cli_path, env=env, portable=rt.portable
        )
        from flower.agents.options import build_options
        from flower.runtime.attempt import Attempt

        options = build_options(
            spec,
            cwd=rt.workspace,
            access=access,
            session=session,
            store=mirror,
            cli_path=cli.cli_path,
            env=env,
            portable=rt.portable,
        )
        flight.window = rt.windows.of(spec.model)
        watch = rt.handoff.enabled and not launch.handing_over
        meter = rt.accounts.meter(flight, limited=not launch.handing_over)
        drive = Attempt(
            flight,
            options,
            mirror,
            running=running,
            threshold=rt.handoff.threshold(flight.window) if watch else 0,
            warn_at=rt.handoff.warning(flight.window),
            meter=meter,
        )
        try:
            outcome = await drive.run(_words(rt, spec, launch))
        finally:
            rt.accounts.settle(flight, meter, continued="" if session.fork else session.resume or "")
        rt.windows.report(spec.model, outcome.window)
        return outcome
    finally:
        # The guard has ended its tree; this finds what is left where the guard itself was killed.
        supervise.end_strays(marker)
        if rt.alone(flight):
            supervise.end_orphans()
        if running is not None:
            await running.aclose()


def _within_limits(rt: Runtime, flight: Flight, spec: AgentSpec, launch: Launch) -> AgentSpec:
    if rt.handoff.enabled and spec.compact is None:
        spec = replace(spec, compact=CompactPolicy("no_summary"))
    return _within_budget(rt, flight, spec, launch)


def _within_budget(rt: Runtime, flight: Flight, spec: AgentSpec, launch: Launch) -> AgentSpec:
    """The CLI's own limit for this process: what is left to the run, or to the agent if that is less."""
    limits = []
    if spec.max_budget_usd is not None:
        limits.append(spec.max_budget_usd - flight.row.cost_usd)
    if rt.budget is not None and isfinite(rt.budget.limit) and not launch.handing_over:
        limits.append(rt.budget.remaining)
    return replace(spec, max_budget_usd=max(LEAST, min(limits))) if limits else spec


@contextmanager
def _kept_from_others(rt: Runtime, launch: Launch) -> Iterator[Callable[[], None]]:
    """Until a successor has an entry nobody else goes on with its predecessor; yields what ends that."""
    lease = SessionLease.acquire(rt.run_dir, launch.heir.predecessor, run=rt.run_id) if launch.heir else None

    def let_go() -> None:
        if isinstance(lease, SessionLease):
            lease.release(remove=True)

    try:
        yield let_go
    finally:
        let_go()


async def _materialise(
    rt: Runtime, flight: Flight, live: LiveSession, session_id: str, *, hard: bool
) -> None:
    """Write the session's transcript where the CLI looks for it, rewritten for the model."""
    key = {"project_key": rt.project_key, "session_id": session_id}
    store = _trimming_hard(rt) if hard else rt.store
    written = await store.materialise(key, live.transcript(rt.project_key, session_id))
    live.register_inserted(set(written.inserted))
    if line := saved_line(written.report):
        flight.notice(line)


def _trimming_hard(rt: Runtime) -> PruningSessionStore:
    """The same books, fed back with no large result left in them, recent or not."""
    return PruningSessionStore(
        rt.store.backend,
        rt.workspace,
        policy=TrimPolicy(keep_recent=0, min_chars=400, block=1),
        prune=rt.store.rules.prune,
        ephemeral=EphemeralPolicy(keep_recent=0, block=1),
    )


def _words(rt: Runtime, spec: AgentSpec, launch: Launch) -> str:
    """A session's first message carries the workbench's index; later ones are told what changed by a hook."""
    if launch.resume or rt.workbench is None or not spec.workbench:
        return launch.prompt
    return first_message(launch.prompt, rt.workbench)


def _access(rt: Runtime, flight: Flight) -> Access:
    return Access(
        workspace=rt.workspace,
        run_dir=rt.run_dir,
        workbench=rt.workbench,
        isolate=rt.isolate,
        channel=rt.channel,
        ask_person=rt.channel.confirm if rt.channel is not None else None,
        record=flight.notice,
        spill_threshold=rt.spill_threshold,
    )
