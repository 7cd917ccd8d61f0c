"""For your own tests: a model that says what you wrote down, on an endpoint as strict as the real one.

Importing this module does not import the Claude SDK.
"""

from __future__ import annotations

from flower.scripted import (
    HttpError,
    Recorded,
    Reply,
    Request,
    Rule,
    ScriptedEndpoint,
    Text,
    Thinking,
    ToolUse,
    read_record,
)
from flower.transcript.wire import Problem, check_messages, check_request

__all__ = [
    "HttpError",
    "Problem",
    "Recorded",
    "Reply",
    "Request",
    "Rule",
    "ScriptedEndpoint",
    "Text",
    "Thinking",
    "ToolUse",
    "check_messages",
    "check_request",
    "read_record",
]
