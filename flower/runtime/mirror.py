"""What the SDK is given as its session store: it stores, and says when an entry is durable.

``load`` answers None on purpose: flower writes the resume file itself, rewritten, into the session's own
configuration directory. That saves the SDK's temporary directory and its copies of credentials.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Mirror:
    """Passes entries to the books and lets the runtime wait for them.

    Args:
        store: any store that follows the SDK's protocol.
        session_id: the session whose first stored entry calls ``on_first``.

    Attributes:
        delivered: a prompt of this process is in the books: the session knows what it was told.
        failed: what the SDK could not store, in its words.
    """

    def __init__(self, store: Any, session_id: str, on_first: Callable[[], None] | None = None) -> None:
        self._store = store
        self._session_id = session_id
        self._on_first = on_first
        self._stored: set[str] = set()
        self._waiting: dict[str, asyncio.Event] = {}
        self.failed: list[str] = []
        self.delivered = False

    async def append(self, key: dict[str, str], entries: list[dict[str, Any]]) -> None:
        """Store the entries; whoever waits for one of them goes on after they are durable."""
        await self._store.append(key, entries)
        if self._on_first and key.get("session_id") == self._session_id and not key.get("subpath"):
            first, self._on_first = self._on_first, None
            first()
        for entry in entries:
            if entry.get("type") == "user" and not key.get("subpath"):
                self.delivered = True
            if uuid := entry.get("uuid"):
                self._stored.add(uuid)
                if event := self._waiting.pop(uuid, None):
                    event.set()

    async def load(self, key: dict[str, str]) -> None:
        """Nothing: see the module's text."""
        return None

    async def stored(self, uuid: str, timeout: float) -> bool:
        """Wait until the entry is durable; False after ``timeout`` seconds."""
        if uuid in self._stored:
            # An entry is waited for once: forgetting it keeps a long run's memory flat.
            self._stored.discard(uuid)
            return True
        event = self._waiting.setdefault(uuid, asyncio.Event())
        try:
            await asyncio.wait_for(event.wait(), timeout)
        except asyncio.TimeoutError:
            self._waiting.pop(uuid, None)
            return False
        self._stored.discard(uuid)
        return True
