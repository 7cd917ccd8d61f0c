"""The start probe, against real servers on loopback."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from flower.config.probe import SMALL_MODEL, probe, should_probe

Answer = tuple[int, Any]


class Server(HTTPServer):
    """Answers every request with one status and body, and keeps what it was asked."""

    def __init__(self, answer: Answer, headers: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.extra = answer, headers
        self.seen: list[tuple[str, str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {k.lower(): v for k, v in self.headers.items()}
        self.server.seen.append((self.command, self.path, headers, json.loads(body or b"null")))
        status, answer = self.server.answer
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"content-length": str(len(raw)), **self.server.extra}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    do_POST = do_GET = handle_any

    def log_message(self, *_args: object) -> None:
        """Silent: pytest's output is for failures."""


@contextmanager
def serving(answer: Answer, **headers: str) -> Iterator[Server]:
    with Server(answer, headers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def error(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "some_error", "message": message}}


@pytest.mark.parametrize(
    ("status", "body", "state"),
    [
        (200, {"content": []}, "ok"),
        (200, b"not json", "ok"),
        (401, error("invalid x-api-key"), "auth"),
        (403, error("Request not allowed"), "auth"),
        (403, b"<html>no</html>", "auth"),
        (404, error("model: nope"), "config"),
        (404, b"", "config"),
        (400, error("model: the-model is not supported"), "config"),
        (400, error("the-model is unknown"), "config"),
        (400, {"error": "unknown model"}, "config"),
        (400, error("模型不存在"), "config"),
        (400, error("max_tokens: too small"), "ok"),
        (400, error("Your credit balance is too low"), "ok"),
        (400, b"\xff\xfe", "ok"),
        (429, error("rate limit"), "ok"),
        (307, b"", "ok"),
        (500, error("model crashed"), "carry_on"),
        (503, b"", "carry_on"),
        (529, error("overloaded"), "carry_on"),
    ],
)
def test_what_an_answer_means(status: int, body: Any, state: str) -> None:
    with serving((status, body)) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_MODEL": "the-model"}
        result = probe(env)
    assert (result.state, result.status) == (state, status)
    assert bool(result.detail) == (status != 200)
    assert len(server.seen) == 1


def test_the_detail_is_the_servers_own_message() -> None:
    with serving((401, error("invalid\n  x-api-key"))) as server:
        result = probe({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"})
    assert result.detail == "invalid x-api-key"


@pytest.mark.parametrize(
    ("env", "sent", "absent"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, ("x-api-key", "k"), "authorization"),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, ("authorization", "Bearer t"), "x-api-key"),
        ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}, ("x-api-key", "k"), "authorization"),
        ({"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "t"}, ("authorization", "Bearer t"), "x-api-key"),
        ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_CUSTOM_HEADERS": "X-Team: a\nbad"}, ("x-team", "a"), "bad"),
    ],
)
def test_what_is_sent(env: dict[str, str], sent: tuple[str, str], absent: str) -> None:
    with serving((200, {})) as server:
        assert probe({"ANTHROPIC_BASE_URL": f"{server.url}/base/", **env}).state == "ok"
    [(method, path, headers, body)] = server.seen
    assert (method, path) == ("POST", "/base/v1/messages")
    assert headers[sent[0]] == sent[1] and absent not in headers
    assert body["max_tokens"] == 16 and body["messages"]


@pytest.mark.parametrize(
    ("env", "model"),
    [
        ({}, SMALL_MODEL),
        ({"ANTHROPIC_MODEL": "m"}, "m"),
        ({"ANTHROPIC_MODEL": "m", "ANTHROPIC_DEFAULT_HAIKU_MODEL": "h"}, "h"),
        ({"ANTHROPIC_MODEL": "m", "ANTHROPIC_DEFAULT_HAIKU_MODEL": ""}, "m"),
        ({"ANTHROPIC_MODEL": "claude-x[1m]"}, "claude-x"),
        ({"ANTHROPIC_MODEL": "opus"}, SMALL_MODEL),
        ({"ANTHROPIC_MODEL": "opus[1m]", "ANTHROPIC_DEFAULT_OPUS_MODEL": "o[1m]"}, "o"),
    ],
)
def test_which_model_is_asked_for(env: dict[str, str], model: str) -> None:
    with serving((200, {})) as server:
        probe({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k", **env})
    assert server.seen[0][3]["model"] == model


def test_a_redirect_never_carries_the_key_away() -> None:
    with serving((200, {})) as other, serving((302, b""), location=f"{other.url}/v1/messages") as server:
        assert probe({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"}).state == "ok"
    assert other.seen == []


def _closed_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextmanager
def _raw(speak: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does something unfriendly with its first connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _peer = listening.accept()
            with connection:
                speak(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_no_connection_carries_on() -> None:
    env = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{_closed_port()}", "ANTHROPIC_API_KEY": "k"}
    result = probe(env)
    assert result.state == "carry_on" and result.detail and result.status == 0
    assert probe({**env, "ANTHROPIC_BASE_URL": "http://no-such-host.invalid"}).state == "carry_on"


def test_silence_carries_on_after_the_timeout() -> None:
    def speak(connection: socket.socket) -> None:
        while connection.recv(1 << 20):
            pass

    with _raw(speak) as url:
        assert probe({"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k"}, timeout=0.2).state == "carry_on"


@pytest.mark.parametrize("said", [b"", b"this is no HTTP\r\n\r\n"])
def test_a_broken_answer_carries_on(said: bytes) -> None:
    def speak(connection: socket.socket) -> None:
        connection.recv(1 << 20)
        connection.sendall(said)

    with _raw(speak) as url:
        assert probe({"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k"}).state == "carry_on"


def test_a_certificate_nobody_signed_carries_on(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "1",
    ]
    subprocess.run([*made, "-subj", "/CN=x", "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)

    def speak(connection: socket.socket) -> None:
        with pytest.raises(OSError), context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(1)

    with _raw(speak) as url:
        env = {"ANTHROPIC_BASE_URL": url.replace("http:", "https:"), "ANTHROPIC_API_KEY": "k"}
        result = probe(env)
    assert result.state == "carry_on" and "certificate" in result.detail.lower()


@pytest.mark.parametrize(
    "url", ["gateway:8080", "file:///etc/passwd", "http://[", "http://h:x", "ftp://x", "http://" + "a" * 70]
)
def test_what_is_no_url_is_configuration(url: str) -> None:
    assert probe({"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k"}).state == "config"


def test_a_token_that_cannot_be_sent_is_configuration() -> None:
    result = probe({"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_API_KEY": "密钥"})
    assert result.state in ("config", "carry_on")
    with serving((200, {})) as server:
        assert probe({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "密钥"}).state == "config"
    assert server.seen == []


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, True),
        ({"ANTHROPIC_AUTH_TOKEN": "t", "FLOWER_NO_PROBE": ""}, True),
        ({"ANTHROPIC_API_KEY": "k", "FLOWER_NO_PROBE": "0"}, False),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "o"}, False),
        ({"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_USE_BEDROCK": "1"}, False),
        ({}, False),
    ],
)
def test_when_a_probe_makes_sense(env: dict[str, str], wanted: bool) -> None:
    assert should_probe(env) is wanted


def test_the_process_environment_is_the_default() -> None:
    with serving((401, error("no"))) as server:
        os.environ.update(ANTHROPIC_BASE_URL=server.url, ANTHROPIC_AUTH_TOKEN="t")
        assert probe().state == "auth"
