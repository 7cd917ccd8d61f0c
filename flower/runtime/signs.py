"""What a CLI process shows of the network while it runs: retries, limits, answers, lost subagents."""

from __future__ import annotations

from typing import Any

from claude_agent_sdk import AssistantMessage, RateLimitEvent, SystemMessage

from flower.runtime.messages import is_api_error

LOST_AGENT = "Agent terminated early due to an API error"
"""How the CLI begins the result of a subagent whose request failed for good."""

_OWN_BACKOFF = 0.75
"""Seconds before its first retry, doubled at each: what the CLI waits without being asked to is less (measured)."""


class Signs:
    """Collects from messages and hooks what decides how a failed process is followed.

    Attributes:
        kind: ``AssistantMessage.error`` of the last failed request.
        answered: the main thread has completed an answer.
        resets_at: when the limit that was reported ends, epoch seconds.
        retries: how often the CLI tried again by itself since the last answer.
        retry_after: what the endpoint asked to wait the last time, seconds; 0.0 if it did not.
        lost: the error that a subagent ended with.
    """

    def __init__(self) -> None:
        self.kind: str | None = None
        self.answered = False
        self.resets_at: float | None = None
        self.retries = 0
        self.retry_after = 0.0
        self.lost = ""

    def note(self, message: Any) -> None:
        """Look at a message."""
        if isinstance(message, AssistantMessage):
            if is_api_error(message):
                self.kind = message.error or self.kind
            elif message.parent_tool_use_id is None:
                self.answered, self.retries, self.retry_after = True, 0, 0.0
        elif isinstance(message, RateLimitEvent):
            info = message.rate_limit_info
            self.resets_at = float(info.resets_at) if info.status == "rejected" and info.resets_at else None
        elif isinstance(message, SystemMessage) and message.subtype == "api_retry":
            self.retries += 1
            seconds = float(message.data.get("retry_delay_ms") or 0) / 1000
            attempt = int(message.data.get("attempt") or 1)
            self.retry_after = seconds if seconds > _OWN_BACKOFF * 2 ** (attempt - 1) else 0.0

    def note_results(self, calls: Any) -> None:
        """Look at the results of one message's tool calls, as the PostToolBatch hook gets them."""
        for call in calls or ():
            text = _text(call.get("tool_response"))
            if call.get("tool_name") == "Agent" and LOST_AGENT in text[:100]:
                self.lost = text[text.index(LOST_AGENT) :]

    def sent_away(self, status: int | None) -> bool:
        """The endpoint wants to be left alone for longer than the CLI waits: it has given up without one retry."""
        return status in (429, 529) and not self.retries


def _text(response: Any) -> str:
    if isinstance(response, str):
        return response
    if isinstance(response, dict):
        return _text(response.get("content") or response.get("error") or "")
    if isinstance(response, list):
        return "\n".join(_text(part.get("text") if isinstance(part, dict) else part) for part in response)
    return ""
