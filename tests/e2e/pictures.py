"""Draws docs/pictures/*.svg: one real run at a terminal, with the demo's model.

python -m tests.e2e.pictures
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from html import escape
from itertools import groupby
from pathlib import Path

import pyte
from pyte.screens import Char

from flower.scripted.demo import demo_script, role_of
from flower.testing import Reply, Request, ScriptedEndpoint
from tests.e2e.screens import Terminal

PLACE = Path(__file__).parents[2] / "docs" / "pictures"
SIZE = (92, 26)
CELL, LINE, MARGIN = 8.4, 18, 12
GROUND, INK = "#1d1f21", "#d0d0d0"
INKS = {"red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "cyan": "#56b6c2", "blue": "#61afef"}


def svg(screen: pyte.Screen) -> str:
    """The screen as it is, its cursor included; empty rows at the bottom are left out."""
    used = [y for y, line in enumerate(screen.display) if line.strip()]
    rows, columns = max([screen.cursor.y, *used]) + 1, screen.columns
    width, height = columns * CELL + 2 * MARGIN, rows * LINE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-size="14"'
        " font-family=\"ui-monospace, Menlo, Consolas, 'Noto Sans Mono CJK SC', monospace\">",
        f'<rect width="100%" height="100%" rx="6" fill="{GROUND}"/>',
    ]
    for y in range(rows):
        cells = [(x, screen.buffer[y][x]) for x in range(columns)]
        for look, run in groupby(cells, key=lambda cell: (_style(cell[1]), _is_wide(cell[1].data))):
            taken = list(run)
            text = "".join(char.data for _x, char in taken)
            if text.strip():
                where = f'x="{MARGIN + taken[0][0] * CELL:.1f}" y="{MARGIN + (y + 1) * LINE - 5}"'
                span = f'textLength="{len(taken) * CELL:.1f}" lengthAdjust="spacing" xml:space="preserve"'
                parts.append(f"<text {where} {span} {look[0]}>{escape(text)}</text>")
    x, y = MARGIN + screen.cursor.x * CELL, MARGIN + screen.cursor.y * LINE + 2
    parts.append(f'<rect x="{x:.1f}" y="{y}" width="{CELL}" height="{LINE - 2}" fill="{INK}" opacity=".6"/>')
    return "\n".join([*parts, "</svg>\n"])


def _style(char: Char) -> str:
    style = f'fill="{INKS.get(char.fg, INK)}"'
    style += ' font-weight="bold"' if char.bold else ""
    return style + (' font-style="italic" opacity=".6"' if char.italics else "")


def _is_wide(text: str) -> bool:
    """Wide letters, and the empty cell behind each: drawn apart, so that what follows stands in its column."""
    return not text or ord(text[0]) > 0x2E80


def script(request: Request) -> Reply:
    """The demo's model, slow enough to be watched."""
    if role_of(request) == "oracle":
        return Reply("A worker is writing the converter; the goal's three checks come after that.")
    slow = 2.5 if role_of(request) in ("worker", "coordinator") else 0.2
    return replace(demo_script(request), delay=slow)


def main() -> None:
    """Run twice in one directory and keep four moments."""
    PLACE.mkdir(exist_ok=True)

    def keep(name: str, at: Terminal) -> None:
        (PLACE / f"{name}.svg").write_text(svg(at.screen), "utf-8")

    with tempfile.TemporaryDirectory() as base, ScriptedEndpoint(script) as endpoint:
        project = Path(base, "home", "md2html")
        project.mkdir(parents=True)
        env = {**endpoint.env(), "HOME": str(project.parent)}
        with Terminal(project, "make a md -> html script", env=env, size=SIZE) as at:
            at.wait("One thing decides")
            at.wait(lambda: at.rows[-1].startswith(".. "))
            keep("question", at)
            at.enter("1")
            at.wait("> Bash")
            at.enter("headings need ids")
            at.wait("++ added")
            at.enter("?where are you")
            at.wait("<? A worker")
            at.type("and a table of con")
            at.wait("and a table of con")
            at.wait(lambda: "1 subagent" in at.rows[-1])
            keep("work", at)
            at.ctrl("u")
            while at.pump():
                pass
            keep("end", at)
        with Terminal(project, "tables too", env=env, size=SIZE) as at:
            at.wait("3/3")
            at.wait("> Agent")
            at.wait(lambda: at.rows[-1].startswith(".. 干活 3/3"))
            keep("wake", at)


if __name__ == "__main__":
    main()
