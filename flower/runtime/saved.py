"""One line for the person: what a resumed session is not fed again."""

from __future__ import annotations

from flower.locale import _, ngettext
from flower.transcript.report import TrimReport


def saved_line(report: TrimReport) -> str:
    """What the rewriting saved and mended; empty where it changed nothing worth a line.

    Rows that could not be read are always named: something is missing that nobody took out on purpose.
    """
    parts = []
    if report.trimmed or report.images:
        n = report.trimmed + report.images
        parts.append(ngettext("{n} large result in a file", "{n} large results in files", n).format(n=n))
    if report.expired:
        n = report.expired
        parts.append(ngettext("{n} look expired", "{n} looks expired", n).format(n=n))
    if gone := report.errors + report.denials:
        parts.append(
            ngettext("{n} error or refusal left out", "{n} errors and refusals left out", gone).format(n=gone)
        )
    if mended := report.orphans + report.interrupts:
        parts.append(ngettext("{n} cut-off call mended", "{n} cut-off calls mended", mended).format(n=mended))
    if report.skipped:
        n = report.skipped
        parts.append(ngettext("{n} row could not be read", "{n} rows could not be read", n).format(n=n))
    if not parts:
        return ""
    saved = max(0, report.chars_saved)
    return _("resumed with {saved} characters less: {parts}").format(
        saved=_short(saved), parts=", ".join(parts)
    )


def _short(number: int) -> str:
    for limit, unit in ((1_000_000, "M"), (1_000, "K")):
        if number >= limit:
            return f"{number / limit:.1f}{unit}"
    return str(number)
