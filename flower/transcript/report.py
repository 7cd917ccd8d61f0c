"""What a rewriting changed, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class TrimReport:
    """Counts of one load.

    Attributes:
        entries: entries fed back.
        expired: results of commands that only look, replaced because they are old.
        trimmed: large results moved into files.
        images: images moved into files because a request may hold only so many.
        errors: the CLI's own error messages left out.
        denials: refused calls left out, with their results.
        interrupts: results and marks of an interrupt made neutral or left out.
        orphans: tool calls that got the result they lacked.
        repaired: blocks and entries that no request may hold (empty texts, results without a call, copies)
        left out. snapshots: recorded system prompts left out.
        healed: entries with half characters or NULs, which became U+FFFD.
        skipped: rows that could not be read at all.
        chars_before, chars_after: characters of what was replaced or left out, and of what stands there
        instead.
    """

    entries: int = 0
    expired: int = 0
    trimmed: int = 0
    images: int = 0
    errors: int = 0
    denials: int = 0
    interrupts: int = 0
    orphans: int = 0
    repaired: int = 0
    snapshots: int = 0
    healed: int = 0
    skipped: int = 0
    chars_before: int = 0
    chars_after: int = 0

    @property
    def chars_saved(self) -> int:
        return self.chars_before - self.chars_after

    def shrank(self, before: int, after: int = 0) -> None:
        self.chars_before += before
        self.chars_after += after
