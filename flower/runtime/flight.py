"""One step in flight: its row, who listens, and the switch that stops it from any thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from flower.model import Event, StepResult

Listener = Callable[[Event], Any]

GO_ON = "Go on from where you were stopped."
"""What a session is told when a person stopped it and then said nothing."""

INTERRUPTED = "interrupted-by-human"
"""What the manifest says of a step that a person ended."""


@dataclass(frozen=True, slots=True)
class Heir:
    """What a successor comes from: the retired session, the handoff's number, its document and what that said."""

    predecessor: str
    generation: int
    path: str
    digest: str


@dataclass(slots=True)
class Launch:
    """How the next CLI process of a step begins.

    ``prompt`` is what it is told; ``full_prompt`` is what a session is told that has to start from nothing.
    ``counts``: it is an attempt; a handoff's turn and the start of a successor are none. ``handing_over``: the session
    writes its handoff, without threshold. ``hard``: old results are trimmed as far as they can be. ``heir``: it is the
    successor of a retired session.
    """

    prompt: str
    full_prompt: str
    resume: str | None = None
    fork: bool = False
    resume_at: str | None = None
    counts: bool = True
    handing_over: bool = False
    hard: bool = False
    heir: Heir | None = None


@dataclass
class Patience:
    """How much of a step's patience is used up. An answer of the model restores it: the endpoint works.

    Attributes:
        failures: attempts that failed since the last answer.
        polled: seconds waited for a limit without a known end since then.
        offline: a whole ``max_offline_wait`` has passed since then without the endpoint in reach.
        limit: the limit that was last waited for, in its own words.
    """

    failures: int = 0
    polled: float = 0.0
    offline: bool = False
    limit: str = ""


@dataclass
class Flight:
    """A running step. Everything here belongs to the event loop, but for ``stop``.

    ``prompt`` is what the step was told, whatever retries and handoffs say since. ``spending`` is what the CLI process
    that runs now has cost by an estimate, US dollars; the row has the others.
    """

    row: StepResult
    listener: Listener | None = None
    prompt: str = ""
    spending: float = 0.0
    model: str = ""
    window: int = 0
    ended: bool = False
    owner: bool = True
    patience: Patience = field(default_factory=Patience)
    _loop: asyncio.AbstractEventLoop | None = None
    _stop: asyncio.Event | None = None
    _words: str | None = None
    _quit: bool = False

    def bind(self) -> None:
        """Remember the loop that runs the step, so that ``stop`` can be called from any thread."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()

    def emit(self, event: Event) -> None:
        """Hand an event to the listener with the step's name and session on it."""
        if self.listener is not None:
            step, session = event.step or self.row.step, event.session_id or self.row.session_id
            self.listener(replace(event, step=step, session_id=session))

    def notice(self, text: str) -> None:
        """One plain line for the person."""
        self.emit(Event("notice", text=text, session_id=self.row.session_id))

    def stop(self, words: str | None = None, *, quit: bool = False) -> None:
        """Ask the step to stop at the next message boundary. Safe from any thread.

        ``words`` go to the same session next; with ``quit`` the step ends for good.
        """
        self._words = words
        self._quit = self._quit or quit
        loop, stop = self._loop, self._stop
        if loop is not None and stop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)

    @property
    def stopping(self) -> bool:
        return self._stop is not None and self._stop.is_set()

    @property
    def quitting(self) -> bool:
        return self._quit

    async def wait_for_stop(self) -> None:
        assert self._stop is not None
        await self._stop.wait()

    def take_words(self) -> str | None:
        """The words that came with the stop; the switch is reset."""
        assert self._stop is not None
        self._stop.clear()
        words, self._words = self._words, None
        return words

    def close(self, *, error: str = "") -> StepResult:
        """End the row: the first call counts, later ones return it unchanged."""
        if not self.ended:
            self.ended = True
            if self.spending:
                # The process has not told what it cost, and nobody will read it any more.
                self.row.cost_usd += self.spending
                self.row.cost_estimated, self.spending = True, 0.0
            self.row.ended_at = time.time()
            if error:
                self.row.ok = False
                self.row.error = error
        return self.row
