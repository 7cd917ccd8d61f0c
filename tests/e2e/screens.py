"""A terminal that a test sits at: the command in a pty, and what its screen shows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pexpect
import pyte

from tests.conftest import clean_environment
from tests.e2e.harness import FLOWER

PATIENCE_SECONDS = 60.0
BRACKETS = ("\x1b[200~", "\x1b[201~")
"""What a terminal puts around pasted text."""


class Terminal:
    """The installed command at a terminal of its own.

    Args:
        place: the current directory; HOME lies beside it.
        words: the command line without ``flower``.
        env: added to the empty environment.
        size: columns and rows.
    """

    def __init__(
        self, place: Path, *words: str, env: dict[str, str] | None = None, size: tuple[int, int] = (100, 40)
    ) -> None:
        home = place.parent / "home"
        home.mkdir(exist_ok=True)
        self._screen = pyte.HistoryScreen(*size, history=10_000, ratio=0.5)
        self._stream = pyte.Stream(self._screen)
        self.raw = ""
        self.child = pexpect.spawn(
            FLOWER[0],
            list(words),
            cwd=str(place),
            env=clean_environment(home, **{"TERM": "xterm-256color", **(env or {})}),
            encoding="utf-8",
            codec_errors="replace",
            timeout=PATIENCE_SECONDS,
            dimensions=(size[1], size[0]),
        )
        self.child.delaybeforesend = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.child.close(force=True)

    # ---- what is typed

    def type(self, text: str) -> None:
        """Press the keys of a text."""
        self.child.send(text)

    def enter(self, text: str = "") -> None:
        """Type a line and press Enter."""
        self.child.send(text + "\r")

    def paste(self, text: str) -> None:
        """Paste as a terminal does that was asked to mark pasted text."""
        self.child.send(BRACKETS[0] + text.replace("\n", "\r") + BRACKETS[1])

    def ctrl(self, letter: str) -> None:
        """Ctrl and a letter."""
        self.child.sendcontrol(letter)

    def resize(self, columns: int, rows: int) -> None:
        """Drag the window's corner."""
        self.child.setwinsize(rows, columns)
        self._screen.resize(rows, columns)

    # ---- what is seen

    def pump(self, seconds: float = 0.05) -> bool:
        """Let the screen take what has come; False once the command has closed its terminal."""
        try:
            data = self.child.read_nonblocking(65536, seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True

    @property
    def rows(self) -> list[str]:
        """The screen's lines from the top, without blanks at their ends and without empty ones below."""
        lines = [line.rstrip() for line in self._screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        """All that can be read, what has been scrolled away included."""
        columns = range(self._screen.columns)
        above = ["".join(line[x].data for x in columns).rstrip() for line in self._screen.history.top]
        return "\n".join([*above, *self.rows])

    def wait(self, wanted: str | Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until a text can be read, or a condition holds."""
        deadline = time.monotonic() + seconds
        while not (wanted in self.text if isinstance(wanted, str) else wanted()):
            alive = self.pump()
            assert alive or (isinstance(wanted, str) and wanted in self.text), f"ended:\n{self.text}"
            assert time.monotonic() < deadline, f"{wanted!r} did not come:\n{self.text}"

    def end(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait for the command's end; its exit status, ``-n`` if signal n ended it."""
        deadline = time.monotonic() + seconds
        while self.pump():
            assert time.monotonic() < deadline, f"it does not end:\n{self.text}"
        self.child.wait()
        if self.child.exitstatus is None:
            return -int(self.child.signalstatus or 0)
        return int(self.child.exitstatus)
