"""One small request before the work begins: a wrong key is found in a second, not after the first
question.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from flower.config.credentials import cloud, credential
from flower.config.endpoint import base_url

SMALL_MODEL = "claude-haiku-4-5"
"""Asked when no model is configured."""

MAX_TOKENS = 16
"""Not 1: a model that is made to think cannot even do that in one token, and the server keeps the request
for 30 s.
"""

TIMEOUT_S = 20.0

_ALIASES = {"opus": "OPUS", "opusplan": "OPUS", "sonnet": "SONNET", "haiku": "HAIKU", "default": "SONNET"}
_LONG_CONTEXT = re.compile(r"\[1m\]$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What one request showed.

    Attributes:
        state: ``ok``; ``auth`` (401, 403) and ``config`` (404, or 400 naming the model): set up again;
            ``carry_on`` (no connection, timeout, TLS, 5xx): it proves nothing about the settings, the run's
            own waiting handles it.
        detail: what the server or the connection said, for the person.
        status: the HTTP status, 0 without an answer.
    """

    state: Literal["ok", "auth", "config", "carry_on"]
    detail: str = ""
    status: int = 0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other: following it would carry the key to another host."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


def should_probe(env: Mapping[str, str] | None = None) -> bool:
    """Whether a probe makes sense: not with FLOWER_NO_PROBE, and only for a key or token that goes into a
    header.
    """
    values = os.environ if env is None else env
    sent = credential(values) in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    return not values.get("FLOWER_NO_PROBE") and not cloud(values) and sent


def probe(env: Mapping[str, str] | None = None, *, timeout: float = TIMEOUT_S) -> ProbeResult:
    """Send one POST to ``<base>/v1/messages``; ``timeout`` in seconds. Never raises for what the network
    does.
    """
    values = os.environ if env is None else env
    opener = urllib.request.build_opener(_NoRedirect())
    try:
        with opener.open(_request(values), timeout=timeout) as answer:
            return ProbeResult("ok", "", answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return _refused(error, _model(values))
    except http.client.InvalidURL as error:
        return ProbeResult("config", str(error))
    except (OSError, http.client.HTTPException) as error:
        # URLError, TimeoutError and SSLError are all OSErrors.
        return ProbeResult("carry_on", str(getattr(error, "reason", "") or error or type(error).__name__))
    except ValueError as error:
        # Not a URL, or a header that cannot be sent.
        return ProbeResult("config", str(error))


def _request(env: Mapping[str, str]) -> urllib.request.Request:
    body = {"model": _model(env), "max_tokens": MAX_TOKENS, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "user-agent": "flower"}
    for line in env.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip():
            headers[name.strip()] = value.strip()
    if key := env.get("ANTHROPIC_API_KEY", "").strip():
        headers["x-api-key"] = key
    elif token := env.get("ANTHROPIC_AUTH_TOKEN", "").strip():
        headers["authorization"] = f"Bearer {token}"
    url = f"{base_url(env)}/v1/messages"
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"ANTHROPIC_BASE_URL must begin with http:// or https://: {base_url(env)}")
    return urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")


def _model(env: Mapping[str, str]) -> str:
    """The name to ask for; Claude Code's own short names and its ``[1m]`` suffix mean nothing to the API."""
    name = env.get("ANTHROPIC_DEFAULT_HAIKU_MODEL", "").strip() or env.get("ANTHROPIC_MODEL", "").strip()
    name = _LONG_CONTEXT.sub("", name)
    if size := _ALIASES.get(name.lower()):
        name = _LONG_CONTEXT.sub("", env.get(f"ANTHROPIC_DEFAULT_{size}_MODEL", "").strip())
    return SMALL_MODEL if name.lower() in ("", *_ALIASES) else name


def _refused(error: urllib.error.HTTPError, model: str) -> ProbeResult:
    message = _message(error)
    if error.code in (401, 403):
        return ProbeResult("auth", message, error.code)
    names_model = model.lower() in message.lower() or re.search(
        r"\bmodels?\b|模型|모델", message, re.IGNORECASE
    )
    if error.code == 404 or (error.code == 400 and names_model):
        return ProbeResult("config", message, error.code)
    return ProbeResult("carry_on" if error.code >= 500 else "ok", message, error.code)


def _message(error: urllib.error.HTTPError) -> str:
    try:
        raw = error.read(64 * 1024).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        raw = ""  # the status alone decides then
    try:
        said = json.loads(raw)["error"]
        text = str(said["message"] if isinstance(said, dict) else said)
    except (ValueError, KeyError, TypeError):
        text = raw
    return " ".join(text.split())[:300] or f"HTTP {error.code} {error.reason}".strip()
