"""What the commands that look print on stdout: plain lines, tables, a pager where somebody reads."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence

from flower.cli.pipes import silence
from flower.cli.terminal import printable, width

RIGHT = ">"
"""Put before a column's title: its cells are numbers and stand to the right."""


def write(lines: Iterable[str]) -> bool:
    """Print lines without anything that could drive a terminal; False once nobody reads any more."""
    try:
        for line in lines:
            sys.stdout.write(printable(line) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
        return False
    return True


def page(lines: Iterable[str]) -> None:
    """Through the person's pager on a terminal, else like ``write``; lines are made as they are read."""
    if sys.stdout.isatty() and sys.stdin.isatty():
        import click  # Only its pager; those who print need not load it.

        click.echo_via_pager(printable(line) + "\n" for line in lines)
    else:
        write(lines)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of columns as wide as their widest cell; wide characters count two."""
    plain = [title.removeprefix(RIGHT) for title in titles]
    everything = [plain, *([" ".join(cell.split()) for cell in row] for row in rows)]
    widths = [max(width(row[n]) for row in everything) for n in range(len(plain))]
    for row in everything:
        cells = []
        for n, cell in enumerate(row):
            room = " " * (widths[n] - width(cell))
            cells.append(room + cell if titles[n].startswith(RIGHT) else cell + room)
        yield "  ".join(cells).rstrip()


def moment(epoch_s: float) -> str:
    """A time as it is here, to the minute; ``-`` for none."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(epoch_s)) if epoch_s > 0 else "-"
