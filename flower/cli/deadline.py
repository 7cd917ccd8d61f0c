"""``--deadline TIME``: when a run must have come to an end."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import Any

import click

from flower.locale import _
from flower.model import GoalNotReached

LOOK_SECONDS = 20.0
"""A machine that slept wakes up late: the clock is looked at again, not only waited for."""

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})")


class DeadlinePassed(GoalNotReached):
    """The time that ``--deadline`` names came before the run's end; what it has done is kept."""


class Moment(click.ParamType[float]):
    """``18:30`` (the next one), ``2h``, ``1h30m``, ``45s``, or a date and time; as epoch seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            moment = parse_moment(str(value), datetime.now())
        except ValueError:
            self.fail(_("{value!r} is no time: 18:30, 2h, 1h30m or 2031-05-01T18:30").format(value=value))
        if moment <= time.time():
            self.fail(_("{value!r} has passed").format(value=value))
        return moment


def parse_moment(text: str, now: datetime) -> float:
    """The moment that the text names, epoch seconds; ``now`` is local time.

    Raises:
        ValueError: it names none.
    """
    if text and (found := _DURATION.fullmatch(text)):
        hours, minutes, seconds = (int(group or 0) for group in found.groups())
        return (now + timedelta(hours=hours, minutes=minutes, seconds=seconds)).timestamp()
    if found := _CLOCK.fullmatch(text):
        at = now.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        return (at if at > now else at + timedelta(days=1)).timestamp()
    return datetime.fromisoformat(text).timestamp()


async def reached(moment: float) -> None:
    """Wait until the clock shows the moment."""
    import asyncio  # whoever awaits has it; those who only parse an option do not

    while (left := moment - time.time()) > 0:
        await asyncio.sleep(min(left, LOOK_SECONDS))
