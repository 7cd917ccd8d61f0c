"""Which session a CLI process drives: chosen, locked and remembered before the process starts."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import anyio

from flower.books.locks import Holder, SessionLease
from flower.locale import _
from flower.runtime.flight import Flight, Launch

if TYPE_CHECKING:
    from flower.runtime.runtime import Runtime


class Claims:
    """The sessions that one runtime drives or has driven."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._driven: set[str] = set()

    async def claim(self, flight: Flight, launch: Launch) -> tuple[str, SessionLease, bool]:
        """Choose the session of the next CLI process and take its lock.

        Returns the id, the lock, and whether the CLI is to begin it as a fork of ``launch.resume``.
        A session that another run drives is not touched: the work goes on in a fork of it.
        """
        fork, owner = launch.fork, True
        if launch.resume and not fork:
            lease = await self._lease_of(launch.resume)
            if isinstance(lease, SessionLease):
                self._announce(flight, launch.resume, owner=True, counts=launch.counts)
                return launch.resume, lease, False
            text = _("session {id} is in use by {holder}; working on a fork of it")
            flight.notice(text.format(id=launch.resume[:8], holder=lease))
            fork, owner = True, False
        chosen = str(uuid.uuid4())
        fresh = SessionLease.acquire(self._runtime.run_dir, chosen, run=self._runtime.run_id)
        assert isinstance(fresh, SessionLease), "a new uuid cannot be held"
        self._announce(flight, chosen, owner=owner, counts=launch.counts)
        return chosen, fresh, fork

    async def _lease_of(self, session_id: str) -> SessionLease | Holder:
        while True:
            lease = SessionLease.acquire(self._runtime.run_dir, session_id, run=self._runtime.run_id)
            if isinstance(lease, SessionLease) or not self._runtime.wait:
                return lease
            await anyio.sleep(0.5)

    def _announce(self, flight: Flight, session_id: str, *, owner: bool, counts: bool) -> None:
        """The id is on disk before it can matter: before the CLI starts."""
        flight.row.session_id = session_id
        flight.row.resumed = flight.row.resumed or (counts and session_id in self._driven)
        # Whoever works beside a session's owner goes on so, in the successor of its fork as well.
        flight.owner = flight.owner and owner
        self.remember(flight, session_id)
        self._driven.add(session_id)

    def remember(self, flight: Flight, session_id: str) -> None:
        """Tell who keeps the lineage; called when the id is chosen and again when its first entry is durable."""
        if self._runtime.on_session is not None and flight.owner:
            self._runtime.on_session(session_id)
