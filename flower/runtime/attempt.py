"""One CLI process from start to its last result: messages become events, a stop becomes an interrupt."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    HookMatcher,
    ResultMessage,
    SystemMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    ToolUseBlock,
)

from flower.agents.options import MAX_BUFFER_BYTES
from flower.locale import _
from flower.model import Event
from flower.runtime.asking import ask_last
from flower.runtime.flight import Flight
from flower.runtime.handoff import reported_window
from flower.runtime.messages import Translator, context_size, is_api_error, result_error
from flower.runtime.meter import Meter
from flower.runtime.mirror import Mirror
from flower.runtime.outbox import Outbox
from flower.runtime.signs import Signs
from flower.runtime.transport import Prestarted

if TYPE_CHECKING:
    from anyio.abc import Process

CUT = "The context of this session is full; its handoff comes next."
"""What the transcript says where a full session was cut."""

PAUSED = "The run stops here for now."
"""What it says where the budget is spent or a subagent's request failed."""

INTERRUPT_TIMEOUT = 5.0
"""Seconds to wait for the result after an interrupt (measured: 0.02 to 0.09 s)."""

OVER_BUDGET = "error_max_budget_usd"
"""``ResultMessage.subtype`` where ``max_budget_usd`` was reached."""

STDERR_LINES = 20


@dataclass(slots=True)
class Outcome:
    """How one CLI process ended.

    ``state``: ``"ok"``, ``"stopped"`` (a person), ``"full"`` (the context threshold was crossed), ``"broke"`` (the
    budget is spent) or ``"failed"``.
    ``delivered``: the session knows what it was told. ``text``: the model's last words. ``window``: the main thread's
    context window in tokens as the CLI reported it, 0 if it did not.
    ``status``, ``kind`` and ``reason`` are the SDK's typed fields of a failure. ``answered``: the model had completed
    an answer. ``resets_at`` (epoch seconds): when the limit ends that was reported. ``retry_after`` (seconds): what the
    endpoint last asked to wait, 0 if nothing. ``sent_away``: it asked for more than the CLI would wait.
    """

    state: str
    error: str = ""
    status: int | None = None
    kind: str | None = None
    reason: str | None = None
    mirror_failed: bool = False
    delivered: bool = True
    text: str = ""
    window: int = 0
    answered: bool = False
    resets_at: float | None = None
    retry_after: float = 0.0
    sent_away: bool = False


def _is_the_sdks(problem: Exception) -> bool:
    """The SDK raises a plain Exception when a control request or its reader fails; all else is a bug of ours."""
    return type(problem) is Exception or isinstance(
        problem, (ClaudeSDKError, OSError, EOFError, TimeoutError)
    )


