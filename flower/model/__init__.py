"""Values every room shares: events, step results and the error tree. No I/O happens here.

Events and results are loaded at their first use: a command that only looks needs the errors alone.
"""

from __future__ import annotations

from importlib import import_module

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

TYPE_CHECKING = False  # typing itself would cost what this saves
if TYPE_CHECKING:
    from flower.model.events import EVENT_KINDS, Event
    from flower.model.results import StepResult, new_run_id

_MODULE_OF = {"EVENT_KINDS": "events", "Event": "events", "StepResult": "results", "new_run_id": "results"}

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


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
