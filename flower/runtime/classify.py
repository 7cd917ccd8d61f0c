"""What an error text or a typed field means for a run: wait, stop, or look closer. Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from flower.patterns import late

FATAL, TRANSIENT, UNKNOWN = "fatal", "transient", "unknown"

_TYPED = {
    "authentication_failed": FATAL,
    "billing_error": FATAL,
    "invalid_request": FATAL,
    "oauth_org_not_allowed": FATAL,
    "model_not_found": FATAL,
    "rate_limit": TRANSIENT,
    "overloaded": TRANSIENT,
    "server_error": TRANSIENT,
}
"""``AssistantMessage.error`` of the SDK; values not listed leave the decision to the text."""

# A certificate that is not trusted stays untrusted however long one waits, whatever else the text says.
_TLS = late(
    r"CERT_|_CERT|certificate|self[- ]signed|unable to verify the first|ERR_TLS|SSL routines|wrong version number"
    r"|EPROTO|hostname/ip does not match",
    re.I,
)
_FATAL = late(
    r"(?<![\d.:])(?:400|401|403|404)(?![\d.])"
    r"|invalid (?:x-)?api[- ]?key|invalid bearer token|authenticat|unauthori[sz]ed|forbidden|permission denied"
    r"|permission_error|invalid_request|not_found_error|credit balance|quota exceeded|exceeded your (?:current )?quota"
    r"|insufficient (?:funds|quota|balance)|billing|payment required|(?<![\d.:])402(?![\d.])|budget"
    r"|max(?:imum)?[_ ]turns|(?:claude code|cli) not found|organi[sz]ation (?:has been |is )?disabled"
    r"|oauth token (?:has )?(?:expired|been revoked)|please run /login|unsupported (?:country|region)",
    re.I,
)
_TRANSIENT = late(
    r"ENOTFOUND|EAI_AGAIN|EAI_FAIL|ECONN(?:REFUSED|RESET|ABORTED)|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETDOWN|ENETUNREACH"
    r"|ENETRESET|socket hang up|fetch failed|can.?t reach the api server|network error|connection error"
    r"|connection (?:was )?(?:refused|reset|closed|lost|timed out|terminated)|getaddrinfo|name resolution"
    r"|(?<![\d.:])(?:408|425|429|500|502|503|504|52\d|529)(?![\d.])|overloaded|rate[_ ]limit|too many requests"
    r"|time[d]?[- ]?out|service unavailable|temporarily unavailable|bad gateway|gateway time|internal server error"
    r"|captive portal|html page|malformed response|no data (?:arrived|received)|connection (?:was )?dropped"
    r"|api_error|stream (?:ended|closed|interrupted)|premature close|terminated|incomplete|unexpected end|aborted",
    re.I,
)
_TOO_LONG = late(
    r"prompt is too long|prompt_too_long|context[_ ](?:length|window)[_ ]?(?:exceeded|limit)|blocking_limit"
    r"|maximum context length|input length and .{0,12}max_tokens.{0,12} exceed|request too large|request_too_large"
    r"|exceeds? (?:the )?(?:model'?s? )?(?:maximum )?context|too many (?:input )?tokens",
    re.I,
)
_NO_CONVERSATION = late(r"no conversation found|session .{0,60}(?:not found|does not exist)", re.I)


def classify(
    text: str, *, status: int | None = None, error: str | None = None, reason: str | None = None
) -> str:
    """``"fatal"``, ``"transient"`` or ``"unknown"``.

    Args:
        text: what the CLI, the SDK or a gateway printed.
        status: ``ResultMessage.api_error_status``, an HTTP status.
        error: ``AssistantMessage.error``.
        reason: ``ResultMessage.terminal_reason``.

    Typed fields decide before any wording. Billing is fatal even where it is worded as a 400 or a rate limit, and a
    TLS certificate that is refused is fatal even where it is worded as a connection error.
    """
    if _TLS.search(text):
        return FATAL
    if error == "rate_limit" and re.search(r"credit balance|billing|quota exceeded", text, re.I):
        return FATAL
    if error in _TYPED:
        return _TYPED[error]
    if status is not None:
        if status in (408, 425, 429) or status >= 500:
            return TRANSIENT
        if 400 <= status < 500:
            return FATAL
    if reason in ("max_turns", "budget_exhausted", "max_budget"):
        return FATAL
    if _FATAL.search(text):
        return FATAL
    if _TRANSIENT.search(text):
        return TRANSIENT
    return UNKNOWN


_REFUSED = ("authentication_failed", "billing_error", "oauth_org_not_allowed", "model_not_found")
_REFUSAL = late(
    r"api[- ]?key|authenticat|bearer|oauth|unauthori[sz]ed|credit balance|billing|payment required"
    r"|insufficient (?:funds|quota|balance)|disabled (?:organi[sz]ation|claude)"
    r"|organi[sz]ation (?:has been |is )?disabled"
    r"|/login|(?<![\d.:])(?:401|402|407)(?![\d.])",
    re.I,
)


def is_refusal(text: str, *, status: int | None = None, error: str | None = None) -> bool:
    """Whether a fatal error is one of credentials, billing, model or TLS: only a person can change that.

    The other fatal ones concern this one request, such as a malformed body or a turn limit.
    """
    if error in _REFUSED or status in (401, 402, 403, 407):
        return True
    return bool(_TLS.search(text) or _REFUSAL.search(text))


def is_too_long(text: str, *, reason: str | None = None) -> bool:
    """The context does not fit the model's window any more, in any of the wordings of API, CLI and gateways."""
    return reason in ("prompt_too_long", "blocking_limit") or bool(_TOO_LONG.search(text))


