"""One limit for all that a run spends: its steps, judges, subagents, handoffs and side questions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from claude_agent_sdk import AssistantMessage, TextBlock, ThinkingBlock, ToolUseBlock

from flower.runtime.messages import is_api_error
from flower.runtime.prices import cost_of

LEAST = 0.000_001
"""US dollars. Less than that cannot be asked of the CLI, and nothing can be bought with it."""


class Account(Protocol):
    """Where an amount outlives the process: ``flower.books.ledger.Ledger``."""

    def spent_by_others(self, run_id: str) -> float: ...

    def record(self, run_id: str, usd: float) -> bool: ...

    def close(self) -> bool: ...


class Budget:
    """What may be spent, and what has been. Safe from any thread.

    Args:
        limit_usd: US dollars for everything together.
        account: keeps the amounts across processes; None: this process alone counts.
        run_id: the run whose amount is recorded there.
    """

    def __init__(self, limit_usd: float, account: Account | None = None, run_id: str = "") -> None:
        self.limit = float(limit_usd)
        self._account = account
        self._run_id = run_id
        self._before = account.spent_by_others(run_id) if account is not None else 0.0
        self._amounts: dict[object, float] = {}
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """US dollars, earlier runs under the same account included."""
        with self._lock:
            return self._before + sum(self._amounts.values())

    @property
    def remaining(self) -> float:
        """US dollars that are left; 0.0 when nothing is."""
        left = self.limit - self.spent
        return left if left >= LEAST else 0.0

    def charge(self, item: object, usd: float) -> None:
        """Set what one thing, a step for instance, has cost so far. It is on disk on return."""
        with self._lock:
            if self._amounts.get(item, 0.0) == usd:
                return
            self._amounts[item] = usd
            if self._account is not None:
                self._account.record(self._run_id, sum(self._amounts.values()))

    def settle(self) -> None:
        """The run has come to its end: the next one has the whole of its own limit."""
        if self._account is not None:
            self._account.close()


class Counter:
    """Sums a counter that may start again at zero in between."""

    def __init__(self) -> None:
        self.total = 0.0
        self.read = False
        self._last = 0.0

    def note(self, reading: float | None) -> None:
        """Take a reading: what it rose by counts, and all of it after a reset."""
        if reading is None:
            return
        self.read = True
        self.total += reading - self._last if reading >= self._last else reading
        self._last = reading


def share_of(reading: float, before: float, estimate: float) -> float:
    """What a process has cost, where its counter may have begun with what the session had cost before.

    Versions of the CLI have counted both ways, and nothing in a message tells which. What the tokens seen would cost
    does: of the two readings the one nearer to it counts.

    Args:
        reading: the counter of this process at its end, US dollars.
        before: what the session had cost until then.
        estimate: what the requests of this process cost by the prices of their tokens.
    """
    if before <= 0 or reading < before:
        return reading
    rise = reading - before
    return rise if abs(rise - estimate) < abs(reading - estimate) else reading


class Meter:
    """Estimates what a CLI process is spending, message by message, until its counter arrives.

    Args:
        report: called with the new estimate after each message that shows a cost.
        spent: whether nothing is left to spend; asked before another request is let through.
    """

    def __init__(
        self, report: Callable[[float], None] | None = None, spent: Callable[[], bool] | None = None
    ) -> None:
        self._report = report
        self._spent = spent
        self._settled = 0.0
        self._open: dict[str, tuple[str, float, int]] = {}
        self.counter = Counter()

    def note(self, message: Any) -> None:
        """Add what a message shows of a request. The parts of one answer come as messages of their own."""
        if not isinstance(message, AssistantMessage) or is_api_error(message):
            return
        thread = message.parent_tool_use_id or ""
        request = message.message_id or message.uuid or ""
        last, cost, characters = self._open.get(thread, ("", 0.0, 0))
        if request != last:
            # One answer a thread is open at a time: only it can still grow.
            self._settled += cost
            cost, characters = 0.0, 0
        characters += sum(_length(block) for block in message.content)
        cost = max(cost, cost_of(message.usage, message.model, characters=characters))
        self._open[thread] = request, cost, characters
        if self._report is not None:
            self._report(self.estimate)

    @property
    def estimate(self) -> float:
        """US dollars by the prices of the tokens seen."""
        return self._settled + sum(cost for _request, cost, _characters in self._open.values())

    @property
    def over(self) -> bool:
        """Whether another request would be one too many."""
        return self._spent is not None and self._spent()

    def cost(self, before: float = 0.0) -> tuple[float, bool]:
        """US dollars the process has cost, and whether that is an estimate because no counter arrived."""
        if not self.counter.read:
            return self.estimate, self.estimate > 0
        return share_of(self.counter.total, before, self.estimate), False


def _length(block: Any) -> int:
    if isinstance(block, TextBlock):
        return len(block.text)
    if isinstance(block, ThinkingBlock):
        return len(block.thinking)
    return len(str(block.input)) if isinstance(block, ToolUseBlock) else 0
