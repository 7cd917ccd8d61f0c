"""Side questions: an oracle beside the run, with books of its own. The run never hears of it and never waits for it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from flower.cli.exits import ending_of
from flower.cli.terminal import shorten
from flower.locale import _
from flower.model import Event

if TYPE_CHECKING:
    from flower.runtime.runtime import Runtime

DIRECTORY = "aside"
STEP = "aside"
EVENTS_SEEN = 60
EVENT_COLUMNS = 500
_NOT_TOLD = ("usage", "aside", "run")


class Aside:
    """Answers questions about one run.

    Args:
        emit: gets an ``aside`` event when a question is taken, and one with its answer.
    """

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._seen: deque[Event] = deque(maxlen=EVENTS_SEEN)
        self._run: Runtime | None = None
        self._own: Runtime | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._asked = 0

    def attach(self, runtime: Runtime) -> None:
        """The run that is asked about; its budget pays."""
        self._run = runtime

    def hear(self, event: Event) -> None:
        """Remember what happened in the run; the latest 60 events are what the oracle is told."""
        if event.kind not in _NOT_TOLD:
            self._seen.append(event)

    @property
    def cost_usd(self) -> float:
        """US dollars that side questions have cost so far."""
        return self._own.total_cost if self._own is not None else 0.0

    def ask(self, question: str) -> None:
        """Take a question and return at once; called in the event loop. Questions are answered one by one."""
        self._asked += 1
        self._emit(Event("aside", question, data={"id": self._asked, "state": "asked"}))
        task = asyncio.get_running_loop().create_task(self._answer(self._asked, question))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def rescue(self) -> None:
        """Write the row of the question in flight: the process must end."""
        if self._own is not None:
            self._own.rescue()

    async def close(self) -> None:
        """The run is over: what has not been answered by now is not answered any more."""
        for task in (tasks := list(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._own is not None:
            self._own.close()

    async def _answer(self, number: int, question: str) -> None:
        data = {"id": number, "state": "failed"}
        try:
            async with self._turn:
                text = await self._ask_oracle(number, question)
            data["state"] = "answered"
        except asyncio.CancelledError:
            text = _("not answered: the run has ended")
            self._emit(Event("aside", text, data=data))
            raise
        except Exception as error:  # whatever it is, the run beside it goes on
            text = ending_of(error).message
        self._emit(Event("aside", text, data=data))

    async def _ask_oracle(self, number: int, question: str) -> str:
        from flower.agents.roles import oracle
        from flower.model import StepFailed

        own = self._own = self._own or self._open()
        row = await own.run(oracle(), self._told(question), step_name=f"{STEP}#{number}")
        if not row.ok:
            raise StepFailed(row.error)
        return row.text

    def _open(self) -> Runtime:
        from flower.runtime.runtime import Runtime

        run = self._run
        assert run is not None
        return Runtime(
            workspace=run.workspace,
            run_dir=run.run_dir / DIRECTORY,
            budget_usd=run.budget,
            handoff=False,
            notice=lambda line: self._emit(Event("notice", line)),
        )

    def _told(self, question: str) -> str:
        lines = "\n".join(_line(event) for event in self._seen)
        return (
            f"The person asks:\n{question}\n\n"
            f"It is {time.strftime('%H:%M:%S')}. The last {len(self._seen)} events of the run, oldest first:\n{lines}"
        )


def _line(event: Event) -> str:
    who = f" subagent {event.agent_id[-6:]}" if event.agent_id else ""
    tool = f" {event.tool}" if event.tool else ""
    at = time.strftime("%H:%M:%S", time.localtime(event.ts))
    return f"{at} [{event.step}]{who} {event.kind}{tool}: {shorten(event.text, EVENT_COLUMNS)}"
