"""The documents a run is made of: brief, goal, verdict, handoff. Pure: text in, values out."""

from __future__ import annotations

from flower.documents.brief import Brief, amendments, append_amendment, brief_digest, language
from flower.documents.goal import Check, Goal
from flower.documents.handoff import Handoff
from flower.documents.verdict import Verdict

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
