"""A terminal that a test sits at: the command in a pty, and what its screen shows."""

from __future__ import annotations

import itertools
import re
import signal
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import pexpect
import pyte

from tests.conftest import clean_environment
from tests.e2e.harness import FLOWER

PATIENCE_SECONDS = 60.0
FIGURES = ((r"\b\d+:\d\d\b", "0:00"), (r"\$\d+\.\d+", "$0.00"), (r"\b\d+\.\dK\b", "0.0K"))
BRACKETS = ("\x1b[200~", "\x1b[201~")
"""What a terminal puts around pasted text."""


class Terminal:
    """The installed command at a terminal of its own.

    Args:
        place: the current directory; HOME lies beside it.
        words: the command line without ``flower``.
        env: added to the empty environment.
        size: columns and rows.
        program: another one than ``flower``: a shell, for instance.
        ignored: signals that the command is started with as ignored.
    """

    def __init__(
        self,
        place: Path,
        *words: str,
        env: dict[str, str] | None = None,
        size: tuple[int, int] = (100, 40),
        program: str = FLOWER[0],
        ignored: Sequence[signal.Signals] = (),
    ) -> None:
        home = place.parent / "home"
        home.mkdir(exist_ok=True)
        self.screen = pyte.HistoryScreen(*size, history=1_000_000, ratio=0.5)
        self._stream = pyte.Stream(self.screen)
        self._above: list[str] = []
        self.raw = ""
        self.child = pexpect.spawn(
            program,
            list(words),
            cwd=str(place),
            env=clean_environment(home, **{"TERM": "xterm-256color", **(env or {})}),
            encoding="utf-8",
            codec_errors="replace",
            timeout=PATIENCE_SECONDS,
            dimensions=(size[1], size[0]),
            preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored],
        )
        self.child.delaybeforesend = None
        self.modes_before = self.modes()

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
        self.screen.resize(rows, columns)

    def hang_up(self) -> None:
        """Close the window."""
        self.child.ptyproc.fileobj.close()  # nothing else: pexpect's own way sends signals as well

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
        lines = [line.rstrip() for line in self.screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        """All that can be read, what has been scrolled away included."""
        above = self.screen.history.top
        for line in itertools.islice(above, len(self._above), None):
            last = max(line, default=-1) + 1
            self._above.append("".join(line[x].data for x in range(last)).rstrip())
        return "\n".join([*self._above, *self.rows])

    def picture(self) -> str:
        """The screen, with every figure that differs from run to run as it would be at the very beginning."""
        text = "\n".join(self.rows)
        for pattern, still in FIGURES:
            text = re.sub(pattern, still, text)
        return text

    def modes(self) -> list[object]:
        """How the terminal takes and shows keys; the command must leave it as it was."""
        return termios.tcgetattr(self.child.child_fd)[:4]

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