def is_unknown_conversation(text: str) -> bool:
    """The CLI was told to resume a session that it does not find."""
    return bool(_NO_CONVERSATION.search(text))


@dataclass(frozen=True, slots=True)
class ResetTime:
    """A limit that names when it ends. ``at`` is None where the form is not understood: then one polls."""

    at: datetime | None


_RESETS = late(
    r"reset(?:s|ting)?(?: at)?\s+(?P<what>[^|\n·.;]{1,60})|limit reached\|(?P<epoch>\d{9,13})|"
    r"try again (?:at|after)\s+(?P<again>[^|\n·.;]{1,60})",
    re.I,
)
_CLOCK = late(
    r"(?:(?P<month>[A-Z][a-z]{2,8})\s+(?P<day>\d{1,2}),?\s+(?:at\s+)?)?(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*\(?(?P<zone>[A-Za-z]+(?:/[A-Za-z_+\-0-9]+)*)?\)?",
    re.I,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def reset_time(text: str, now: datetime) -> ResetTime | None:
    """When a usage limit ends, if the text names such a limit.

    Understands ``resets 3pm (Europe/Berlin)``, ``resets at 14:30 UTC``, ``resets Dec 3, 9am`` and
    ``limit reached|1764570000``. A time of day that has passed means the next day. ``now`` must carry a time zone.
    """
    if not re.search(r"limit", text, re.I):
        return None
    found = _RESETS.search(text)
    if not found:
        return None
    if epoch := found["epoch"]:
        seconds = int(epoch) / (1000 if len(epoch) > 11 else 1)
        return ResetTime(datetime.fromtimestamp(seconds, timezone.utc))
    clock = _CLOCK.search(found["what"] or found["again"] or "")
    return ResetTime(_moment(clock, now) if clock else None)


def _moment(clock: re.Match[str], now: datetime) -> datetime | None:
    zone = _zone(clock["zone"], now)
    hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
    if half := (clock["half"] or "").lower().replace(".", ""):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59 or zone is None:
        return None
    local = now.astimezone(zone)
    moment = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if month := (clock["month"] or "").lower()[:3]:
        if month not in _MONTHS:
            return None
        moment = moment.replace(month=_MONTHS.index(month) + 1, day=int(clock["day"]))
        return moment if moment > local else moment.replace(year=moment.year + 1)
    return moment if moment > local else moment + timedelta(days=1)


def _zone(name: str | None, now: datetime) -> ZoneInfo | timezone | None:
    if not name or name.upper() in ("AM", "PM"):
        return now.tzinfo if isinstance(now.tzinfo, (ZoneInfo, timezone)) else timezone.utc
    if name.upper() in ("UTC", "GMT", "Z"):
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
