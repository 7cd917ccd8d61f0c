"""One limit for all that a run spends: its steps, judges, subagents, handoffs and side questions."""

from __future__ import annotations

import threading
from typing import Protocol

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
