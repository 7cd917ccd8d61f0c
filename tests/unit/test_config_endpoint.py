"""Which host must be reachable, and whether it is."""

from __future__ import annotations

import os
import socket

import pytest

from flower.config.endpoint import endpoint, reachable
from flower.model import ConfigurationError

API = ("api.anthropic.com", 443)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, API),
        ({"ANTHROPIC_BASE_URL": ""}, API),
        ({"ANTHROPIC_BASE_URL": "  "}, API),
        ({"ANTHROPIC_BASE_URL": "https://gw.example/x/"}, ("gw.example", 443)),
        ({"ANTHROPIC_BASE_URL": "http://gw.example"}, ("gw.example", 80)),
        ({"ANTHROPIC_BASE_URL": "http://GW.example:8080/v"}, ("gw.example", 8080)),
        ({"ANTHROPIC_BASE_URL": "http://[::1]:9"}, ("::1", 9)),
        ({"ANTHROPIC_BASE_URL": "https://me:pw@gw.example"}, ("gw.example", 443)),
        ({"HTTPS_PROXY": "http://proxy:3128"}, ("proxy", 3128)),
        ({"https_proxy": "http://low:1", "HTTPS_PROXY": "http://high:2"}, ("low", 1)),
        ({"HTTPS_PROXY": "proxy:3128"}, ("proxy", 3128)),
        ({"HTTPS_PROXY": "http://proxy"}, ("proxy", 80)),
        ({"ALL_PROXY": "socks5://proxy:1080"}, ("proxy", 1080)),
        ({"HTTP_PROXY": "http://proxy:3128"}, API),
        ({"HTTPS_PROXY": ""}, API),
        ({"ANTHROPIC_BASE_URL": "http://gw", "HTTP_PROXY": "http://proxy:3128"}, ("proxy", 3128)),
        ({"ANTHROPIC_BASE_URL": "http://gw", "HTTPS_PROXY": "http://proxy:3128"}, ("gw", 80)),
    ],
)
def test_host_and_port(env: dict[str, str], expected: tuple[str, int]) -> None:
    assert endpoint(env) == expected
    os.environ.update(env)
    assert endpoint() == expected


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [
        ("*", True),
        ("api.anthropic.com", True),
        ("anthropic.com", True),
        (".anthropic.com", True),
        ("*.anthropic.com", True),
        ("other, ANTHROPIC.com", True),
        ("other anthropic.com", True),
        ("anthropic.com:443", True),
        ("anthropic.com:80", False),
        ("pic.com", False),
        ("x.api.anthropic.com", False),
        ("10.0.0.0/8", False),
        ("", False),
        (",,", False),
    ],
)
def test_no_proxy(no_proxy: str, direct: bool) -> None:
    env = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": no_proxy}
    assert endpoint(env) == (API if direct else ("proxy", 3128))


def test_no_proxy_knows_networks() -> None:
    env = {"ANTHROPIC_BASE_URL": "http://10.1.2.3:80", "HTTP_PROXY": "http://proxy:3128"}
    assert endpoint({**env, "no_proxy": "10.0.0.0/8"}) == ("10.1.2.3", 80)
    assert endpoint({**env, "no_proxy": "11.0.0.0/8"}) == ("proxy", 3128)


@pytest.mark.parametrize(
    "url", ["gateway", "gateway:x", "http://", "http://h:99999", "http://[::1", "file:///x"]
)
def test_what_is_no_url_is_named(url: str) -> None:
    with pytest.raises(ConfigurationError, match="ANTHROPIC_BASE_URL"):
        endpoint({"ANTHROPIC_BASE_URL": url})


def test_reachable_is_a_handshake_and_nothing_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert reachable("127.0.0.1", port)
        connection, _peer = server.accept()
        with connection:
            assert connection.recv(1) == b""
    assert not reachable("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "", "a" * 70 + ".example", "bad\0host"])
def test_any_failure_is_unreachable(host: str) -> None:
    assert not reachable(host, 9, timeout=2.0)
    assert not reachable("127.0.0.1", 99999)
