"""The copy of a transcript that the model reads, made in one order: repair, expire, trim, prune, link."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .chain import relink
from .expire import EphemeralPolicy, expire
from .images import limit_images
from .look import Entry
from .pairs import pairs_of
from .prune import PrunePolicy, prune
from .record import Record, records_of
from .repair import repair
from .report import TrimReport
from .trim import Spill, TrimPolicy, large_results, trim


@dataclass(frozen=True)
class Rules:
    """The policies of one store; `prune=None` leaves errors, refusals, interrupts and cut-off calls as they
    are.
    """

    trim: TrimPolicy = field(default_factory=TrimPolicy)
    ephemeral: EphemeralPolicy = field(default_factory=EphemeralPolicy)
    prune: PrunePolicy | None = field(default_factory=PrunePolicy)


def nowhere(data: bytes, suffix: str) -> str | None:
    """A spill that keeps nothing: large bodies stay where they are."""
    return None


def rewrite(
    records: list[Record], rules: Rules, session_id: str, spill: Spill = nowhere
) -> tuple[list[Record], TrimReport]:
    """What is fed back of a transcript, and what was changed. Doing it twice changes nothing more.

    The records are used up; the entries they were made from are not touched.
    """
    report = TrimReport()
    repair(records, report)
    pairs = pairs_of(records)
    large = large_results(pairs, rules.trim)
    expire(pairs, rules.ephemeral, report)
    trim(pairs, rules.trim, spill, report, large)
    if rules.prune is not None:
        records = prune(records, pairs, rules.prune, session_id, report)
    limit_images(records, spill, report)
    relink(records)
    kept = [record for record in records if not record.dropped]
    report.entries = len(kept)
    report.healed = sum(record.healed for record in kept)
    return kept, report


def rewrite_entries(
    entries: Iterable[Entry], rules: Rules | None = None, session_id: str = "", spill: Spill = nowhere
) -> tuple[list[Entry], TrimReport]:
    """`rewrite` from parsed entries to parsed entries."""
    records, report = rewrite(records_of(entries), rules or Rules(), session_id, spill)
    return [record.entry() for record in records], report
