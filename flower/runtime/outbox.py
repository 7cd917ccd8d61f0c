"""Events on their way out of a step, in order, each one after its entry is durable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from flower.model import Event
from flower.runtime.mirror import Mirror

ACKNOWLEDGE_TIMEOUT = 10.0
"""Seconds an event waits for its entry to be durable; the CLI's own file holds it anyway (measured: 0.1 s)."""
AHEAD = 500
"""Events that may wait for the disk before no more messages are read; a model needs minutes for as many."""


class Outbox:
    """What a person has seen survives a kill: an event waits until the books hold its entry.

    Args:
        mirror: tells when an entry is durable.
        emit: takes the events.
    """

    def __init__(self, mirror: Mirror, emit: Callable[[Event], None]) -> None:
        self._mirror = mirror
        self._emit = emit
        self._events: asyncio.Queue[Event | asyncio.Future[None] | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._delivering = True

    def put(self, event: Event) -> None:
        self._events.put_nowait(event)

    def close(self) -> None:
        """Nothing more will come: ``deliver`` returns after the last event."""
        self._events.put_nowait(None)

    async def deliver(self) -> None:
        """Hand events on until the end."""
        durable = ""
        try:
            while (event := await self._events.get()) is not None:
                if isinstance(event, asyncio.Future):
                    _reach(event)
                    continue
                if event.uuid and event.uuid != durable:
                    await self._mirror.stored(event.uuid, ACKNOWLEDGE_TIMEOUT)
                    durable = event.uuid
                self._emit(event)
                if self._events.qsize() < AHEAD:
                    self._room.set()
        finally:  # whoever takes the events may have raised: nobody may wait for it for ever
            self._delivering = False
            self._room.set()
            while not self._events.empty():
                if isinstance(mark := self._events.get_nowait(), asyncio.Future):
                    _reach(mark)

    async def passed(self) -> None:
        """Wait until everything put so far has been handed on, or nothing is any more."""
        if self._delivering:
            mark = asyncio.get_running_loop().create_future()
            self._events.put_nowait(mark)
            await mark

    async def keep_pace(self) -> None:
        """Wait while too many events are on their way: whoever writes faster than the disk is not read further.

        The entries that they wait for have been read before them, or follow within a few messages.
        """
        while self._delivering and self._events.qsize() >= AHEAD:
            self._room.clear()
            await self._room.wait()


def _reach(mark: asyncio.Future[None]) -> None:
    if not mark.done():  # whoever waited may have given up
        mark.set_result(None)
