"""One thread that owns something: calls to it are made there, one after another, in the order they came."""

from __future__ import annotations

import asyncio
import atexit
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """Makes calls in a thread of its own.

    What was handed over is done, also when whoever handed it over stops waiting, and when the program ends without
    ``stop``. An executor with one thread would do the same; an ``await`` of it takes twice as long, because a future
    has to be made for the thread and another one for the loop, and shielded.

    Args:
        name: the thread's name.
    """

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._stopped = False
        # A daemon, so that the interpreter comes as far as its exit handlers; the one below waits for the thread.
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def soon(self, work: Callable[[], Any]) -> None:
        """Make the call after those that came before; nobody hears of its end.

        Raises:
            RuntimeError: the worker has been stopped.
        """
        with self._lock:
            if self._stopped:
                raise RuntimeError("the worker has been stopped")
            self._calls.put(work)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """The call's future, for threads that wait.

        Raises:
            RuntimeError: the worker has been stopped.
        """
        answer: Future[T] = Future()

        def run() -> None:
            try:
                result = work()
            except BaseException as error:
                answer.set_exception(error)
            else:
                answer.set_result(result)

        self.soon(run)
        return answer

    async def result(self, work: Callable[[], T]) -> T:
        """The call's result, for an event loop.

        Raises:
            RuntimeError: the worker has been stopped.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                result = work()
            except BaseException as error:
                tell(_fail, error)
            else:
                tell(_succeed, result)

        def tell(how: Callable[[asyncio.Future[T], Any], None], what: Any) -> None:
            with suppress(RuntimeError):  # The loop has been closed: nobody waits any more.
                loop.call_soon_threadsafe(how, answer, what)

        self.soon(run)
        return await answer

    def stop(self) -> None:
        """Finish what was handed over, then end the thread. May be called twice."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._calls.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join()
        atexit.unregister(self.stop)

    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            work()
            del work  # what it holds is not kept until the next call comes


def _succeed(answer: asyncio.Future[T], result: T) -> None:
    if not answer.cancelled():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], error: BaseException) -> None:
    if not answer.cancelled():
        answer.set_exception(error)
