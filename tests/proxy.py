"""A TCP proxy on loopback that loses the network in all the ways a network is lost."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from flower.testing import ScriptedEndpoint

PORTAL = (
    b"<!DOCTYPE html><html><head><title>Hotel WiFi</title></head><body>"
    b"<h1>Welcome! Please sign in to use the network</h1></body></html>"
)


@dataclass(frozen=True)
class Fault:
    """One way in which a request is lost.

    Attributes:
        kind: ``refuse`` (the connection is closed before a byte, by a reset), ``reset`` (the request is read, then
            the connection is reset), ``stall`` (nothing comes back for ``seconds``, then a reset), ``drop`` (the answer
            is cut after ``after`` bytes), ``freeze`` (after ``after`` bytes nothing more comes for ``seconds``),
            ``redirect`` (302 to a sign-in page), ``portal`` (200 with an HTML page), ``html`` (502 with an HTML page).
        reached: whether the endpoint behind sees the request.
    """

    kind: str
    after: int = 0
    seconds: float = 0.0

    @property
    def reached(self) -> bool:
        return self.kind in ("drop", "freeze")


@dataclass
class Proxy:
    """Forwards connections to an endpoint; ``faults`` are used up one a model request, then all is well.

    Connections without a byte (somebody probes whether the port is open) use up nothing.

    Args:
        endpoint: where to.
        when: chooses the requests that may fail, by the raw request; default all.

    Attributes:
        hits: the faults that have struck.
        down: closes the listening port as well, as a lost network does: ``refuse`` for probes, too.
    """

    endpoint: ScriptedEndpoint
    faults: list[Fault] = field(default_factory=list)
    when: Callable[[bytes], bool] = lambda raw: True
    hits: list[Fault] = field(default_factory=list)
    connections: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self.port = 0

    def __enter__(self) -> Proxy:
        self.up()
        return self

    def __exit__(self, *exc: object) -> None:
        self.down()

    def up(self) -> None:
        """Listen; after ``down`` on the same port again."""
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", self.port))
        server.listen(64)
        self.port, self._server = server.getsockname()[1], server
        threading.Thread(target=self._accept, args=(server,), daemon=True).start()

    def down(self) -> None:
        """Nobody listens any more and every connection is cut."""
        server, self._server = self._server, None
        if server is not None:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            server.close()
        with self._lock:
            for connection in self._open:
                _reset(connection)
            self._open.clear()

    def env(self) -> dict[str, str]:
        """The variables that send a client through here."""
        return self.endpoint.env() | {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.port}"}

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                client, _peer = server.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(client)
                self.connections += 1
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            while raw := _read_request(client):
                fault = self._fault_for(raw)
                if not self._answer(client, raw, fault):
                    return
        except OSError:
            pass  # A connection that one side has cut is what this is all about.
        finally:
            with self._lock:
                self._open.discard(client)
            client.close()

    def _fault_for(self, raw: bytes) -> Fault | None:
        with self._lock:
            if not self.faults or not self.when(raw):
                return None
            fault = self.faults.pop(0)
            self.hits.append(fault)
            return fault

    def _answer(self, client: socket.socket, raw: bytes, fault: Fault | None) -> bool:
        """Answer one request; False when the connection is over."""
        kind = fault.kind if fault else ""
        if kind in ("refuse", "reset"):
            _reset(client)
            return False
        if fault and kind == "stall":
            time.sleep(fault.seconds)
            _reset(client)
            return False
        if kind == "redirect":
            client.sendall(_response(302, b"", "location: http://127.0.0.1:9/sign-in\r\n"))
            return True
        if kind == "portal":
            client.sendall(_response(200, PORTAL, "content-type: text/html\r\n"))
            return True
        if kind == "html":
            client.sendall(
                _response(502, b"<html><h1>502 Bad Gateway</h1></html>", "content-type: text/html\r\n")
            )
            return True
        return self._forward(client, raw, fault)

    def _forward(self, client: socket.socket, raw: bytes, fault: Fault | None) -> bool:
        with socket.create_connection(("127.0.0.1", self.endpoint.port), 10) as upstream:
            upstream.settimeout(120)
            upstream.sendall(_closing(raw))
            passed = 0
            while data := upstream.recv(65536):
                if fault and passed + len(data) > fault.after:
                    client.sendall(data[: max(0, fault.after - passed)])
                    time.sleep(fault.seconds)
                    _reset(client)
                    return False
                client.sendall(data)
                passed += len(data)
        return False


def _read_request(client: socket.socket) -> bytes:
    raw = b""
    while b"\r\n\r\n" not in raw:
        data = client.recv(65536)
        if not data:
            return b""
        raw += data
    head, _, body = raw.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        data = client.recv(65536)
        if not data:
            return b""
        body += data
    return head + b"\r\n\r\n" + body


def _closing(raw: bytes) -> bytes:
    """The request with ``connection: close``: the end of the answer is then the end of the connection."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"connection: close"]) + b"\r\n\r\n" + body


def _response(status: int, body: bytes, headers: str) -> bytes:
    reason = http.client.responses[status]
    return f"HTTP/1.1 {status} {reason}\r\n{headers}content-length: {len(body)}\r\n\r\n".encode() + body


def _reset(connection: socket.socket) -> None:
    """Close with a RST: what the other side sees is ECONNRESET, not an orderly end."""
    with contextlib.suppress(OSError):  # closed already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR) if os.name == "nt" else None
        connection.close()


@contextlib.contextmanager
def untrusted_tls(certificate: str) -> Iterator[int]:
    """A port that speaks TLS with a certificate that nobody trusts, as an intercepting proxy does; yields the port.

    Args:
        certificate: a PEM file with key and certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _peer = server.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), context.wrap_socket(client, server_side=True) as secure:
                secure.recv(1)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()
