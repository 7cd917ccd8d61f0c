"""The documents a run is made of: brief, goal, verdict, handoff. Pure: text in, values out.

Names are loaded at their first use: a command that only looks needs the brief and the goal alone.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from flower.documents.brief import Brief, amendments, append_amendment, brief_digest, language
    from flower.documents.goal import Check, Goal
    from flower.documents.handoff import Handoff
    from flower.documents.verdict import Verdict

_HOME = {
    "brief": ("Brief", "amendments", "append_amendment", "brief_digest", "language"),
    "goal": ("Check", "Goal"),
    "handoff": ("Handoff",),
    "verdict": ("Verdict",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Brief",
    "Check",
    "Goal",
    "Handoff",
    "Verdict",
    "amendments",
    "append_amendment",
    "brief_digest",
    "language",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
