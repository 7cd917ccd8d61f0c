"""What signals mean to a run: Ctrl-C once lets the person speak, twice leaves; TERM and HUP save and end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flower.cli.conversation import Conversation
from flower.cli.screen import Screen
from flower.locale import _
from flower.model import HumanInterrupt
from flower.supervise import SignalWatch

if TYPE_CHECKING:
    from flower.runtime.runtime import Runtime

LEAVE_SECONDS = 10.0
"""How long a step may take to stop before its task is cancelled; an interrupt takes a tenth of a second."""


class Interrupts:
    """Connects the signals of the process with one run.

    Without a conversation (nobody can be asked) the first Ctrl-C leaves.
    """

    def __init__(self, conversation: Conversation | None, *, screen: Screen) -> None:
        self._conversation = conversation
        self._screen = screen
        self._runtime: Runtime | None = None
        self._rescue: Callable[[], None] = lambda: None
        self._task: asyncio.Task[Any] | None = None
        self._leaving = False
        self.watch = SignalWatch(on_end=self._end, on_interrupt=self._interrupt, on_quit=self._quit)

    def attach(self, runtime: Runtime, *, rescue: Callable[[], None]) -> None:
        """From now on there are rows to save; ``rescue`` saves them."""
        self._runtime = runtime
        self._rescue = rescue

    def begin(self, task: asyncio.Task[Any]) -> None:
        """From now on there is a task to stop.

        Raises:
            HumanInterrupt: Ctrl-C came before.
        """
        self._task = task
        if self._leaving or self.watch.interrupted:
            raise left()
        if self._conversation is not None and self._runtime is not None:
            self._runtime.after_stop = self._words_after_stop

    async def _words_after_stop(self) -> str | None:
        assert self._conversation is not None
        # Stopping can be faster than that, and the line about to be shown says what Ctrl-C does from then on.
        await asyncio.sleep(self.watch.deaf_for)
        words = await self._conversation.words_after_stop()
        if not self._leaving:
            self.watch.resume()
        return words

    # The watch calls these in threads of their own; whatever touches the run goes through its loop.

    def _interrupt(self) -> None:
        self._in_loop(self._stop_or_leave)

    def _quit(self) -> None:
        self._screen.restore()  # a third Ctrl-C ends the process on the spot
        self._in_loop(self.leave)

    def _end(self, number: int) -> None:
        self._screen.restore()
        self._rescue()
        self._in_loop(self._cancel)

    def _in_loop(self, call: Callable[[], object]) -> None:
        task = self._task
        if task is not None and not task.get_loop().is_closed():
            task.get_loop().call_soon_threadsafe(call)

    def _stop_or_leave(self) -> None:
        assert self._runtime is not None
        if self._conversation is None or not _in_flight(self._runtime):
            self.leave()
            return
        self._screen.line(_("-- stopping at the next message (Ctrl-C again: leave)"))
        self._runtime.interrupt()

    def leave(self) -> None:
        """End the run politely, whatever it is doing; called in the event loop."""
        assert self._runtime is not None and self._task is not None
        self._leaving = True
        in_flight = _in_flight(self._runtime)
        self._runtime.quit()
        if self._conversation is not None:
            self._conversation.give_up_waiting()
        if in_flight:
            self._task.get_loop().call_later(LEAVE_SECONDS, self._cancel)
        else:
            self._cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


def _in_flight(runtime: Runtime) -> bool:
    """Whether a step is running: between steps, in a gate that asks, there is nothing to stop politely."""
    return runtime.in_flight


def left() -> HumanInterrupt:
    """The error of a run that its person left."""
    return HumanInterrupt(_("stopped by you; run flower again to go on"))
