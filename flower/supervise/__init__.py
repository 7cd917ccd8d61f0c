"""Between flower and the CLI: how it is started, what ends with what, and which signals mean what."""

from __future__ import annotations

from flower.supervise.locate import find_claude
from flower.supervise.processes import become_subreaper, end_orphans, end_strays, strays
from flower.supervise.shim import MARKER, Launch, child_environment, launch
from flower.supervise.signals import SignalWatch

__all__ = [
    "MARKER",
    "Launch",
    "SignalWatch",
    "become_subreaper",
    "child_environment",
    "end_orphans",
    "end_strays",
    "find_claude",
    "launch",
    "strays",
]
