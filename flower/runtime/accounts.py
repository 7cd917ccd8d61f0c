"""What a run spends: its budget, and what each CLI process puts into its step's row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from flower.books.ledger import Ledger
from flower.books.manifest import Manifest
from flower.locale import _
from flower.model import BudgetSpent
from flower.runtime.budget import Budget
from flower.runtime.flight import Flight

if TYPE_CHECKING:
    from flower.runtime.meter import Meter


class Accounts:
    """Keeps one run's money.

    Args:
        run_dir, run_id, manifest: whose books these are.
        limit: US dollars for the whole run, or a Budget that is shared with somebody else; None for no limit.
        notice: called with a line where an amount could not be kept.
    """

    def __init__(
        self,
        run_dir: Path,
        run_id: str,
        manifest: Manifest,
        limit: float | Budget | None,
        *,
        notice: Callable[[str], None],
    ) -> None:
        self._run_id = run_id
        self._manifest = manifest
        self.budget = self._open(run_dir, limit, notice)

    def _open(
        self, run_dir: Path, limit: float | Budget | None, notice: Callable[[str], None]
    ) -> Budget | None:
        if isinstance(limit, Budget):
            return limit
        ledger = Ledger(run_dir, notice=notice)
        if limit is None:
            # Whoever gives no limit has lifted the one that an earlier run was stopped by.
            ledger.close()
            return None
        return Budget(limit, ledger, self._run_id)

    def check(self, *, at_once: bool = False) -> None:
        """Raise BudgetSpent if nothing is left, or ``at_once`` if what is left does not pay another request."""
        budget = self.budget
        if budget is not None and (at_once or not budget.remaining):
            spent = _("budget spent: ${cost:.2f} of ${limit:.2f}").format(
                cost=budget.spent, limit=budget.limit
            )
            raise BudgetSpent(spent, hint=_("Run flower again with a larger --budget to go on."))

    def meter(self, flight: Flight, *, limited: bool) -> Meter:
        """What estimates the cost of the flight's next CLI process while it runs."""
        from flower.runtime.meter import Meter

        budget = self.budget

        def report(estimate: float) -> None:
            if not flight.ended:
                flight.spending = estimate
                self._charge(flight)

        return Meter(report, (lambda: not budget.remaining) if budget is not None and limited else None)

    def settle(self, flight: Flight, meter: Meter, *, continued: str) -> None:
        """Put into the row what the CLI process cost; ``continued`` is the session it went on with, if any."""
        if flight.ended:
            return  # The row is written already, with the estimate in it.
        before = self._cost_of_session(continued, flight) if continued and meter.counter.read else 0.0
        cost, estimated = meter.cost(before)
        flight.spending = 0.0
        flight.row.cost_usd += cost
        flight.row.cost_estimated = flight.row.cost_estimated or estimated
        self._charge(flight)

    def _cost_of_session(self, session_id: str, flight: Flight) -> float:
        rows = [row for row in self._manifest.rows() if isinstance(row, dict)]
        earlier = sum(float(row.get("cost_usd") or 0) for row in rows if row.get("session_id") == session_id)
        return earlier + (flight.row.cost_usd if flight.row.session_id == session_id else 0.0)

    def _charge(self, flight: Flight) -> None:
        if self.budget is not None:
            item = (self._run_id, flight.row.step, flight.row.started_at)
            self.budget.charge(item, flight.row.cost_usd + flight.spending)

    def finish(self) -> None:
        """The run has come to its end: the next one has a whole budget again."""
        if self.budget is not None:
            self.budget.settle()
