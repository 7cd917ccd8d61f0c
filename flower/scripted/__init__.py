"""A scripted Messages API endpoint: the model of tests and of the demo. Public as ``flower.testing``."""

from __future__ import annotations

from flower.scripted.record import Recorded, read_record
from flower.scripted.request import Call, Request, ToolResults
from flower.scripted.script import Block, HttpError, NoRule, Reply, Rule, Script, Text, Thinking, ToolUse
from flower.scripted.server import API_KEY, ScriptedEndpoint

__all__ = [
    "API_KEY",
    "Block",
    "Call",
    "HttpError",
    "NoRule",
    "Recorded",
    "Reply",
    "Request",
    "Rule",
    "Script",
    "ScriptedEndpoint",
    "Text",
    "Thinking",
    "ToolResults",
    "ToolUse",
    "read_record",
]
