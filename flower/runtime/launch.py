"""Starts one attempt: claims the session, writes its resume file, builds the options, drives the CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_agent_sdk import ClaudeAgentOptions

from flower import supervise
from flower.agents.access import Access
from flower.agents.options import SessionArgs, build_options
from flower.agents.workbench import first_message
from flower.locale import _
from flower.model import StepFailed
from flower.runtime.attempt import Attempt, Outcome
from flower.runtime.flight import Flight, Launch
from flower.runtime.live import LiveSession
from flower.runtime.mirror import Mirror

if TYPE_CHECKING:
    from flower.agents.spec import AgentSpec
    from flower.runtime.runtime import Runtime


async def attempt(rt: Runtime, flight: Flight, spec: AgentSpec, launch: Launch) -> Outcome:
    """One CLI process for this step, from claiming the session to giving it back."""
    if launch.resume and not rt.has_session(launch.resume):
        flight.notice(_("session {id} is not in the books; starting a new one").format(id=launch.resume[:8]))
        launch = Launch(launch.full_prompt, launch.full_prompt)
    session_id, lease, fork = await rt.claim(flight, launch)
    flight.row.attempts += 1
    live = LiveSession(lease, session_id=session_id, cwd=rt.workspace)
    if live.leftover and not await rt.read_back(flight, live.root):
        lease.release()
        raise StepFailed(
            _("{path} holds entries of an earlier run that cannot be saved").format(path=live.root)
        )
    with live:
        if launch.resume:
            await _materialise(rt, live, launch.resume)
        mirror = Mirror(rt.store, session_id, lambda: rt.remember(flight, session_id))
        session = SessionArgs(
            new_id=session_id if fork or not launch.resume else None,
            resume=launch.resume,
            fork=fork,
            resume_at=launch.resume_at,
        )
        marker = rt.marker(session_id)
        drive = Attempt(flight, _options(rt, flight, spec, session, live, mirror, marker), mirror)
        try:
            outcome = await drive.run(_words(rt, spec, launch))
            rt.meter(flight, drive.cost_counter)
            if outcome.mirror_failed or outcome.state == "failed":
                live.keep = outcome.mirror_failed = not await rt.read_back(flight, live.root)
        finally:
            # The guard has ended its tree; this finds what is left where the guard itself was killed.
            supervise.end_strays(marker)
            if rt.alone(flight):
                supervise.end_orphans()
    return outcome


async def _materialise(rt: Runtime, live: LiveSession, session_id: str) -> None:
    """Write the session's transcript where the CLI looks for it, rewritten for the model."""
    key = {"project_key": rt.project_key, "session_id": session_id}
    written = await rt.store.materialise(key, live.transcript(rt.project_key, session_id))
    live.register_inserted(set(written.inserted))


def _words(rt: Runtime, spec: AgentSpec, launch: Launch) -> str:
    """A session's first message carries the workbench's index; later ones are told what changed by a hook."""
    if launch.resume or rt.workbench is None or not spec.workbench:
        return launch.prompt
    return first_message(launch.prompt, rt.workbench)


def _options(
    rt: Runtime,
    flight: Flight,
    spec: AgentSpec,
    session: SessionArgs,
    live: LiveSession,
    mirror: Mirror,
    marker: str,
) -> ClaudeAgentOptions:
    start = supervise.launch(supervise.find_claude(), marker=marker, scratch=live.root)
    access = Access(
        workspace=rt.workspace,
        run_dir=rt.run_dir,
        workbench=rt.workbench,
        isolate=rt.isolate,
        channel=rt.channel,
        ask_person=rt.channel.confirm if rt.channel is not None else None,
        record=flight.notice,
        spill_threshold=rt.spill_threshold,
    )
    return build_options(
        spec,
        cwd=rt.workspace,
        access=access,
        session=session,
        store=mirror,
        cli_path=start.cli_path,
        env={**live.environment(), **start.env},
        portable=rt.portable,
    )
