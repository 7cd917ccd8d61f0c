"""Between flower and the CLI: how it is started, what ends with what, and which signals mean what.

Names are loaded at their first use: the guard of the frozen program starts through this package, and every
session waits for it.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # type checkers know the name; importing typing would cost more than the guard itself
if TYPE_CHECKING:
    from flower.supervise.locate import find_claude
    from flower.supervise.processes import become_subreaper, end_orphans, end_strays, strays
    from flower.supervise.shim import MARKER, Launch, child_environment, launch
    from flower.supervise.signals import SignalWatch

_HOME = {
    "locate": ("find_claude",),
    "processes": ("become_subreaper", "end_orphans", "end_strays", "strays"),
    "shim": ("MARKER", "Launch", "child_environment", "launch"),
    "signals": ("SignalWatch",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

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


def __getattr__(name: str) -> object:
    try:
        module = _MODULE_OF[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
