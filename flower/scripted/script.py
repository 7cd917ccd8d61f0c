"""What a script says: content blocks, replies, and rules that choose a reply for a request."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flower.scripted.request import Request


@dataclass(frozen=True)
class Text:
    """A text block."""

    text: str


@dataclass(frozen=True)
class Thinking:
    """A thinking block; the endpoint signs it and refuses requests that bring it back changed."""

    thinking: str


@dataclass(frozen=True)
class ToolUse:
    """A tool call. The endpoint makes up an id unless ``id`` is given."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None


Block = Text | Thinking | ToolUse


@dataclass(frozen=True)
class HttpError:
    """An API error instead of a message.

    Attributes:
        status: HTTP status, e.g. 529.
        type: the API's error type; derived from the status when empty.
        message: the error's text.
        headers: extra response headers, e.g. ``{"retry-after": "1"}`` or ``{"x-should-retry": "false"}``.
    """

    status: int
    type: str = ""
    message: str = "scripted error"
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        kind = self.type or _ERROR_TYPES.get(self.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": self.message}}


_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Reply:
    """What the model answers to one request.

    Attributes:
        text: a text block; it comes before ``blocks``, but behind thinking they begin with.
        blocks: ``Text``, ``Thinking`` and ``ToolUse`` in order.
        usage: token counts by the API's names (``input_tokens``, ``cache_read_input_tokens``,
            ``cache_creation_input_tokens``, ``output_tokens``). What is left out is estimated at one token
            for four characters. Given input counts are also what the endpoint's ``window`` is compared with.
        delay: seconds before the first byte.
        chunk_delay: seconds before each delta of a streamed reply.
        error: answer with this instead of a message.
        drop_after: cut the connection after this many stream events (a non-streaming reply: at once).
        stop_reason: ``tool_use`` with a tool call, else ``end_turn``, unless given.
    """

    text: str = ""
    blocks: Sequence[Block] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    delay: float = 0.0
    chunk_delay: float = 0.0
    error: HttpError | None = None
    drop_after: int | None = None
    stop_reason: str | None = None

    def content(self) -> list[Block]:
        """All blocks in order, ``text`` included."""
        blocks = list(self.blocks)
        if not self.text:
            return blocks
        first = next((n for n, b in enumerate(blocks) if not isinstance(b, Thinking)), len(blocks))
        return [*blocks[:first], Text(self.text), *blocks[first:]]


When = str | re.Pattern[str] | Callable[[Request], bool] | None
ReplyLike = Reply | str | Callable[[Request], Reply | str]


@dataclass
class Rule:
    """Answers the requests it matches; all the conditions given must hold.

    Attributes:
        when: a substring or a compiled pattern of the last user text, or a predicate of the request.
        reply: a ``Reply``, a text, or a function of the request that returns one.
        times: how often the rule may answer; None = without limit.
        after: the name of a tool: the request brings a result of that tool.
        session: the session id it must come from.
        agent: True = from any subagent, False = from the main thread, a text = from that agent id.
    """

    when: When = None
    reply: ReplyLike = ""
    times: int | None = None
    after: str | None = None
    session: str | None = None
    agent: bool | str | None = None

    def matches(self, request: Request) -> bool:
        """Whether all conditions hold for ``request`` (``times`` aside)."""
        if self.session is not None and request.session_id != self.session:
            return False
        if isinstance(self.agent, bool) and (request.agent_id is not None) != self.agent:
            return False
        if isinstance(self.agent, str) and request.agent_id != self.agent:
            return False
        if self.after is not None and self.after not in request.last_tool_results.by_name:
            return False
        return self._says(request)

    def _says(self, request: Request) -> bool:
        if self.when is None:
            return True
        if isinstance(self.when, str):
            return self.when in request.last_user_text
        if isinstance(self.when, re.Pattern):
            return self.when.search(request.last_user_text) is not None
        return bool(self.when(request))


Script = Callable[[Request], Reply | str] | Sequence[Rule]


class NoRule(LookupError):
    """No rule of the script matches a request."""


class Chooser:
    """Finds the reply for each request; safe to call from several threads."""

    def __init__(self, script: Script, default: ReplyLike | None = None) -> None:
        self._script = script
        self._default = default
        self._lock = threading.Lock()
        self._left = [] if callable(script) else [r.times for r in script]

    def choose(self, request: Request) -> Reply:
        """The reply to ``request``; raises ``NoRule``, or what the script itself raises."""
        if callable(self._script):
            return _as_reply(self._script, request)
        rule = self._take(request)
        if rule is not None:
            return _as_reply(rule.reply, request)
        if self._default is None:
            raise NoRule(f"no rule of the script matches: {request.last_user_text[-300:]!r}")
        return _as_reply(self._default, request)

    def _take(self, request: Request) -> Rule | None:
        with self._lock:
            for n, rule in enumerate(self._script if not callable(self._script) else ()):
                left = self._left[n]
                if left == 0 or not rule.matches(request):
                    continue
                if left is not None:
                    self._left[n] = left - 1
                return rule
        return None


def _as_reply(reply: ReplyLike, request: Request) -> Reply:
    value = reply(request) if callable(reply) else reply
    return Reply(text=value) if isinstance(value, str) else value
