"""Texts by which the CLI says what happened, word for word."""

from __future__ import annotations

INTERRUPT_MARKS = ("[Request interrupted by user for tool use]", "[Request interrupted by user]")
