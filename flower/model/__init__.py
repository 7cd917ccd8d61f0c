"""Values every room shares: events, step results and the error tree. No I/O happens here."""

from __future__ import annotations

from flower.model.errors import (
    BooksDamaged,
    BooksError,
    BooksForeign,
    BooksNewer,
    BudgetSpent,
    ConfigurationError,
    CredentialsMissing,
    FlowerError,
    GoalNotReached,
    HumanInterrupt,
    NetworkGaveUp,
    RunIsLive,
    StepAbort,
    StepFailed,
    UsageError,
)
from flower.model.events import EVENT_KINDS, Event
from flower.model.results import StepResult, new_run_id

__all__ = [
    "EVENT_KINDS",
    "BooksDamaged",
    "BooksError",
    "BooksForeign",
    "BooksNewer",
    "BudgetSpent",
    "ConfigurationError",
    "CredentialsMissing",
    "Event",
    "FlowerError",
    "GoalNotReached",
    "HumanInterrupt",
    "NetworkGaveUp",
    "RunIsLive",
    "StepAbort",
    "StepFailed",
    "StepResult",
    "UsageError",
    "new_run_id",
]
