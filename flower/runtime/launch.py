"""Starts one attempt: claims the session, writes its resume file, builds the options, drives the CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flower import supervise
from flower.agents.access import Access
from flower.agents.options import SessionArgs, build_options
from flower.books.salvage import salvage_session
from flower.locale import _
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
    with LiveSession(lease, session_id=session_id, cwd=rt.workspace) as live:
        if launch.resume:
            await _materialise(rt, live, launch)
        mirror = Mirror(rt.store, session_id, lambda: rt.remember(flight, session_id))
        options = _options(rt, flight, spec, launch, live, mirror, fork)
        drive = Attempt(flight, options, mirror)
        outcome = await drive.run(_first_prompt(rt, spec, launch))
        _meter(flight, drive)
        if outcome.mirror_failed or outcome.state == "failed":
            await _read_back(rt, flight, live, outcome)
        supervise.end_strays(session_id)
    return outcome
