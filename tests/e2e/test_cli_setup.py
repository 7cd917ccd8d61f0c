"""Setting up at a terminal: what is typed, tried and written; refused at the start; a newer version."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import flower
from flower.testing import HttpError, Reply, Request, ScriptedEndpoint
from tests.e2e.screens import Terminal

GOOD, REVOKED = "sk-ant-good-0123456789", "sk-ant-revoked-0123456789"


def script(request: Request) -> Reply:
    if request.headers.get("x-api-key") == GOOD:
        return Reply("hello")
    return Reply(error=HttpError(401, message="that key was revoked", headers={"x-should-retry": "false"}))


class Index(BaseHTTPRequestHandler):
    """A package index that knows a newer flower."""

    def do_GET(self) -> None:
        body = json.dumps({"info": {"version": "99.0"}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def type_settings(at: Terminal, token: str, gateway: str) -> None:
    at.wait("API key or token (not shown):")
    at.enter(token)
    at.wait("A gateway is a server")
    at.wait("Gateway URL")
    at.enter("gateway.example")
    at.wait("gateway.example is no URL")
    at.enter(gateway)
    at.wait("Model (Enter: the default):")
    at.enter()
    at.wait("saved to ~/.config/flower/.env")


def test_setup_and_a_key_that_is_refused_at_the_start(tmp_path: Path) -> None:
    place, home = tmp_path / "project", tmp_path / "home"
    place.mkdir()
    # Installed, not run from a checkout, where nobody is told of newer versions.
    site = tmp_path / "site"
    shutil.copytree(
        Path(flower.__file__).parent, site / "flower", ignore=shutil.ignore_patterns("__pycache__")
    )
    file = home / ".config" / "flower" / ".env"
    index = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=index.serve_forever, daemon=True).start()
    env = {
        "FLOWER_NO_PROBE": "",
        "FLOWER_NO_UPDATE": "",
        "FLOWER_INDEX_URL": f"http://127.0.0.1:{index.server_address[1]}",
        "PYTHONPATH": str(site),
    }

    def terminal(*words: str, **more: str) -> Terminal:
        return Terminal(place, "-m", "flower", *words, program=sys.executable, env={**env, **more})

    with index, ScriptedEndpoint(script) as endpoint:
        with terminal("setup") as at:
            at.wait("API key")
            at.ctrl("c")
            assert at.end() == 130 and "Traceback" not in at.text and not file.exists()

        # A key that is refused is saved and said.
        with terminal("setup") as at:
            type_settings(at, REVOKED, endpoint.url)
            at.wait("refused: that key was revoked")
            assert at.end() == 5 and REVOKED not in at.raw
        assert file.stat().st_mode & 0o777 == 0o600
        file.write_text(file.read_text() + "# mine\nKEPT=yes\n")

        # So it is at the next start, where it can be set up again, once; then the run goes on.
        known = {k: v for k, v in endpoint.env().items() if not k.startswith("ANTHROPIC_")}
        with terminal("once", "say hello", **known) as at:
            at.wait("-- the endpoint refused: that key was revoked")
            type_settings(at, GOOD, endpoint.url)
            at.wait("it works")
            at.wait("== ad-hoc")
            at.wait("-- flower 99.0 is out")
            at.wait("hello")
            assert at.end() == 0 and GOOD not in at.raw and "Traceback" not in at.text
        index.shutdown()
    written = file.read_text()
    assert f"ANTHROPIC_API_KEY={GOOD}\n" in written and f"ANTHROPIC_BASE_URL={endpoint.url}\n" in written
    assert "# mine\nKEPT=yes\n" in written and REVOKED not in written
