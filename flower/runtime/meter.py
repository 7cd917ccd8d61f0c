"""What one CLI process costs: an estimate from its messages while it runs, its counter at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claude_agent_sdk import AssistantMessage, TextBlock, ThinkingBlock, ToolUseBlock

from flower.runtime.messages import is_api_error
from flower.runtime.prices import cost_of


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
