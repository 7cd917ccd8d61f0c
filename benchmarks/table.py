"""One measurement a row, and the table they make."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One measurement.

    Attributes:
        name: what was measured.
        value: the median, or what the name says, in ``unit``.
        against: what was measured beside it in the same run, with its number.
        ratio: ``value`` over that number; 0 where there is nothing beside it.
        bound: what the ratio, or else the value, must not exceed; None is printed only.
    """

    name: str
    value: float
    unit: str
    against: str = ""
    ratio: float = 0.0
    bound: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the bound holds."""
        return self.bound is None or (self.ratio or self.value) <= self.bound

    def __str__(self) -> str:
        ratio = f"{self.ratio:.2f}" if self.ratio else ""
        bound = "" if self.bound is None else f"<= {self.bound:g}"
        verdict = "" if self.bound is None else "ok" if self.ok else "OVER"
        value = f"{self.value:,.0f}" if self.value >= 1000 else f"{self.value:.3g}"
        return f"{self.name:46} {value:>9} {self.unit:6} {self.against:34} {ratio:>6} {bound:8} {verdict}".rstrip()


HEADER = f"{'':46} {'value':>9} {'unit':6} {'beside, in the same run':34} {'ratio':>6} {'bound':8}".rstrip()


def beside(
    name: str,
    ours: Sequence[float],
    other: str,
    theirs: Sequence[float],
    unit: str,
    bound: float | None = None,
) -> Row:
    """Our median beside another's; both were measured in turns."""
    mine, its = statistics.median(ours), statistics.median(theirs)
    number = f"{its:,.0f}" if its >= 1000 else f"{its:.3g}"
    return Row(name, mine, unit, f"{other}: {number}", mine / its, bound)


def in_turns(times: int, *sides: Callable[[], float]) -> list[list[float]]:
    """Every side's numbers, measured A B A B: none gets the quieter minutes. One round before does not count."""
    for side in sides:
        side()
    out: list[list[float]] = [[] for _ in sides]
    for _ in range(times):
        for numbers, side in zip(out, sides, strict=True):
            numbers.append(side())
    return out


def percentile(numbers: Iterable[float], share: float) -> float:
    """The number below which this share of them lies (nearest rank)."""
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
