"""When a session is full: how large the window is, at which size a handoff is due, how many a step may need."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flower.locale import _
from flower.model import UsageError

LARGE_WINDOW = 1_000_000
SMALL_WINDOW = 200_000

SMALLEST = 10_000
"""Tokens: a session handed off below this would do nothing but read its handoff."""

WARNING = 20_000
"""Tokens before the threshold at which the person is told that a handoff is near."""

_STANDALONE_1M = re.compile(r"(?<![a-z0-9])1m(?![a-z0-9])", re.I)


def window_of_name(model: str) -> int:
    """A guess at a model's context window, in tokens, from its name alone."""
    return LARGE_WINDOW if _STANDALONE_1M.search(model) else SMALL_WINDOW


def default_window(model: str | None = None) -> int:
    """A guess at the context window, in tokens, until the CLI reports the real one.

    The name is ``model``, else ANTHROPIC_MODEL, else ANTHROPIC_DEFAULT_OPUS_MODEL: 1,000,000 where it says ``1m``,
    otherwise 200,000, ``haiku`` included. With no name at all the CLI's own default model runs: 1,000,000.
    """
    name = model or os.environ.get("ANTHROPIC_MODEL") or os.environ.get("ANTHROPIC_DEFAULT_OPUS_MODEL") or ""
    return window_of_name(name) if name else LARGE_WINDOW


@dataclass(frozen=True)
class HandoffPolicy:
    """When a session hands its work to a fresh one.

    Attributes:
        enabled: False lets sessions run into the wall.
        window: the context window in tokens. None is ``default_window()``, replaced by what the CLI reports as
            soon as it does; a number given here stays.
        headroom: tokens kept free for the handoff itself and for what the last tools still bring.
        max_generations: handoffs in one step; a step that needs more fails.

    Raises:
        UsageError: (a ValueError) a window of less than ``headroom`` + 10,000, or a value below its least.
    """

    enabled: bool = True
    window: int | None = None
    headroom: int = 50_000
    max_generations: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "_given", self.window is not None)
        if self.window is None:
            object.__setattr__(self, "window", default_window())
        if self.headroom < 0 or self.max_generations < 1:
            raise UsageError(_("a handoff needs headroom of 0 or more and at least one generation"))
        if self.size < self.headroom + SMALLEST:
            text = _("a window of {window} tokens cannot hold a handoff; the least is {least}")
            raise UsageError(text.format(window=self.window, least=self.headroom + SMALLEST))

    @property
    def given(self) -> bool:
        """Whether somebody named the window: then it is no guess, and no report replaces it."""
        return bool(getattr(self, "_given", False))

    @property
    def size(self) -> int:
        """The window as a number."""
        return int(self.window or 0)

    @property
    def at(self) -> int:
        """Tokens in the main thread's context at which it is handed off."""
        return self.threshold(self.size)

    @property
    def warn_at(self) -> int:
        """Tokens at which the person is told that a handoff is near."""
        return self.warning(self.size)

    def threshold(self, window: int) -> int:
        """``at`` in a window of another size: a small model's reported one may be below what can be asked for."""
        return max(SMALLEST, window - self.headroom)

    def warning(self, window: int) -> int:
        """``warn_at`` in a window of another size."""
        return max(1_000, self.threshold(window) - WARNING)


def policy_of(handoff: bool | HandoffPolicy) -> HandoffPolicy:
    """What ``Runtime(handoff=…)`` means.

    Raises:
        TypeError: neither a bool nor a HandoffPolicy.
    """
    if isinstance(handoff, HandoffPolicy):
        return handoff
    if isinstance(handoff, bool):
        return HandoffPolicy(enabled=handoff)
    raise TypeError(f"handoff is True, False or a HandoffPolicy, not {handoff!r}")


class Windows:
    """The window of each model of one run: named by a person, else reported by the CLI, else guessed."""

    def __init__(self, policy: HandoffPolicy) -> None:
        self._policy = policy
        self._reported: dict[str | None, int] = {}

    def of(self, model: str | None) -> int:
        """The window, in tokens, of an agent whose spec names this model (None: the environment's)."""
        if self._policy.given:
            return self._policy.size
        # Guessed now and not when the policy was made: a `.env` may have named the model since.
        return self._reported.get(model) or default_window(model)

    def report(self, model: str | None, window: int) -> None:
        """Remember what the CLI said; 0 is no report."""
        if window > 0:
            self._reported[model] = window

    def known(self, model: str | None) -> int:
        """The window that was reported, 0 before."""
        return self._reported.get(model, 0)


def reported_window(usage: Mapping[str, Any] | None, model: str) -> int:
    """The main thread's window in ``ResultMessage.model_usage``, which lists subagents' models as well; 0 = unknown.

    A model with a larger window than its usual one is listed as ``name[1m]`` while its messages say ``name``.
    """
    windows = {n: int(u.get("contextWindow") or 0) for n, u in (usage or {}).items()}
    mine = [w for name, w in windows.items() if name == model or name.partition("[")[0] == model]
    if mine:
        return max(mine)
    return next(iter(windows.values())) if len(windows) == 1 else 0
