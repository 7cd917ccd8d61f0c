"""Drives one run for a command: listeners, typed lines, signals, the result, the last line of ``--json``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from flower.cli.aside import Aside
from flower.cli.console import Console
from flower.cli.conversation import Conversation
from flower.cli.deadline import DeadlinePassed, reached
from flower.cli.exits import Ending, ending_of
from flower.cli.interrupts import Interrupts, left
from flower.cli.keyboard import Keyboard, Typed
from flower.cli.notifying import Notifier
from flower.cli.options import Settings
from flower.cli.pipes import silence
from flower.cli.screen import Screen
from flower.locale import _
from flower.model import Event, FlowerError, GoalNotReached, HumanInterrupt, StepFailed

if TYPE_CHECKING:
    from flower.cli.typing_line import TypingLine
    from flower.runtime.runtime import Runtime

Emit = Callable[[Event], None]
OpenRuntime = Callable[[Callable[[str], None]], "Runtime"]
Body = Callable[["Runtime", Emit], Awaitable[str]]


class Drive:
    """One run of a command.

    Args:
        settings: the global options.
        keyboard: reads the terminal; None without one.
        notify: command to run when a question waits and at the end.
        deadline: epoch seconds at which the run is ended.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        keyboard: Typed | None = None,
        notify: str | None = None,
        deadline: float | None = None,
    ) -> None:
        self._settings = settings
        self.screen = make_screen(keyboard, live=settings.interactive and settings.json is None)
        self._notifier = Notifier(notify, self.notice)
        self._deadline = deadline
        self._late = False
        self._aside: Aside | None = None
        self.console = Console(
            self.screen, verbose=settings.verbose, quiet=settings.json is not None, cost=self.cost_usd
        )
        self._conversation = Conversation(self.screen, keyboard, self.emit) if keyboard else None
        self._keyboard = keyboard
        self._interrupts = Interrupts(self._conversation, screen=self.screen)
        self._runtime: Runtime | None = None

    def emit(self, event: Event) -> None:
        """Hand an event to the screen and to ``--json``."""
        if event.kind == "usage":
            event = replace(event, data={**event.data, "cost_usd": round(self.cost_usd(), 6)})
        if self._aside is not None:
            self._aside.hear(event)
        if self._settings.json is not None:
            self._settings.json(event)
        self.console(event)

    def cost_usd(self) -> float:
        """US dollars so far, side questions included."""
        run = self._runtime.total_cost if self._runtime is not None else 0.0
        return run + (self._aside.cost_usd if self._aside is not None else 0.0)

    def banner(self, line: str) -> None:
        """The line that a waking run begins with."""
        if self._settings.json is not None:
            self._settings.json(Event("notice", line))
        else:
            self.screen.line(line)

    def use_channel(self, channel: Any, *, unattended: Callable[[Any], object] | None = None) -> None:
        """Show the channel's questions; answers come from the keyboard.

        Without one ``unattended`` is called with the question, whatever time the channel would wait; by
        default the question is skipped.
        """
        if self._conversation is not None:
            self._conversation.channel = channel

        def skip(question: Any) -> None:
            channel.decline(question.id)

        def show(question: Any) -> None:
            data = {"id": question.id, "options": list(question.options)}
            self.emit(Event("question", question.text, data=data))
            question.outcome.add_done_callback(lambda outcome: self._on_answer(question, outcome))
            self._tell("question", question.text)
            if self._conversation is not None:
                self._conversation.questions_changed()
            else:
                (unattended or skip)(question)

        channel.on_question = show

    def _on_answer(self, question: Any, outcome: Any) -> None:
        if self._conversation is not None:
            self._conversation.questions_changed()
        # A question that is taken back, by its time or by an interrupt, is cancelled.
        state, answer = (
            ("timeout", "") if outcome.cancelled() else (outcome.result().state, outcome.result().answer)
        )
        self.emit(Event("answer", answer, data={"id": question.id, "state": state}))

    def _tell(self, event: str, text: str, **facts: str) -> None:
        self._notifier.tell(event, text, workspace=str(self._settings.workspace), **facts)

    def notice(self, line: str) -> None:
        """One plain line for the person."""
        self.emit(Event("notice", line))

    def run(self, open_runtime: OpenRuntime, body: Body) -> None:
        """Open the runtime, run the body to its end, print what it returns.

        A SIGTERM or SIGHUP ends the process in here, after the rows in flight are saved.

        Raises:
            BaseException: whatever ended the run early; by then the books are closed and ``--json`` complete.
        """
        text, ending = "", Ending(0, "ok")
        with self._interrupts.watch as watch:
            self.console.start()
            try:
                runtime = self._runtime = open_runtime(self.notice)
                self._interrupts.attach(runtime, rescue=self._rescue)
                text = asyncio.run(self._main(runtime, body))
            except BaseException as error:
                ending = ending_of(error)
                raise
            finally:
                if watch.ended_by:
                    ending = Ending(128 + watch.ended_by, "killed-by-signal")
                self._close(ending, text)
        if self._settings.json is None:
            print_result(text, shown=self.console.last_text)

    async def _main(self, runtime: Runtime, body: Body) -> str:
        task = asyncio.current_task()
        assert task is not None
        self._interrupts.begin(task)
        self._begin(runtime)
        if self._settings.json is not None:
            self._settings.json.on_closed = _end_like_a_closed_pipe
        self.emit(Event("run", data=self._facts(runtime)))
        clock = asyncio.ensure_future(self._watch_clock())
        try:
            return await body(runtime, self.emit)
        except (asyncio.CancelledError, HumanInterrupt):
            raise (late() if self._late else left()) from None
        finally:
            clock.cancel()
            if self._aside is not None:
                await self._aside.close()

    def _begin(self, runtime: Runtime) -> None:
        if self._conversation is None:
            return
        self._aside = Aside(self.emit)
        self._aside.attach(runtime)
        self._conversation.ask_aside = self._aside.ask
        self._conversation.start()

    async def _watch_clock(self) -> None:
        if self._deadline is not None:
            await reached(self._deadline)
            self._late = True
            self.notice(_("the deadline has come: the run is ended here"))
            self._interrupts.leave()

    def _rescue(self) -> None:
        for one in (self._runtime, self._aside):
            if one is not None:
                one.rescue()

    def _facts(self, runtime: Runtime) -> dict[str, Any]:
        from flower import __version__

        places = {"workspace": str(runtime.workspace), "run_dir": str(runtime.run_dir)}
        return {**places, "run": runtime.run_id, "version": __version__}

    def _close(self, ending: Ending, text: str) -> None:
        self.console.close()
        if self._keyboard is not None:
            self._keyboard.close()
        runtime, sink = self._runtime, self._settings.json
        if runtime is not None:
            runtime.close(finished=ending.exit_code in (0, GoalNotReached.exit_code) and not self._late)
        facts = {"status": ending.status, "exit_code": str(ending.exit_code)}
        self._tell("end", text or ending.message, **facts)
        self._notifier.leave()
        if sink is not None:
            steps, cost = len(runtime.results) if runtime is not None else 0, self.cost_usd()
            run = runtime.run_id if runtime is not None else None
            sink.end(ending.status, ending.exit_code, steps=steps, cost_usd=cost, run=run)


