"""A screen around the typing line: lines go above it, the status below it, what passes right on top of it."""

from __future__ import annotations

import io
import sys
from typing import TextIO

from flower.cli.screen import Screen
from flower.cli.terminal import printable
from flower.cli.typing_line import TypingLine


class LiveScreen(Screen):
    """Shows a run around a typing line."""

    def __init__(self, line: TypingLine) -> None:
        super().__init__(sys.stderr, live=True)
        self._line = line
        self._passing = self._passing_kind = self._style = ""
        self._replaced: list[tuple[str, TextIO]] = []

    def open(self) -> None:
        """Catch what anybody else prints on the terminal: it would tear the typing line apart."""
        for name in ("stderr", "stdout"):
            stream: TextIO = getattr(sys, name)
            if stream.isatty():
                self._replaced.append((name, stream))
                setattr(sys, name, _Above(self, stream))

    def status(self, text: str) -> None:
        self._line.show(status=self.cut(text))

    def note(self, text: str, style: str = "", *, kind: str = "") -> None:
        """A line that the next one of its kind replaces, and that stays as it was last when something else happens."""
        with self._lock:
            if kind != self._passing_kind:
                self._erase()
            self._passing, self._passing_kind = printable(text), kind
            self._style = style
        self._line.show(note=self.cut(text))

    def hint(self, text: str) -> None:
        self._line.show(hint=printable(text))

    def ask(self, hint: str, about: str = "") -> None:
        # What else happens meanwhile scrolls the question away: its beginning stays in sight.
        self._line.show(hint=printable(hint), question=self.cut(f"?? {about}") if about else "")

    def resume(self) -> None:
        self._line.show(hint="", question="")

    def restore(self) -> None:
        self._line.restore()

    def close(self) -> None:
        with self._lock:
            self._erase()
        self._line.show(status="", hint="", question="")
        self._line.close()
        for name, stream in self._replaced:
            setattr(sys, name, stream)
        self._replaced.clear()

    def _erase(self) -> None:
        if self._passing:
            self._line.write(self.coloured(self._passing, self._style) + "\n")
            self._passing = self._passing_kind = ""
            self._line.show(note="")

    def _write(self, text: str) -> None:
        self._line.write(text)


class _Above(io.TextIOBase):
    """Stands in for a stream of the terminal: whole lines go above the typing line."""

    def __init__(self, screen: Screen, stream: TextIO) -> None:
        self._screen = screen
        self._stream = stream
        self._rest = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._screen.line(line)
        return len(text)
