"""A Messages API endpoint on loopback whose model is a script."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from flower.scripted.record import Recorded, Recorder
from flower.scripted.request import Request
from flower.scripted.script import Chooser, HttpError, NoRule, Reply, ReplyLike, Script
from flower.scripted.stream import events, make_message, prompt_tokens
from flower.transcript.wire import KnownThinking, Problem, check_request, estimate_tokens, too_long

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
        self.strict = strict
        self.window = window
        self._chooser = Chooser(script, default)
        self._port = port
        self._recorder = Recorder(record)
        self._thinking = KnownThinking()
        self._server: _Server | None = None
        self._stopping = threading.Event()

    def __enter__(self) -> ScriptedEndpoint:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> ScriptedEndpoint:
        """Begins to listen; after a ``stop`` on the same port again."""
        if self._server is None:
            self._stopping = threading.Event()
            self._server = _Server(("127.0.0.1", self._port), self)
            self._port = self._server.server_address[1]
            threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Stops listening and cuts every open connection, as a lost network does. Records are kept."""
        if self._server is not None:
            self._stopping.set()
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
        assert not bad, "\n".join(bad)

    # What the connection's thread calls.

    def _open(self, method: str, path: str, headers: dict[str, str], body: Any) -> Recorded:
        return self._recorder.open(time.time(), method, path, headers, body)

    def _answer(self, record: Recorded) -> tuple[Reply, dict[str, Any] | None]:
        """Chooses, completes and records the reply; the message is None when it is an error."""
        request = record.request
        record.problems = check_request(request.body, window=None, thinking=self._thinking)
        reply = self._refusal(record.problems) or self._choose(record)
        if reply.error is None and self.window is not None:
            record.problems += too_long(prompt_tokens(reply, request), self.window)
            reply = self._refusal(record.problems) or reply
        message = None
        if reply.error is None:
            message = make_message(reply, request)
            self._thinking.remember(message["content"])
            record.status, record.reply = 200, message
        else:
            record.status, record.reply = reply.error.status, reply.error.body()
        self._recorder.write(record)
        return reply, message

    def _refusal(self, problems: list[Problem]) -> Reply | None:
        if not (problems and self.strict):
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

    def _pause(self, seconds: float) -> None:
        if seconds > 0 and self._stopping.wait(seconds):
            raise ConnectionAbortedError("the endpoint was stopped")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], endpoint: ScriptedEndpoint) -> None:
        self.endpoint = endpoint
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # HTTPServer's own asks the resolver for the host's name, which can hang without a network.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients are killed on purpose in tests: a lost connection is not worth a traceback on stderr."""

    def cut_connections(self) -> None:
        with self._lock:
            for connection in self._connections:
                # Already closed by the other side is as good as cut.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the record is the log."""

    def do_HEAD(self) -> None:
        self._friendly()

    def do_GET(self) -> None:
        self._friendly()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError as error:
            body, bad = None, f"The request body is not valid JSON: {error}"
        else:
            bad = "" if isinstance(body, dict) else "Input should be a valid dictionary or object"
        record = self.endpoint._open(self.command, self.path, self._lower(), body if not bad else None)
        path = self.path.partition("?")[0].rstrip("/")
        if bad:
            record.problems = [Problem("json", bad)]
            self._finish_json(record, 400, HttpError(400, message=bad).body())
        elif path.endswith("/v1/messages/count_tokens"):
            self._finish_json(record, 200, {"input_tokens": estimate_tokens(body)})
        elif path.endswith("/v1/messages"):
            self._message(record)
        else:
            self._finish_json(record, 404, HttpError(404, message=f"no such endpoint: {path}").body())

    @property
    def endpoint(self) -> ScriptedEndpoint:
        return self.server.endpoint

    def _lower(self) -> dict[str, str]:
        return {k.lower(): v for k, v in self.headers.items()}

    def _friendly(self) -> None:
        record = self.endpoint._open(self.command, self.path, self._lower(), None)
        self._finish_json(record, 200, {"scripted": True, "requests": record.n})

    def _finish_json(self, record: Recorded, status: int, body: dict[str, Any]) -> None:
        record.status, record.reply = status, body
        self.endpoint._recorder.write(record)
        self._json(status, body, {})
        record.outcome = "sent"

    def _message(self, record: Recorded) -> None:
        reply, message = self.endpoint._answer(record)
        try:
            self.endpoint._pause(reply.delay)
            if reply.error is not None:
                self._json(reply.error.status, reply.error.body(), dict(reply.error.headers))
            elif record.request.stream:
                assert message is not None
                self._stream(reply, message)
            elif reply.drop_after is None:
                assert message is not None
                self._json(200, message, {})
            record.outcome = "sent" if reply.drop_after is None else "dropped"
        except OSError:
            # The client was interrupted or killed, or the endpoint stopped: nobody is left to be answered.
            record.outcome = "gone"
        if record.outcome != "sent":
            self._cut()

    def _json(self, status: int, body: dict[str, Any], headers: dict[str, str]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self._common_headers("application/json")
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _common_headers(self, content_type: str) -> None:
        self.send_header("content-type", content_type)
        self.send_header("request-id", f"req_scripted_{time.monotonic_ns():x}")

    def _stream(self, reply: Reply, message: dict[str, Any]) -> None:
        self.send_response(200)
        self._common_headers("text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for n, event in enumerate(events(message)):
            if n == reply.drop_after:
                return
            if event["type"] == "content_block_delta":
                self.endpoint._pause(reply.chunk_delay)
            self._chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        if reply.drop_after is None:
            self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _cut(self) -> None:
        self.close_connection = True
        # The client may be faster: then there is nothing left to cut.
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


__all__ = ["API_KEY", "Request", "ScriptedEndpoint"]
