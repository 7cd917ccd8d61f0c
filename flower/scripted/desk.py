"""Decides what a request is answered: checks it, asks the script, records both."""

from __future__ import annotations

import threading
import time
import traceback
from typing import Any

from flower.scripted.record import Recorded, Recorder
from flower.scripted.script import Chooser, HttpError, NoRule, Reply
from flower.scripted.stream import make_message, prompt_tokens
from flower.transcript.wire import KnownThinking, Problem, check_request, too_long


class Desk:
    """Where connections bring requests; safe to use from several threads.

    Attributes:
        recorder: the records.
        stopping: set while the endpoint is stopped: nobody is kept waiting then.
    """

    def __init__(self, chooser: Chooser, recorder: Recorder, *, strict: bool, window: int | None) -> None:
        self.recorder = recorder
        self.stopping = threading.Event()
        self._chooser = chooser
        self._strict = strict
        self._window = window
        self._thinking = KnownThinking()

    def open(self, method: str, path: str, headers: dict[str, str], body: Any) -> Recorded:
        """A record of a request that has just arrived."""
        return self.recorder.open(time.time(), method, path, headers, body)

    def answer(self, record: Recorded) -> tuple[Reply, dict[str, Any] | None]:
        """Chooses, completes and records the reply; the message is None when it is an error."""
        request = record.request
        record.problems = check_request(request.body, window=None, thinking=self._thinking)
        reply = self._refusal(record.problems) or self._choose(record)
        if reply.error is None and self._window is not None:
            record.problems += too_long(prompt_tokens(reply, request), self._window)
            reply = self._refusal(record.problems) or reply
        message = None
        if reply.error is None:
            message = make_message(reply, request)
            self._thinking.remember(message["content"])
            record.status, record.reply = 200, message
        else:
            record.status, record.reply = reply.error.status, reply.error.body()
        self.recorder.write(record)
        return reply, message

    def _refusal(self, problems: list[Problem]) -> Reply | None:
        if not (problems and self._strict):
            return None
        return Reply(error=HttpError(400, message=problems[0].message, headers={"x-should-retry": "false"}))

    def _choose(self, record: Recorded) -> Reply:
        stop = {"x-should-retry": "false"}
        try:
            return self._chooser.choose(record.request)
        except NoRule as none:
            record.failure = str(none)
            return Reply(error=HttpError(400, message=str(none), headers=stop))
        except Exception:
            # The script is the user's: its error belongs in the record and in the answer, not in a thread.
            record.failure = traceback.format_exc().strip()
            last = record.failure.splitlines()[-1]
            return Reply(error=HttpError(500, message=f"the script failed: {last}", headers=stop))

    def pause(self, seconds: float) -> None:
        """Waits; raises ConnectionAbortedError when the endpoint is stopped meanwhile."""
        if seconds > 0 and self.stopping.wait(seconds):
            raise ConnectionAbortedError("the endpoint was stopped")
