"""What error texts and typed fields mean: each text as the CLI, the SDK, gateways and proxies print it."""

from __future__ import annotations

from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import pytest

from flower.runtime.classify import classify, is_refusal, is_too_long, is_unknown_conversation, reset_time

FATAL = [
    'API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"}}',
    'API Error: 400 {"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}',
    'API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
    "Invalid API key · Please run /login",
    "Invalid API key · Fix external API key",
    "API Error: 401 Invalid bearer token",
    "OAuth token has expired. Please obtain a new token or refresh your existing token.",
    "OAuth token revoked · Please run /login",
    'API Error: 403 {"error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}',
    "API Error: 403 Forbidden",
    "This organization has been disabled.",
    "Your organization is disabled; organization disabled by administrator. Unauthorized",
    'API Error: 404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-nope"}}',
    "Credit balance is too low",
    "Your credit balance is too low to access the API. Please go to Plans & Billing",
    "You exceeded your current quota, please check your plan and billing details.",
    "quota exceeded for metric generate_requests",
    "API Error: 402 Payment Required",
    "insufficient_quota: insufficient quota",
    "Reached maximum turns (4)",
    "error_max_turns: max turns reached",
    "Budget exceeded: maximum budget of $0.50 reached",
    "Claude Code not found at: /opt/claude",
    "CLI not found",
    "API Error: Connection error. (unable to get local issuer certificate)",
    "API Error: Connection error. SELF_SIGNED_CERT_IN_CHAIN",
    "fetch failed: unable to verify the first certificate",
    "request failed, reason: self signed certificate in certificate chain",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "CERT_HAS_EXPIRED",
    "ERR_TLS_CERT_ALTNAME_INVALID: Hostname/IP does not match certificate's altnames",
    "write EPROTO 140735:error:1408F10B:SSL routines:ssl3_get_record:wrong version number",
    "authentication required by proxy: authentication failed",
    "You are not authorized: unauthorized",
    "permission denied for model",
    "unsupported country, region, or territory",
    "invalid_request_error: max_tokens: 128000 > 64000",
    "Invalid API key · Fix external API key",
    "API Error: 402 billing",
    "Your organization has disabled Claude subscription access for Claude Code · Use an Anthropic API key instead, or ask "
    "your admin to enable access. OAuth authentication is currently not allowed for this organization.",
    "Your ANTHROPIC_API_KEY belongs to a disabled organization · organization is disabled",
    "API Error: Unable to connect to API: Self-signed certificate detected (DEPTH_ZERO_SELF_SIGNED_CERT). The certificate "
    "comes from an authority Claude Code doesn't trust, usually a TLS-inspecting corporate proxy",
    "API Error: Unable to connect to API (EPROTO)",
    "407 Proxy Authentication Required",
    "Tunnel connection failed: 403 Forbidden by the proxy; api.internal is not in NO_PROXY",
]
TRANSIENT = [
    "captive portal detected: got an HTML page instead of JSON",
    "API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway intercepting the "
    "request. Response: content-type html, body is an HTML page, 130 bytes, request-id absent.",
    "API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again.",
    "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
    "API Error: 502 Bad Gateway. This is a server-side issue, usually temporary — try again in a moment. If it persists, "
    "check your inference gateway (127.0.0.1:42735).",
    "API Error: Request rejected (429) · This request would exceed your account's rate limit",
    "No data arrived for more than 5 minutes.",
    "Agent terminated early due to an API error: API Error: Connection dropped (ECONNRESET). (error type server_error)",
    "connect ECONNREFUSED 10.0.0.1:3128 (proxy; NO_PROXY=localhost)",
    "API Error: Can't reach the API server (ENOTFOUND)",
    "API Error: Can’t reach the API server",
    "API Error: Connection error.",
    "getaddrinfo ENOTFOUND api.anthropic.com",
    "getaddrinfo EAI_AGAIN gateway.internal",
    "connect ECONNREFUSED 127.0.0.1:4000",
    "connect ECONNREFUSED ::1:401",
    "read ECONNRESET",
    "ECONNABORTED",
    "connect ETIMEDOUT 10.1.2.3:443",
    "write EPIPE",
    "connect EHOSTUNREACH 192.168.1.1:443",
    "connect ENETDOWN",
    "connect ENETUNREACH 2606:4700::404:443",
    "socket hang up",
    "TypeError: fetch failed",
    'API Error: 429 {"error":{"type":"rate_limit_error","message":"Number of requests has exceeded your rate limit"}}',
    "429 Too Many Requests",
    'API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}',
    "API Error: 502 Bad Gateway",
    "502 <html><head><title>502 Bad Gateway</title></head></html>",
    "503 Service Unavailable",
    "upstream connect error or disconnect/reset before headers. reset reason: connection timeout",
    "504 Gateway Time-out",
    'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    "overloaded_error: Overloaded",
    "Repeated 529 Overloaded errors",
    "Request timed out.",
    "The operation timed out",
    "request timeout",
    "API Error: 522 connection timed out",
    "API Error: 524 A timeout occurred",
    "Service temporarily unavailable",
    "Temporary failure in name resolution",
    "Connection reset by peer: connection was reset",
    "The connection was closed unexpectedly",
    "stream ended without a message_stop event",
    "Premature close",
    "Unexpected end of JSON input",
    "network error while reading the body",
    "API Error (attempt 2): terminated",
    "408 Request Timeout",
    "connection lost",
    "425 Too Early",
]
UNKNOWN = [
    "",
    "something odd happened",
    "the model answered 42",
    "error_during_execution",
    "exit code 1",
    "port 14010 in use",
    "build 4.0.1",
]


