"""Where requests go: the host that must be reachable for a run to go on."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from flower.locale import _
from flower.model import ConfigurationError

DEFAULT_BASE = "https://api.anthropic.com"
_PORTS = {"http": 80, "https": 443}


def base_url(env: Mapping[str, str] | None = None) -> str:
    """ANTHROPIC_BASE_URL without a slash at its end; Anthropic's own API when it is not set or empty."""
    values = os.environ if env is None else env
    return values.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/") or DEFAULT_BASE


def endpoint(env: Mapping[str, str] | None = None) -> tuple[str, int]:
    """Host and port that the first packet of a request goes to: the endpoint's, or its proxy's.

    The port defaults to 443, or 80 for ``http``. A proxy applies when ``<scheme>_proxy`` (either case,
    lower first) or ``ALL_PROXY`` is set and NO_PROXY does not name the host. Raises ConfigurationError for
    a URL that cannot be one.
    """
    values = os.environ if env is None else env
    target = _address("ANTHROPIC_BASE_URL", base_url(values))
    proxy = proxy_for(target[0], target[1], target[2], values)
    return _address(_("the proxy"), proxy)[1:] if proxy else target[1:]


def proxy_for(scheme: str, host: str, port: int, env: Mapping[str, str]) -> str:
    """The proxy's URL for a request, empty if it goes straight."""
    proxy = _either(env, f"{scheme}_proxy") or _either(env, "all_proxy")
    if not proxy or _exempt(host, port, _either(env, "no_proxy")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def reachable(host: str, port: int, timeout: float = 5.0) -> bool:
    """Whether a TCP connection can be made within ``timeout`` seconds per address. Nothing is sent; any
    error is no.
    """
    try:
        with socket.create_connection((host, port), timeout):
            return True
    except (OSError, ValueError, OverflowError):
        # A name that cannot be looked up or encoded is as far away as a closed port.
        return False


def _either(env: Mapping[str, str], name: str) -> str:
    return (env.get(name, "") or env.get(name.upper(), "")).strip()


def _address(what: str, url: str) -> tuple[str, str, int]:
    text = _("{what} is not a URL flower can use: {url}")
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigurationError(text.format(what=what, url=url)) from error
    if not parts.hostname or (parts.scheme not in _PORTS and port is None):
        raise ConfigurationError(
            text.format(what=what, url=url), hint=_("It must begin with http:// or https://.")
        )
    return parts.scheme, parts.hostname, port or _PORTS.get(parts.scheme, 443)


def _exempt(host: str, port: int, no_proxy: str) -> bool:
    host = host.lower().rstrip(".")
    return any(_matches(host, port, entry.lower()) for entry in re.split(r"[\s,]+", no_proxy) if entry)


def _matches(host: str, port: int, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False  # the host is a name, or the entry is no network
    if found := re.fullmatch(r"(\[[^\]]*\]|[^:]+):(\d+)", entry):
        entry = found[1]
        if int(found[2]) != port:
            return False
    entry = entry.strip("[]").removeprefix("*").lstrip(".").rstrip(".")
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))
