"""``flower steps``: the manifest as a table."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from flower.cli import paper
from flower.cli.phrases import dollars, seconds, tokens
from flower.cli.status import problem_lines
from flower.cli.terminal import columns, printable, shorten
from flower.locale import _, ngettext

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

    from flower.cli.settings import Settings

ERROR_COLUMNS = 60


def run(settings: Settings, *, only: str | None = None) -> None:
    """Answer ``flower steps``; ``only`` is the id of a run, or ``last``."""
    from flower.inspect.books import Books
    from flower.inspect.status import cost_of

    books = Books.read(settings.run_dir, settings.workspace)
    rows = books.rows
    if only:
        wanted = rows[-1].get("run") if only == "last" and rows else only
        rows = [row for row in rows if row.get("run") == wanted]
    cost = sum(cost_of(row) for row in rows)
    if settings.json is not None:
        for row in rows:
            settings.json.write({**row, "type": "row"})
        last = str(rows[-1].get("run") or "") if rows else ""
        settings.json.end("ok", 0, steps=len(rows), cost_usd=cost, run=last or None)
        return
    paper.write(_lines(rows, cost))
    for line in problem_lines([p for p in books.problems if p.file.endswith("manifest.json")]):
        print(printable(line), file=sys.stderr)


def _lines(rows: list[dict[str, Any]], cost: float) -> Iterator[str]:
    if not rows:
        yield _("no step has been run here yet")
        return
    titles = (
        _("began"),
        _("step"),
        ">" + _("cost"),
        ">" + _("time"),
        ">" + _("turns"),
        ">" + _("context"),
        _("session"),
        _("ended"),
    )
    yield from paper.table(titles, [_cells(row) for row in rows])
    total = ngettext("{n} row", "{n} rows", len(rows)).format(n=len(rows))
    yield f"{total}, {dollars(cost)}"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    number = {name: row.get(name) if isinstance(row.get(name), (int, float)) else 0 for name in _NUMBERS}
    estimated = "~" if row.get("cost_estimated") else ""
    return (
        paper.moment(number["started_at"] or 0),
        str(row.get("step", "?")),
        estimated + dollars(number["cost_usd"] or 0),
        seconds(number["duration_s"] or 0),
        str(number["num_turns"] or 0),
        tokens(int(number["context"])) if number["context"] else "-",
        str(row.get("session_id") or "-")[:8],
        _ending(row),
    )


_NUMBERS = ("started_at", "cost_usd", "duration_s", "num_turns", "context")


def _ending(row: dict[str, Any]) -> str:
    """How a step ended, in words: done or why not, after how many attempts, after which handoffs."""
    if row.get("ok"):
        facts = [_("done")]
    elif row.get("error"):
        facts = [shorten(str(row["error"]), min(ERROR_COLUMNS, columns()))]
    else:
        facts = [_("at work, or killed in it")]
    attempts, retired = row.get("attempts"), row.get("retired")
    if isinstance(attempts, int) and attempts > 1:
        facts.append(ngettext("{n} attempt", "{n} attempts", attempts).format(n=attempts))
    if isinstance(retired, list) and retired:
        facts.append(ngettext("{n} handoff", "{n} handoffs", len(retired)).format(n=len(retired)))
    return ", ".join(facts)