class Attempt:
    """Drives one CLI process for a flight.

    With a ``threshold`` (tokens in the main thread's context) it is cut once that is reached: after the tools and
    subagents that run have answered and before the next request. ``warn_at`` tokens are told to the person.
    ``running`` is a CLI that was started with the arguments of these very options.
    """

    def __init__(
        self,
        flight: Flight,
        options: ClaudeAgentOptions,
        mirror: Mirror,
        *,
        threshold: int = 0,
        warn_at: int = 0,
        meter: Meter | None = None,
        running: Process | None = None,
    ) -> None:
        self._flight = flight
        self._meter = meter or Meter()
        self._signs = Signs()
        self._mirror = mirror
        self._threshold = threshold
        self._warn_at = warn_at
        self._over = False
        self._translate = Translator()
        self._outbox = Outbox(mirror, flight.emit)
        self._result: ResultMessage | None = None
        self._open_tasks: set[str] = set()
        self._full = False
        self._broke = False
        self._enough = asyncio.Event()
        self._asked = False
        self._stopped = False
        self._last_text = ""
        self._calling = False
        self._reading = anyio.CancelScope()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        options.stderr = self._stderr.append
        self._cut_after_tools(options)
        ask_last(options, self._outbox.passed)
        self._client = ClaudeSDKClient(options, transport=self._adopt(running, options))

    def _adopt(self, running: Process | None, options: ClaudeAgentOptions) -> Prestarted | None:
        """The transport to a CLI that runs already; None lets the SDK start it."""
        limit = options.max_buffer_size or MAX_BUFFER_BYTES
        return Prestarted(running, limit=limit, stderr=self._stderr.append) if running else None

    def _cut_after_tools(self, options: ClaudeAgentOptions) -> None:
        # The one hook that the CLI calls after every call of a message has its result and before the next request:
        # stopping there costs nothing, while an interrupt comes when the next request has been sent (measured).
        async def after_batch(data: Any, _tool_use_id: str | None, _context: Any) -> Any:
            if self._meter.over:
                self._broke = True
                if data.get("agent_id"):
                    # A subagent that is stopped by its hook leaves the main thread waiting for ever (measured).
                    self._enough.set()
                return {"continue_": False, "stopReason": PAUSED}
            if data.get("agent_id"):
                return {}
            self._signs.note_results(data.get("tool_calls"))
            self._full = self._over
            if not self._full and not self._signs.lost:
                return {}
            return {"continue_": False, "stopReason": CUT if self._full else PAUSED}

        hooks: dict[Any, list[HookMatcher]] = dict(options.hooks or {})
        hooks["PostToolBatch"] = [*hooks.get("PostToolBatch", []), HookMatcher(hooks=[after_batch])]
        options.hooks = hooks

    async def run(self, prompt: str) -> Outcome:
        """Send the prompt, read to the last result, close the client."""
        emitter = asyncio.create_task(self._outbox.deliver())
        try:
            error = await self._drive(prompt)
        finally:
            self._outbox.close()
            await emitter
        return self._outcome(error)

    async def _drive(self, prompt: str) -> str:
        error = ""
        watcher: asyncio.Task[None] | None = None
        try:
            await self._client.connect()
            if self._flight.stopping:
                return ""
            watcher = asyncio.create_task(self._interrupt_when_asked())
            self._asked = True
            await self._client.query(prompt)
            with self._reading:
                await self._read()
        except Exception as problem:
            if not _is_the_sdks(problem):
                raise
            error = self._explain(problem)
        finally:
            if watcher:
                watcher.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watcher
            with anyio.CancelScope(shield=True):
                await self._leave()
        return error

    async def _leave(self) -> None:
        # A client left in mid-turn costs seconds or one more request: interrupt, read its result, then go.
        try:
            if self._asked and self._result is None and not self._stopped:
                with anyio.move_on_after(INTERRUPT_TIMEOUT):
                    await self._client.interrupt()
                    await self._read()
        except Exception as problem:
            if not _is_the_sdks(problem):
                raise
            self._stderr.append(str(problem))
        await self._client.disconnect()

    async def _interrupt_when_asked(self) -> None:
        stop, enough = (
            asyncio.ensure_future(self._flight.wait_for_stop()),
            asyncio.ensure_future(self._enough.wait()),
        )
        try:
            await asyncio.wait({stop, enough}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            enough.cancel()
        self._stopped = self._flight.stopping
        try:
            with anyio.move_on_after(INTERRUPT_TIMEOUT):
                await self._client.interrupt()
        except Exception as problem:  # the CLI has just ended: the reader learns it by itself
            if not _is_the_sdks(problem):
                raise
        await asyncio.sleep(INTERRUPT_TIMEOUT)
        self._reading.cancel()

    async def _read(self) -> None:
        async for message in self._client.receive_messages():
            self._note(message)
            for event in self._translate.events(message):
                self._outbox.put(event)
            if isinstance(message, ResultMessage):
                self._result = message
                if not self._open_tasks:
                    return
            await self._outbox.keep_pace()

    def _note(self, message: Any) -> None:
        """What the row and the decisions need to know of a message."""
        row = self._flight.row
        self._signs.note(message)
        self._meter.note(message)
        if isinstance(message, AssistantMessage):
            if message.parent_tool_use_id is None and not is_api_error(message):
                self._main_thread(message)
        elif isinstance(message, TaskStartedMessage):
            self._open_tasks.add(message.task_id)
        elif isinstance(message, (TaskNotificationMessage, TaskUpdatedMessage)):
            self._open_tasks.discard(message.task_id)
        elif isinstance(message, ResultMessage):
            row.num_turns += message.num_turns
            self._meter.counter.note(message.total_cost_usd)
        elif isinstance(message, SystemMessage) and message.subtype == "mirror_error":
            # Not the end: the CLI's own file has what was dropped, and it is read back when this process has ended.
            error = str(message.data.get("error", ""))
            self._mirror.failed.append(error)
            row.errors.append(f"mirror_error: {error}")
            text = _(
                "the database did not take some entries ({reason}); they are read back at the end of the step"
            )
            self._outbox.put(Event("error", text=text.format(reason=error)))

    def _main_thread(self, message: AssistantMessage) -> None:
        row = self._flight.row
        self._flight.model = message.model
        if size := context_size(message.usage):
            row.context = size
            data = {"context": size, "window": self._flight.window}
            self._outbox.put(Event("usage", uuid=message.uuid or "", data=data))
            self._compare(size)
        self._calling = any(isinstance(block, ToolUseBlock) for block in message.content)
        texts = [block.text for block in message.content if hasattr(block, "text")]
        if texts:
            self._last_text = "\n".join(texts)

    def _compare(self, size: int) -> None:
        if not self._threshold:
            return
        self._over = size >= self._threshold
        if size >= self._warn_at and not self._over:
            self._warn_at = self._threshold  # once is enough
            data = {"state": "near", "context": size, "at": self._threshold, "window": self._flight.window}
            self._outbox.put(Event("handoff", data=data))

    def _explain(self, problem: BaseException) -> str:
        tail = " | ".join(line for line in self._stderr if line.strip())
        return f"{problem}" + (f" [{tail[-600:]}]" if tail else "")

    def _outcome(self, error: str) -> Outcome:
        result, signs = self._result, self._signs
        outcome = Outcome(
            "ok", mirror_failed=bool(self._mirror.failed), kind=signs.kind, answered=signs.answered
        )
        outcome.delivered = self._mirror.delivered
        outcome.resets_at, outcome.retry_after = signs.resets_at, signs.retry_after
        if result is not None:
            outcome.status, outcome.reason = result.api_error_status, result.terminal_reason
            outcome.window = reported_window(result.model_usage, self._flight.model)
            outcome.sent_away = signs.sent_away(result.api_error_status)
        if self._stopped or self._flight.stopping:
            outcome.state = "stopped"
        elif self._full:
            outcome.state = "full"
        elif self._broke:
            outcome.state, outcome.error = "broke", PAUSED
        elif result is not None and result.subtype == OVER_BUDGET:
            # The CLI also says so of a last answer that was complete: it is paid, and it counts.
            outcome.state, outcome.error = ("broke", OVER_BUDGET) if self._calling else ("ok", "")
            outcome.text = "" if self._calling else self._last_text
        elif signs.lost:
            # Its own text came with a tool result; what the process said at its end is about being stopped.
            outcome.state, outcome.error, outcome.kind = "failed", signs.lost, None
        elif result is None:
            outcome.state, outcome.error = (
                "failed",
                error or self._explain(EOFError("the CLI ended without a result")),
            )
        elif result.is_error:
            outcome.state, outcome.error = "failed", result_error(result)
        else:
            outcome.text = result.result or self._last_text
        return outcome
