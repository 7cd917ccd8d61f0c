"""Numbers and the two lines that tell a person where things stand: the wake banner and the step header."""

from __future__ import annotations

from flower.cli.terminal import width
from flower.locale import _, ngettext

HEADER_COLUMN = 38
"""Where a header's rule ends, so that the figures after it stand in one column."""


def tokens(n: int) -> str:
    """80234 → ``80.2K``, 1200000 → ``1.2M``."""
    if n < 1000:
        return str(n)
    return f"{n / 1000:.1f}K" if n < 999_950 else f"{n / 1_000_000:.1f}M"


def seconds(s: float) -> str:
    """75.2 → ``1:15``, 3725 → ``1:02:05``."""
    minutes, rest = divmod(round(s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def dollars(usd: float) -> str:
    """US dollars; four digits while they are what there is to see."""
    return f"${usd:.2f}" if usd >= 0.1 else f"${usd:.4f}"


def banner(place: str, *, clarifying: bool, checks: int, context: int, wake: int) -> str:
    """The line a waking run begins with.

    Args:
        place: the workspace as the person writes it.
        clarifying: the last run ended before the brief was frozen.
        checks: how many checks the goal has; 0 leaves the figure out.
        context: last known size of the work step's context in tokens; 0 leaves it out.
        wake: this is the n-th wake.
    """
    if clarifying:
        facts = [_("going on with the clarification")]
    else:
        facts = [_("brief confirmed")]
        if checks:
            facts.append(ngettext("{n} check", "{n} checks", checks).format(n=checks))
        if context:
            facts.append(_("work context {size}").format(size=tokens(context)))
    facts.append(_("wake {n}").format(n=wake))
    line = _("<- {place}: picking up where we left off  {facts}")
    return line.format(place=place, facts=_(" | ").join(facts))


def header(
    name: str, index: int, total: int, *, continued: bool, wake: int, columns: int = HEADER_COLUMN * 2
) -> str:
    """``== 干活 ====…  3/3  <- continued | wake 3``; a run that never woke shows neither.

    The rule is shorter where the line would not fit into ``columns``.
    """
    facts = [_("continued")] if continued else []
    if wake > 1:
        facts.append(_("wake {n}").format(n=wake))
    said = _(" | ").join(facts)
    end = (f"  {index}/{total}" if total else "") + (f"  <- {said}" if said else "")
    room = min(HEADER_COLUMN, columns - width(end)) - width(name) - 4
    return f"== {name} {'=' * max(3, room)}{end}"