def make_screen(keyboard: Typed | None, *, live: bool) -> Screen:
    """The screen that goes with the keyboard: around its typing line, or plain lines."""
    if live and not isinstance(keyboard, Keyboard | None):
        from flower.cli.live import LiveScreen

        return LiveScreen(cast("TypingLine", keyboard))
    return Screen(live=live)


def late() -> DeadlinePassed:
    """The error of a run that its deadline ended."""
    return DeadlinePassed(
        _("the deadline has come before the goal"), hint=_("Run flower again: it goes on where it stopped.")
    )


def _end_like_a_closed_pipe() -> None:
    # What SIGPIPE does to any filter whose reader has gone; TERM takes the way that saves the row in flight.
    os.kill(os.getpid(), signal.SIGTERM)


def print_result(text: str, *, shown: str = "") -> None:
    """The result on stdout, unless the same terminal has just shown it."""
    if not text or (text == shown and sys.stdout.isatty() and sys.stderr.isatty()):
        return
    try:
        print(text, flush=True)
    except BrokenPipeError:
        silence(sys.stdout)


def result_of(ctx: dict[str, Any], last_step: str) -> str:
    """What a workflow's context says at the end: the last step's text, or the error that ended it.

    Raises:
        FlowerError: the workflow was aborted.
        StepFailed: a step ended without a result.
    """
    if (abort := ctx.get("_aborted")) is not None:
        raise abort if isinstance(abort, FlowerError) else StepFailed(str(abort))
    if (name := ctx.get("_failed_at")) is not None:
        rows = [row for row in ctx.get("_results", {}).values() if not row.ok]
        why = rows[-1].error if rows else _("its gate did not pass")
        raise StepFailed(_("{step}: {error}").format(step=name, error=why))
    return str(ctx.get(last_step, ""))
