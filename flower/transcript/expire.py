"""Results of commands that only look expire: an old `git status` is not useless, it misleads."""

from __future__ import annotations

from dataclasses import dataclass

from .pairs import Pairs, texts_of
from .report import TrimReport
from .shell import is_ephemeral

EXPIRED = (
    "[The result of `{cmd}` has expired: {age} newer results of such commands had come by then. "
    "Run it again if needed.]"
)


@dataclass(frozen=True)
class EphemeralPolicy:
    """When results of commands that only look expire.

    Attributes:
        enabled: False = never.
        keep_recent: so many of the latest such results always stay.
        max_chars: longer results are left to the trimming of large ones, which keeps their text in a file.
        text: what stands there instead; `{cmd}` is the command, `{age}` how many results stood behind it
        when it expired. block: the boundary moves by so many results at once, so that most of a prompt stays
        what it was and is cached.
    """

    enabled: bool = True
    keep_recent: int = 6
    max_chars: int = 2000
    text: str = EXPIRED
    block: int = 6


def boundary(count: int, keep: int, block: int) -> int:
    """How many of the first of `count` things are old: a multiple of `block` that leaves at least `keep`."""
    block = max(1, block)
    return max(0, (count - max(0, keep)) // block * block)


def expire(pairs: Pairs, policy: EphemeralPolicy, report: TrimReport) -> None:
    """Replaces the bodies of old results of commands that only look. Nothing is kept: running it again is
    free.
    """
    if not policy.enabled:
        return
    looks = []
    for use, answer in pairs.answered():
        command = use.command
        if command is not None and is_ephemeral(command) and answer.settled:
            looks.append((command, answer))
    block = max(1, policy.block)
    for n, (command, answer) in enumerate(looks[: boundary(len(looks), policy.keep_recent, block)]):
        if answer.part.surely_has(policy.max_chars + 1):
            continue
        body = answer.part.body
        size = sum(map(len, texts_of(body)))
        # The age is the one at the moment it expired, and says the same ever after.
        age = (n // block + 1) * block + max(0, policy.keep_recent) - n - 1
        text = policy.text.format(cmd=_short(command), age=age)
        if size > policy.max_chars or body == text:
            continue
        answer.set_body(text)
        report.expired += 1
        report.shrank(size, len(text))


def _short(command: str) -> str:
    command = " ".join(command.split())
    return command if len(command) <= 200 else command[:199] + "…"
