"""HTTP around the desk: connections, streams, and their sudden ends."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from flower.scripted.desk import Desk
from flower.scripted.record import Recorded
from flower.scripted.script import HttpError, Reply
from flower.scripted.stream import events
from flower.transcript.wire import Problem, estimate_tokens


class Server(ThreadingHTTPServer):
    """Listens on loopback with a thread for each connection, and can cut them all."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], desk: Desk) -> None:
        self.desk = desk
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, Handler)

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
        """Ends every open connection at once, as a lost network does."""
        with self._lock:
            for connection in self._connections:
                # Already closed by the other side is as good as cut.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

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
        record = self.desk.open(self.command, self.path, self._lower(), body if not bad else None)
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
    def desk(self) -> Desk:
        return self.server.desk

    def _lower(self) -> dict[str, str]:
        return {k.lower(): v for k, v in self.headers.items()}

    def _friendly(self) -> None:
        record = self.desk.open(self.command, self.path, self._lower(), None)
        self._finish_json(record, 200, {"scripted": True, "requests": record.n})

    def _finish_json(self, record: Recorded, status: int, body: dict[str, Any]) -> None:
        record.status, record.reply = status, body
        self.desk.recorder.write(record)
        self._json(status, body, {})
        record.outcome = "sent"

    def _message(self, record: Recorded) -> None:
        reply, message = self.desk.answer(record)
        try:
            self.desk.pause(reply.delay)
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
                self.desk.pause(reply.chunk_delay)
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