@pytest.mark.parametrize("text", FATAL)
def test_waiting_would_not_help(text: str) -> None:
    assert classify(text) == "fatal"


@pytest.mark.parametrize("text", TRANSIENT)
def test_waiting_helps(text: str) -> None:
    assert classify(text) == "transient"


@pytest.mark.parametrize("text", UNKNOWN)
def test_nobody_knows(text: str) -> None:
    assert classify(text) == "unknown"


def test_the_table_is_as_large_as_it_claims() -> None:
    assert len({*FATAL, *TRANSIENT}) >= 80


@pytest.mark.parametrize(
    ("fields", "text", "expected"),
    [
        ({"status": 529}, "invalid api key in the text of a proxy", "transient"),
        ({"status": 401}, "connection error", "fatal"),
        ({"status": 408}, "", "transient"),
        ({"status": 400}, "overloaded", "fatal"),
        ({"error": "authentication_failed"}, "ECONNREFUSED", "fatal"),
        ({"error": "billing_error"}, "rate limit", "fatal"),
        ({"error": "rate_limit"}, "whatever", "transient"),
        ({"error": "rate_limit"}, "Your credit balance is too low", "fatal"),
        ({"error": "server_error"}, "404 in the body", "transient"),
        ({"error": "unknown"}, "socket hang up", "transient"),
        ({"reason": "max_turns"}, "timeout", "fatal"),
        ({"status": 500, "error": "server_error"}, "self signed certificate", "fatal"),
    ],
)
def test_typed_fields_decide_before_any_wording(fields: dict[str, object], text: str, expected: str) -> None:
    assert classify(text, **fields) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "text", "expected"),
    [
        ({"error": "model_not_found", "status": 404}, "There's an issue with the selected model (x).", True),
        ({"error": "billing_error", "status": 400}, "Credit balance is too low", True),
        (
            {"error": "invalid_request", "status": 400},
            "Your ANTHROPIC_API_KEY belongs to a disabled organization",
            True,
        ),
        ({}, "API Error: Unable to connect to API (EPROTO)", True),
        ({}, "Claude Code not found at: /opt/claude", False),
        ({"error": "invalid_request", "status": 400}, "messages: at least one message is required", False),
        ({"reason": "max_turns"}, "Reached maximum number of turns (4)", False),
    ],
)
def test_only_a_person_can_change_a_refusal(fields: dict[str, object], text: str, expected: bool) -> None:
    assert classify(text, **fields) == "fatal"  # type: ignore[arg-type]
    fields.pop("reason", None)
    assert is_refusal(text, **fields) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "Prompt is too long",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 198000 + 21333 > 200000",
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens",
        "413 request_too_large: Request exceeds the maximum size",
        "exceeds the model's context window",
    ],
)
def test_overflow_is_recognised_in_all_its_wordings(text: str) -> None:
    assert is_too_long(text)
    assert not is_too_long("the file is too long to print")


def test_overflow_by_reason_alone() -> None:
    assert is_too_long("", reason="blocking_limit") and is_too_long("", reason="prompt_too_long")


def test_unknown_conversation() -> None:
    assert is_unknown_conversation("No conversation found with session ID: 1234")
    assert not is_unknown_conversation("no idea")


NOW = datetime(2026, 12, 1, 14, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Claude usage limit reached. Your limit resets at 3pm (UTC)", "2026-12-01T15:00:00+00:00"),
        ("You've hit your session limit · resets 4:30pm (Europe/Berlin)", "2026-12-01T16:30:00+01:00"),
        ("5-hour limit reached ∙ resets 2am (UTC)", "2026-12-02T02:00:00+00:00"),
        ("limit reached, resets at 14:00 UTC", "2026-12-02T14:00:00+00:00"),
        ("weekly limit reached · resets Dec 3, 9am (Asia/Seoul)", "2026-12-03T09:00:00+09:00"),
        ("weekly limit reached · resets Nov 3 at 9am (UTC)", "2027-11-03T09:00:00+00:00"),
        ("Claude AI usage limit reached|1764604800", "2025-12-01T16:00:00+00:00"),
        ("usage limit reached|1764604800000", "2025-12-01T16:00:00+00:00"),
        ("rate limit: try again at 12am UTC", "2026-12-02T00:00:00+00:00"),
    ],
)
def test_a_named_reset_time(text: str, expected: str) -> None:
    found = reset_time(text, NOW)
    assert found is not None and found.at is not None
    assert found.at == datetime.fromisoformat(expected)


def test_a_reset_nobody_understands_is_polled() -> None:
    found = reset_time("limit reached, resets when the moon is full", NOW)
    assert found is not None and found.at is None
    found = reset_time("limit reached, resets at 3pm (Mars/Olympus)", NOW)
    assert found is not None and found.at is None


def test_no_limit_no_reset_time() -> None:
    assert reset_time("API Error: 529 Overloaded, connection reset by peer", NOW) is None
    assert reset_time("Connection reset at 3pm", NOW) is None


def test_local_time_without_a_zone() -> None:
    seoul = NOW.astimezone(ZoneInfo("Asia/Seoul"))
    found = reset_time("session limit reached · resets 11:30pm", seoul)
    assert found is not None and found.at == datetime(2026, 12, 1, 23, 30, tzinfo=ZoneInfo("Asia/Seoul"))
