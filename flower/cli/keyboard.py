"""Lines typed by a person, read by a thread that can be stopped."""

from __future__ import annotations

import codecs
import os
import select
import sys
import threading
from collections.abc import Callable
from typing import Protocol

from flower.cli.terminal import is_dumb

POLL_SECONDS = 0.2


class Typed(Protocol):
    """Where typed lines come from: a ``Keyboard``, or a ``TypingLine``."""

    def read_line(self) -> str | None:
        """The next line; None at the end of input. Ctrl-C raises KeyboardInterrupt."""

    def listen(self, on_line: Callable[[str | None], None]) -> None:
        """Hand every further line to ``on_line``, in a thread of its own; None at the end of input."""

    def close(self) -> None:
        """Stop reading; what is typed from now on belongs to the shell."""


def open_keyboard(*, interactive: bool, plain: bool) -> Typed | None:
    """What reads a person's lines; None where nobody can be asked.

    A typing line where the terminal can draw one; ``plain``, a dumb terminal or a job in the background
    leave the editing to the terminal itself.
    """
    if not interactive:
        return None
    if plain or is_dumb() or in_background(sys.stdin.fileno()):
        return Keyboard()
    from flower.cli.typed_history import history_file
    from flower.cli.typing_line import TypingLine

    return TypingLine(history_file())


class Keyboard:
    """Reads the terminal's lines.

    Bytes are taken from the descriptor, never through ``sys.stdin``: a thread that sits in a buffered read
    cannot be ended, and what it has buffered is lost to whoever asks next. Before ``listen`` is called,
    ``read_line`` takes the next line; afterwards every line goes to the listener.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._fd = sys.stdin.fileno() if descriptor is None else descriptor
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._buffer = ""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def read_line(self) -> str | None:
        """The next line without its end; None at the end of input. Ctrl-C raises KeyboardInterrupt."""
        while True:
            line = self._take_line()
            if line is not None:
                return line
            if not self._fill():
                return None

    def listen(self, on_line: Callable[[str | None], None]) -> None:
        """Hand every further line to ``on_line``, in the reader's thread; None once at the end of input."""
        self._thread = threading.Thread(target=self._run, args=(on_line,), name="keyboard", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading; what is typed from now on belongs to the shell."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self, on_line: Callable[[str | None], None]) -> None:
        while not self._stop.is_set():
            while (line := self._take_line()) is not None:
                on_line(line)
            if not self._readable():
                continue
            if not self._fill():
                on_line(None)
                return

    def _readable(self) -> bool:
        # A background job that reads its terminal is stopped by the kernel: leave it to the foreground.
        if in_background(self._fd):
            self._stop.wait(POLL_SECONDS)
            return False
        try:
            return bool(select.select([self._fd], [], [], POLL_SECONDS)[0])
        except OSError:
            return True  # the terminal is gone: the read that follows reports the end

    def _take_line(self) -> str | None:
        if "\n" not in self._buffer:
            return None
        line, self._buffer = self._buffer.split("\n", 1)
        return line.rstrip("\r")

    def _fill(self) -> bool:
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False  # a terminal that hung up reports EIO: for a reader that is the end of input
        if not data:
            return False
        self._buffer += self._decode(data)
        return True


def in_background(descriptor: int) -> bool:
    """Whether the terminal belongs to another job of the shell just now."""
    try:
        return os.isatty(descriptor) and os.tcgetpgrp(descriptor) != os.getpgrp()
    except OSError:
        return False  # not our controlling terminal, so no job control either; or gone, as select will say
