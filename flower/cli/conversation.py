"""What a person types while a run works: an answer, words after Ctrl-C, or an added requirement."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from flower.cli.keyboard import Typed
from flower.cli.screen import Screen
from flower.locale import _
from flower.model import Event

ASIDE = ("?", "？")
"""What a side question begins with."""


class Channel(Protocol):
    """The part of a HumanChannel that a terminal needs; every method may be called from any thread."""

    def pending(self) -> Any: ...

    def answer(self, qid: int, text: str) -> Any:
        """A number picks an option, nothing skips the question, other words are the answer."""

    def say(self, text: str) -> Any: ...


class Conversation:
    """Gives each typed line to whoever waits for it."""

    def __init__(self, screen: Screen, keyboard: Typed, emit: Callable[[Event], None]) -> None:
        self.channel: Channel | None = None
        self.ask_aside: Callable[[str], None] | None = None
        """Answers a question beside the run, without making it wait."""
        self._screen = screen
        self._keyboard = keyboard
        self._emit = emit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._words: asyncio.Future[str | None] | None = None

    def start(self) -> None:
        """Begin to listen; called inside the event loop."""
        self._loop = asyncio.get_running_loop()
        self._keyboard.listen(self._on_line)
        self._screen.open()
        self._idle()

    def questions_changed(self) -> None:
        """A question was put, was answered or ran out of time: say what the next line would be taken for."""
        question = self.channel.pending() if self.channel is not None else None
        if question is not None:
            hint = _("a number picks, Enter skips, anything else is your answer")
            self._screen.ask(hint, question.text)
            return
        self._screen.resume()
        self._idle()

    def _idle(self) -> None:
        if self.channel is not None:
            self._screen.hint(_("add a wish, or ?... to ask aside"))
        elif self.ask_aside is not None:
            self._screen.hint(_("?... asks aside"))

    async def words_after_stop(self) -> str | None:
        """Ask a person who pressed Ctrl-C what to change; None: go on as before."""
        self._words = asyncio.get_running_loop().create_future()
        self._screen.line(_("-- stopped. Say what to change, or press Enter to go on (Ctrl-C again: leave)"))
        self._screen.ask(_("what to change"))
        try:
            return await self._words
        finally:
            self._words = None
            self._screen.resume()
            self._idle()

    def give_up_waiting(self) -> None:
        """Nobody will say anything more: the run is being left."""
        if self._words is not None and not self._words.done():
            self._words.set_result(None)

    def _on_line(self, line: str | None) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, line)

    def _deliver(self, line: str | None) -> None:
        if self._words is not None:
            if not self._words.done():
                self._words.set_result((line or "").strip() or None)
            return
        if line is None:
            return
        words = line.strip()
        if words.startswith(ASIDE) and self.ask_aside is not None:
            if asked := words.lstrip("".join(ASIDE)).strip():
                self.ask_aside(asked)
        elif self.channel is None:
            return
        elif (question := self.channel.pending()) is not None:
            self.channel.answer(question.id, line)
        elif words:
            self._add(self.channel, words)

    def _add(self, channel: Channel, words: str) -> None:
        try:
            channel.say(words)
        except OSError as error:
            text = _("told to the agent, but not written into the brief: {error}").format(error=error)
            self._emit(Event("error", text))
        self._emit(Event("wish", words))
