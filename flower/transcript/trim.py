"""Old large results move into files; a pointer stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .expire import boundary
from .pairs import Answer, Pairs, texts_of
from .report import TrimReport

Spill = Callable[[bytes, str], "str | None"]
"""Stores bytes under a name made of their hash and the suffix; the path to tell the model, None if it could
not be written.
"""

POINTER = (
    "[Tool result of {chars} characters, moved to {path} (relative to the working directory). "
    "Read that file when needed.]"
)


@dataclass(frozen=True)
class TrimPolicy:
    """When large results move into files.

    Attributes:
        keep_recent: so many of the latest large results always stay.
        min_chars: from so many characters on a result is large.
        spill_dirname: where the files go, relative to the workspace.
        enabled: False = they never do.
        block: the boundary moves by so many results at once, so that most of a prompt stays what it was and
        is cached.
    """

    keep_recent: int = 20
    min_chars: int = 2000
    spill_dirname: str = ".flower/spill"
    enabled: bool = True
    block: int = 20


def trim(pairs: Pairs, policy: TrimPolicy, spill: Spill, report: TrimReport, large: list[Answer]) -> None:
    """Moves the texts of old large results into files. Images and documents stay; so does a text that no
    file will take.
    """
    if not policy.enabled:
        return
    for answer in large[: boundary(len(large), policy.keep_recent, policy.block)]:
        content = answer.part.body
        texts = texts_of(content)
        size = sum(map(len, texts))
        if size < policy.min_chars:
            continue  # expired meanwhile
        path = spill("\n".join(texts).encode(), ".txt")
        if path is None:
            continue
        pointer = POINTER.format(chars=size, path=path)
        answer.set_body(pointer if isinstance(content, str) else _with_pointer(content, pointer))
        report.trimmed += 1
        report.shrank(size, len(pointer))


def large_results(pairs: Pairs, policy: TrimPolicy) -> list[Answer]:
    """The results that count as large, in order; taken before anything expires, so that the count never goes
    back.
    """
    if not policy.enabled:
        return []
    least = policy.min_chars
    long = (answer for _, answer in pairs.answered() if answer.part.may_have(least) and answer.settled)
    return [answer for answer in long if answer.part.surely_has(least) or answer.chars() >= least]


def _with_pointer(content: list[dict[str, object]], pointer: str) -> list[dict[str, object]]:
    kept = [b for b in content if not (isinstance(b, dict) and isinstance(b.get("text"), str))]
    return [{"type": "text", "text": pointer}, *kept]
