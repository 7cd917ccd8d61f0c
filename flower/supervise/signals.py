"""What SIGINT, SIGTERM and SIGHUP mean while a run is under way."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType

END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
GRACE = 1.8
"""Seconds between a SIGTERM or SIGHUP and the end of the process: two, less what ending takes."""
REPEAT = 0.1
"""Seconds within which several SIGINTs are one: some launchers pass on what the terminal has sent already."""
_FALLBACK = 0.2  # seconds for a signal's default action to be felt; a container's process 1 never feels it


class SignalWatch:
    """While entered, in the main thread, signals become calls; what must end ends in time.

    - First SIGINT: ``on_interrupt()``. Another one before ``resume()`` is called: ``on_quit()``. A third ends
      the process at once with status 130.
    - First SIGTERM or SIGHUP: ``on_end(number)``; later ones add nothing. When the ``with`` block is left
      after that, or ``grace`` seconds have passed, whichever is first, the process ends by that very signal.

    Every callback runs in a thread of its own, whatever the main thread is doing, a blocked event loop
    included: it must use ``loop.call_soon_threadsafe`` for what belongs to the loop. ``on_end`` should first
    do what must be done (save), then ask the loop to stop. One that raises prints its traceback, no more.

    A signal that was ignored at the start (nohup) stays ignored. Entered outside of the main thread, where
    Python allows no handlers, the watch does nothing. Enter it outermost: code after the block does not run
    when a signal has arrived.

    Args:
        on_end: called with the signal's number.
        on_interrupt, on_quit: None for both leaves SIGINT alone (KeyboardInterrupt).
        grace: seconds, default ``GRACE``.
    """

    def __init__(
        self,
        *,
        on_end: Callable[[int], object],
        on_interrupt: Callable[[], object] | None = None,
        on_quit: Callable[[], object] | None = None,
        grace: float = GRACE,
    ) -> None:
        self._on_end = on_end
        self._on_interrupt = on_interrupt
        self._on_quit = on_quit
        self._grace = grace
        self._before: dict[int, Callable[[int, FrameType | None], object] | int] = {}
        self._interrupts = 0
        self._last_interrupt = -REPEAT
        self._deadline: float | None = None
        self._ending: threading.Thread | None = None
        self.ended_by = 0
        """Number of the SIGTERM or SIGHUP that arrived, 0 before one did."""

    @property
    def interrupted(self) -> bool:
        """A SIGINT has arrived and ``resume()`` has not been called since."""
        return self._interrupts > 0

    @property
    def deaf_for(self) -> float:
        """Seconds within which another SIGINT would still be taken for a repetition of the last one."""
        return max(0.0, self._last_interrupt + REPEAT - time.monotonic())

    def resume(self) -> None:
        """The run goes on: the next SIGINT is a first one again."""
        self._interrupts = 0

    def __enter__(self) -> SignalWatch:
        if threading.current_thread() is not threading.main_thread():
            return self
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        # Written to by the C part of Python's handler: it works while the main thread sits in a long call.
        self._wakeup_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in (*END_SIGNALS, *((signal.SIGINT,) if self._on_interrupt or self._on_quit else ())):
            handler = signal.getsignal(number)
            if handler is not None and handler != signal.SIG_IGN:
                self._before[number] = handler
                signal.signal(number, lambda *_: None)
        self._thread = threading.Thread(target=self._watch, name="flower-signals", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._stop()
        if not self.ended_by:
            for number, handler in self._before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(self._wakeup_before)
            # One that came after the thread had stopped was heard by nobody.
            self._stop()
        if self.ended_by:
            self._finish()
        os.close(self._read)
        os.close(self._write)

    def _stop(self) -> None:
        """Let everything that has arrived be heard, then no more."""
        alive = self._thread.is_alive()  # asked first: woken, it may be gone before the question
        os.write(self._write, b"\0")
        if alive:
            self._thread.join()
        else:
            self._watch()

    def _watch(self) -> None:
        while True:
            remaining = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            if not select.select([self._read], [], [], remaining)[0]:
                die_by(self.ended_by)
            numbers = os.read(self._read, 512)
            for number in numbers:
                if number in self._before:
                    self._arrived(number)
            if 0 in numbers:
                return

    def _arrived(self, number: int) -> None:
        if number != signal.SIGINT:
            if not self.ended_by:
                self.ended_by = number
                self._deadline = time.monotonic() + self._grace
                self._ending = _call(lambda: self._on_end(number))
            return
        now = time.monotonic()
        if now - self._last_interrupt < REPEAT:
            return
        self._last_interrupt = now
        self._interrupts += 1
        if self._interrupts > 2:
            os._exit(128 + signal.SIGINT)
        callback = self._on_interrupt if self._interrupts == 1 else self._on_quit
        if callback:
            _call(callback)

    def _finish(self) -> None:
        """The block was left in good order: let ``on_end`` come to its own end, then end by the signal."""
        if self._ending and self._deadline is not None:
            self._ending.join(max(0.0, self._deadline - time.monotonic()))
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed, or nobody reads it any more
                stream.flush()
        die_by(self.ended_by)


def _call(callback: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=callback, name="flower-signal", daemon=True)
    thread.start()
    return thread


def die_by(number: int) -> None:
    """End this process by the signal, from any thread, so that its parent sees which one it was."""
    # signal.signal works in the main thread alone, and that one may be blocked.
    with suppress(ImportError, AttributeError):
        import ctypes

        ctypes.pythonapi.PyOS_setsig(number, None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
    os.kill(os.getpid(), number)
    time.sleep(_FALLBACK)
    os._exit(128 + number)
