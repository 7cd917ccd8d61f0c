"""flower: type one sentence in a directory, get finished and judged work; type again and it goes on.

Every public name is loaded at its first use: ``import flower`` costs nothing and does not import the SDK.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers know the name; typing itself is a third of what `--version` costs
if TYPE_CHECKING:
    from flower.agents.channel import HumanChannel
    from flower.agents.roles import clarify, coordinator, judge, oracle, worker
    from flower.agents.spec import AgentSpec, CompactPolicy
    from flower.agents.workbench import Workbench
    from flower.books.lineage import Lineage
    from flower.books.rewriting import PruningSessionStore, TrimmingSessionStore, trim_report
    from flower.books.sqlite import SqliteSessionStore
    from flower.books.wake import wake_state
    from flower.config.credentials import check_credentials, describe
    from flower.config.dotenv import load_dotenv
    from flower.documents.brief import Brief
    from flower.documents.goal import Goal
    from flower.documents.handoff import Handoff
    from flower.documents.verdict import Verdict
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
    from flower.model.events import Event
    from flower.model.results import StepResult
    from flower.runtime.handoff import HandoffPolicy
    from flower.runtime.resilience import Resilience
    from flower.runtime.runtime import Runtime
    from flower.transcript.expire import EphemeralPolicy
    from flower.transcript.prune import PrunePolicy
    from flower.transcript.trim import TrimPolicy
    from flower.workflow.clarify import clarify_step
    from flower.workflow.goal import goal_step, with_goal
    from flower.workflow.starter import starter_flow
    from flower.workflow.step import Step
    from flower.workflow.workflow import Workflow

_HOME = {
    "agents.channel": ("HumanChannel",),
    "agents.roles": ("clarify", "coordinator", "judge", "oracle", "worker"),
    "agents.spec": ("AgentSpec", "CompactPolicy"),
    "agents.workbench": ("Workbench",),
    "books.lineage": ("Lineage",),
    "books.rewriting": ("PruningSessionStore", "TrimmingSessionStore", "trim_report"),
    "books.sqlite": ("SqliteSessionStore",),
    "books.wake": ("wake_state",),
    "config.credentials": ("check_credentials", "describe"),
    "config.dotenv": ("load_dotenv",),
    "documents.brief": ("Brief",),
    "documents.goal": ("Goal",),
    "documents.handoff": ("Handoff",),
    "documents.verdict": ("Verdict",),
    "model.errors": (
        "BooksDamaged",
        "BooksError",
        "BooksForeign",
        "BooksNewer",
        "BudgetSpent",
        "ConfigurationError",
        "CredentialsMissing",
        "FlowerError",
        "GoalNotReached",
        "HumanInterrupt",
        "NetworkGaveUp",
        "RunIsLive",
        "StepAbort",
        "StepFailed",
        "UsageError",
    ),
    "model.events": ("Event",),
    "model.results": ("StepResult",),
    "runtime.handoff": ("HandoffPolicy",),
    "runtime.resilience": ("Resilience",),
    "runtime.runtime": ("Runtime",),
    "transcript.expire": ("EphemeralPolicy",),
    "transcript.prune": ("PrunePolicy",),
    "transcript.trim": ("TrimPolicy",),
    "workflow.clarify": ("clarify_step",),
    "workflow.goal": ("goal_step", "with_goal"),
    "workflow.starter": ("starter_flow",),
    "workflow.step": ("Step",),
    "workflow.workflow": ("Workflow",),
}
_MODULE_OF = {name: f"flower.{module}" for module, names in _HOME.items() for name in names}

__all__ = [
    "AgentSpec",
    "BooksDamaged",
    "BooksError",
    "BooksForeign",
    "BooksNewer",
    "Brief",
    "BudgetSpent",
    "CompactPolicy",
    "ConfigurationError",
    "CredentialsMissing",
    "EphemeralPolicy",
    "Event",
    "FlowerError",
    "Goal",
    "GoalNotReached",
    "Handoff",
    "HandoffPolicy",
    "HumanChannel",
    "HumanInterrupt",
    "Lineage",
    "NetworkGaveUp",
    "PrunePolicy",
    "PruningSessionStore",
    "Resilience",
    "RunIsLive",
    "Runtime",
    "SqliteSessionStore",
    "Step",
    "StepAbort",
    "StepFailed",
    "StepResult",
    "TrimPolicy",
    "TrimmingSessionStore",
    "UsageError",
    "Verdict",
    "Workbench",
    "Workflow",
    "check_credentials",
    "clarify",
    "clarify_step",
    "coordinator",
    "describe",
    "goal_step",
    "judge",
    "load_dotenv",
    "oracle",
    "starter_flow",
    "trim_report",
    "wake_state",
    "with_goal",
    "worker",
]


def __getattr__(name: str) -> object:
    try:
        module = _MODULE_OF[name]
    except KeyError:
        raise AttributeError(f"module 'flower' has no attribute {name!r}") from None
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
