"""The line at the bottom of a terminal that can always be typed on, with the signs of life around it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.processors import AfterInput, BeforeInput, ConditionalProcessor
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from flower.cli.keyboard import in_background
from flower.cli.pipes import silence
from flower.cli.terminal import printable, terminal_size
from flower.cli.typed_history import TypedHistory

PROMPT = "> "
MOST_ROWS = 8
"""Rows of a long paste that are shown; it is delivered whole."""
LOOK_SECONDS = 1.0
"""How often it is seen whether the terminal is still there."""
STOP_SECONDS = 0.1
"""How long the kernel may take to stop this process after Ctrl-Z."""
PATIENCE_SECONDS = 2.0
"""How long the line may take to appear or to go away; it takes hundredths."""

_PASTE_OFF_CURSOR_ON = "\x1b[?2004l\x1b[?25h"


class TypingLine:
    """Edits what a person types in a thread of its own, so that a busy run never keeps a key waiting.

    ``write`` puts text above the line; ``show`` changes what stands around it. Both may be called from any
    thread and never block on the terminal. A terminal that goes away ends the line, not the run.

    Args:
        history: file that remembers what was typed; None remembers nothing across runs.
    """

    def __init__(self, history: Path | None = None) -> None:
        self._stream: TextIO = sys.stderr
        self._fd = sys.stdin.fileno()
        self._modes = termios.tcgetattr(self._fd)
        self._input = create_input(sys.stdin)
        self._output = Vt100_Output(
            self._stream,
            _size,
            term=os.environ.get("TERM"),
            default_color_depth=ColorDepth.DEPTH_1_BIT,
            enable_cpr=False,
        )
        self._history = TypedHistory(history)
        self._status = self._note = self._hint = self._question = ""
        self._away = False
        self._texts: deque[str] = deque()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._app: Application[Any] | None = None
        self._thread: threading.Thread | None = None
        self._started = threading.Event()
        self._deliver: Callable[[str | None], None] = lambda line: None

    # ---- before a run

    def read_line(self) -> str | None:
        """What is typed until Enter, also of several pasted lines; None at Ctrl-D.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        answer: list[str | None] = []
        app = self._make_app(on_interrupt=lambda: app.exit(exception=KeyboardInterrupt))

        def take(line: str | None) -> None:
            answer.append(line)
            app.exit()

        self._deliver = take
        with suppress(EOFError, OSError):  # the terminal is gone: the end of input
            asyncio.run(app.run_async(handle_sigint=False, set_exception_handler=False))
        line = answer[0] if answer else None
        self._raw(f"{PROMPT}{printable(line or '')}\n")
        return line

    # ---- during a run

    def listen(self, on_line: Callable[[str | None], None]) -> None:
        """Show the line and hand what is typed to ``on_line``, in the line's thread; None for Ctrl-D."""
        self._deliver = on_line
        self._app = self._make_app(on_interrupt=lambda: os.kill(os.getpid(), signal.SIGINT))
        self._thread = threading.Thread(target=self._serve, name="typing line", daemon=True)
        self._thread.start()
        self._started.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """Take the line away; what is typed from now on belongs to the shell."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._away and in_background(self._fd):
            # The terminal is the shell's now: whoever changes its modes is stopped by the kernel.
            with self._lock:
                self._loop = None
            self._raw(self._taken())
            return
        self._in_loop(self._leave)
        if thread is not threading.current_thread():
            thread.join(PATIENCE_SECONDS)
        self.restore()

    def restore(self) -> None:
        """Give the terminal back its modes, whatever state the line is in: the process may end any moment."""
        with suppress(OSError, termios.error):  # the terminal is gone, and its modes with it
            if in_background(self._fd) or termios.tcgetattr(self._fd) == self._modes:
                return
            termios.tcsetattr(self._fd, termios.TCSANOW, self._modes)
            os.write(self._stream.fileno(), f"\r\x1b[J{_PASTE_OFF_CURSOR_ON}".encode())

    def write(self, text: str) -> None:
        """Put text, whole lines, above the line."""
        with self._lock:
            first = not self._texts
            self._texts.append(text)
        if first and not self._in_loop(self._pour):
            self._raw(self._taken())

    def show(
        self,
        *,
        status: str | None = None,
        note: str | None = None,
        hint: str | None = None,
        question: str | None = None,
    ) -> None:
        """Change the status line below, the question and the passing note above, or the hint in the empty line."""
        self._question = self._question if question is None else question
        self._status = self._status if status is None else status
        self._note = self._note if note is None else note
        self._hint = self._hint if hint is None else hint
        self._in_loop(self._redraw)

    # ---- the line's own thread

    def _serve(self) -> None:
        try:
            asyncio.run(self._main())
        finally:
            with self._lock:
                self._loop = None
            self._started.set()
            self._raw(self._taken())

    async def _main(self) -> None:
        app = self._app
        assert app is not None
        asyncio.get_running_loop().set_exception_handler(self._failed)

        def begun() -> None:
            with self._lock:
                self._loop = asyncio.get_running_loop()
            app.create_background_task(self._watch_terminal())
            self._started.set()
            self._pour()

        with suppress(EOFError, OSError):  # the terminal is gone; what it would have shown goes nowhere
            await app.run_async(pre_run=begun, handle_sigint=False, set_exception_handler=False)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # Without the line the run is shown as plain text. What failed is told only when it is not the terminal.
        self._leave()
        if not isinstance(context.get("exception"), OSError):
            loop.default_exception_handler(context)

    async def _watch_terminal(self) -> None:
        # A terminal that hung up may look to a reader like one where nothing happens.
        while os.isatty(self._fd):
            await asyncio.sleep(LOOK_SECONDS)
        self._leave()

    async def _suspend(self) -> None:
        """Stop as a job of the shell does; in the background the run goes on without a line to type on."""
        self._away = True
        async with in_terminal():
            os.kill(0, signal.SIGTSTP)
            # The stop comes a moment later, and the modes must be the shell's by then.
            time.sleep(STOP_SECONDS)
            while in_background(self._fd):
                await asyncio.sleep(LOOK_SECONDS / 4)
        self._away = False

    def _in_loop(self, call: Callable[[], object]) -> bool:
        with self._lock:
            if self._loop is None:
                return False
            try:
                self._loop.call_soon_threadsafe(call)
            except RuntimeError:
                return False  # closed in this very moment
            return True

    def _pour(self) -> None:
        text = self._taken()
        if text and self._away:
            self._raw(text)
        elif text and self._app is not None:
            self._app.renderer.erase()
            self._output.write_raw(text)
            self._output.flush()
            self._app.invalidate()

    def _redraw(self) -> None:
        if self._app is not None:
            self._app.invalidate()

    def _leave(self) -> None:
        if self._app is not None and self._app.future is not None and not self._app.future.done():
            self._app.exit()

    def _taken(self) -> str:
        with self._lock:
            text = "".join(self._texts)
            self._texts.clear()
        return text

    def _raw(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            silence(self._stream)  # nobody sees it any more; the run goes on unwatched

    # ---- what it looks like

    def _make_app(self, *, on_interrupt: Callable[[], None]) -> Application[Any]:
        buffer = Buffer(history=self._history, multiline=False, accept_handler=self._accept)
        empty = Condition(lambda: not buffer.text)
        control = BufferControl(
            buffer,
            input_processors=[
                BeforeInput(PROMPT),
                ConditionalProcessor(AfterInput(lambda: [("italic", self._hint)]), empty),
            ],
        )
        typed = Window(
            control, height=Dimension(min=1, max=MOST_ROWS), wrap_lines=True, dont_extend_height=True
        )
        above = [_row(lambda: self._question), _row(lambda: self._note)]
        body = HSplit([*above, typed, _row(lambda: self._status)])
        return Application(
            layout=Layout(body, focused_element=typed),
            key_bindings=self._keys(on_interrupt, buffer),
            color_depth=ColorDepth.DEPTH_1_BIT,
            erase_when_done=True,
            terminal_size_polling_interval=0.2,
            input=self._input,
            output=self._output,
        )

    def _accept(self, buffer: Buffer) -> bool:
        self._deliver(buffer.text)
        return False

    def _keys(self, on_interrupt: Callable[[], None], buffer: Buffer) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def _stop(_event: KeyPressEvent) -> None:
            on_interrupt()

        @keys.add("c-d", filter=Condition(lambda: not buffer.text))
        def _end(_event: KeyPressEvent) -> None:
            self._deliver(None)

        @keys.add("escape", "enter")
        def _newline(_event: KeyPressEvent) -> None:
            buffer.newline(copy_margin=False)

        @keys.add("c-z")
        def _suspend(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._suspend())

        return keys


def _row(text: Callable[[], str]) -> ConditionalContainer:
    """One line that is there while it has something to say."""
    return ConditionalContainer(
        Window(FormattedTextControl(lambda: [("", text())]), height=1), Condition(lambda: bool(text()))
    )


def _size() -> Size:
    columns, rows = terminal_size()
    return Size(rows=rows, columns=columns)
