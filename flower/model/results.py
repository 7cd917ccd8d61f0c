"""What a step left behind: one row of the manifest."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class StepResult:
    """The outcome of one attempt at a step.

    Attributes:
        step: the name in the manifest, suffix included (``X#retry1``, ``X#round2``, ``X·判定#1``).
        session_id: the session the step ended in.
        ok: a result arrived and it is not an error.
        cost_usd: what this row added to the SDK's cost counter, US dollars.
        num_turns: turns the SDK counted.
        text: the model's last words, without any API error text.
        error: why ``ok`` is false, empty otherwise.
        started_at, ended_at: epoch seconds.
        attempts: how many times the CLI was started for this row; the first counts.
        errors: what went wrong on the way, one text an attempt.
        resumed: the session had already been used by this very run.
        retired: sessions that were handed off, oldest first.
        context: tokens in the main thread's context at the end.
        cost_estimated: a part of ``cost_usd`` comes from counted tokens, because the CLI ended before it could tell.
    """

    step: str
    session_id: str = ""
    ok: bool = False
    cost_usd: float = 0.0
    num_turns: int = 0
    text: str = ""
    error: str = ""
    started_at: float = field(default_factory=time.time)
    ended_at: float = 0.0
    attempts: int = 0
    errors: list[str] = field(default_factory=list)
    resumed: bool = False
    retired: list[str] = field(default_factory=list)
    context: int = 0
    cost_estimated: bool = False

    @property
    def duration_s(self) -> float:
        """Seconds from start to end, 0.0 while the step is running."""
        return max(0.0, self.ended_at - self.started_at) if self.ended_at else 0.0

    def as_row(self, run: str) -> dict[str, Any]:
        """The manifest row: every field, ``duration_s`` and the run's id; ``cost_estimated`` only where it is true."""
        row = {**asdict(self), "duration_s": round(self.duration_s, 3), "run": run}
        if not self.cost_estimated:
            del row["cost_estimated"]
        return row


def new_run_id() -> str:
    """An id for one run, ``YYYYmmdd-HHMMSS-<6 hex>`` in local time."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(3).hex()}"
