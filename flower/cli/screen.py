"""Lines on stderr, with one line at the bottom that is rewritten in place."""

from __future__ import annotations

import sys
import threading

from flower.cli.pipes import silence
from flower.cli.terminal import columns, printable, shorten, wants_colour, width

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import TextIO

PROMPT = "> "
STYLES = {"head": "1", "faint": "2", "bad": "31", "good": "32", "ask": "1;36", "wait": "33"}
"""What a kind of line looks like where colours are wanted (SGR parameters)."""


class Screen:
    """Writes whole lines from any thread; keeps a status line below them where there is a terminal.

    Everything passes ``printable``: no text of a model, a tool or a file can drive the terminal.
    Only carriage return and blanks are used, so it works on a dumb terminal too. When the reader has gone
    away (a closed pipe), writing stops without a word: the work does not depend on being watched.
    """

    def __init__(self, stream: TextIO | None = None, *, live: bool) -> None:
        self._stream = stream or sys.stderr
        self._live = live
        self._lock = threading.RLock()
        self._colour = live and wants_colour()
        self._drawn = 0
        self._held = False
        self._gone = False

    @property
    def columns(self) -> int:
        return columns()

    def open(self) -> None:
        """The run begins."""

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line above the status line; ``style`` is a name in ``STYLES``."""
        with self._lock:
            self._erase()
            self._write(self.coloured(printable(text), style) + "\n")

    def coloured(self, text: str, style: str) -> str:
        """The text with its style around it where colours are wanted."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self._colour and text and style else text

    def note(self, text: str, style: str = "", *, kind: str = "") -> None:
        """A line about something that passes, a retry for instance; ``kind`` is what it is about."""
        self.line(text, style)

    def cut(self, text: str) -> str:
        """The text as one line that fits."""
        return shorten(printable(text), self.columns - 1)

    def status(self, text: str) -> None:
        """Show the text as the status line, cut to one line; nothing where there is no terminal."""
        with self._lock:
            if not self._live or self._held:
                return
            text = self.cut(text)
            pad = max(0, self._drawn - width(text))
            self._write("\r" + text + " " * pad + "\b" * pad)
            self._drawn = width(text)

    def hint(self, text: str) -> None:
        """What may be typed now; shown where there is an empty line to show it in."""

    def ask(self, hint: str, about: str = "") -> None:
        """Leave the cursor behind a prompt; the status line stays away until ``resume``.

        ``about`` is the question, for a screen that can keep it in sight.
        """
        with self._lock:
            self._erase()
            self._held = True
            self._write(f"   ({hint})\n{PROMPT}")

    def resume(self) -> None:
        """The person has answered: the status line may come back."""
        with self._lock:
            self._held = False

    def restore(self) -> None:
        """Give the terminal back as it was found; nothing was changed here."""

    def close(self) -> None:
        with self._lock:
            self._erase()
            self._held = True

    def _erase(self) -> None:
        if self._drawn:
            self._write("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def _write(self, text: str) -> None:
        if self._gone:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody reads any more (a closed pipe, a terminal that hung up): what is running goes on unwatched.
            self._gone = True
            silence(self._stream)
