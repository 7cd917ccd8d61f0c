"""Regular expressions that are compiled at their first use.

Compiled when their modules are loaded, the ones for brief, goal, verdict and errors cost every start more than all else
that flower itself loads, and most starts use none of them.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # importing typing would cost what this module saves
if TYPE_CHECKING:
    from typing import Any


class LatePattern:
    """Stands for ``re.compile(pattern, flags)``: the same methods, once one is used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # copy and pickle ask before there is a source
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)
        return value


def late(pattern: str, flags: int | re.RegexFlag = 0) -> re.Pattern[str]:
    """``re.compile``, put off; a mistake in the pattern shows when it is used."""
    return LatePattern(pattern, int(flags))  # type: ignore[return-value]
