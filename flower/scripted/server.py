"""A Messages API endpoint on loopback whose model is a script."""

from __future__ import annotations

import os
import threading

from flower.scripted.desk import Desk
from flower.scripted.http import Server
from flower.scripted.record import Recorded, Recorder
from flower.scripted.script import Chooser, ReplyLike, Script
from flower.transcript.wire import Problem

API_KEY = "sk-test-scripted"


class ScriptedEndpoint:
    """Serves ``/v1/messages`` (streamed or not) and ``/v1/messages/count_tokens`` on 127.0.0.1.

    Every request is recorded and checked as strictly as the real API checks it; a bad one is answered 400
    in the API's own wording, so that a workflow which would fail in the field fails in its test.

        with ScriptedEndpoint([Rule("hello", "hi there")]) as ep:
            run_something(env=ep.env())
        assert ep.requests[0].request.last_user_text.endswith("hello")

    Args:
        script: a function from ``Request`` to ``Reply`` (or text), or a list of ``Rule``: the first match
            answers.
        default: the reply when no rule matches; without one such a request is refused and counts as a
            failure.
        port: 0 = a free one.
        strict: False = record problems but answer anyway.
        window: context window in tokens; a longer prompt is refused. None = no limit.
        record: a file to which every request is appended as a line of JSON (see ``read_record``).
    """

    def __init__(
        self,
        script: Script = (),
        *,
        default: ReplyLike | None = None,
        port: int = 0,
        strict: bool = True,
        window: int | None = None,
        record: str | os.PathLike[str] | None = None,
    ) -> None:
        self._recorder = Recorder(record)
        self._desk = Desk(Chooser(script, default), self._recorder, strict=strict, window=window)
        self._port = port
        self._server: Server | None = None

    def __enter__(self) -> ScriptedEndpoint:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> ScriptedEndpoint:
        """Begins to listen; after a ``stop`` on the same port again."""
        if self._server is None:
            self._server = Server(("127.0.0.1", self._port), self._desk)
            self._desk.stopping.clear()
            self._port = self._server.server_address[1]
            threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Stops listening and cuts every open connection, as a lost network does. Records are kept."""
        if self._server is not None:
            self._desk.stopping.set()
            self._server.cut_connections()
            self._server.shutdown()
            self._server.server_close()
            # Once more for what was accepted in between.
            self._server.cut_connections()
            self._server = None

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        """The base URL, e.g. ``http://127.0.0.1:40123``."""
        return f"http://127.0.0.1:{self._port}"

    def env(self) -> dict[str, str]:
        """The variables that send a client here."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": API_KEY}

    @property
    def requests(self) -> list[Recorded]:
        """The model requests so far, in the order of arrival."""
        return [r for r in self._recorder.all() if r.is_message]

    @property
    def everything(self) -> list[Recorded]:
        """Every HTTP request so far, token counts and probes included."""
        return self._recorder.all()

    @property
    def problems(self) -> list[Problem]:
        """Everything the real API would have refused, in all requests."""
        return [p for r in self._recorder.all() for p in r.problems]

    def check(self) -> None:
        """Raises AssertionError if any request was refused or the script itself failed."""
        bad = [f"request {r.n}: {p.message}" for r in self._recorder.all() for p in r.problems]
        bad += [f"request {r.n}: {r.failure}" for r in self._recorder.all() if r.failure]
        if bad:
            raise AssertionError("\n".join(bad))
