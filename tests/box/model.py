"""The model behind the box: plays the chain with the fewest words, and does what `sh: …` says."""

from __future__ import annotations

from flower.scripted.demo import role_of
from flower.testing import Reply, Request, ToolUse

BRIEF = """## Goal
A word.

## Acceptance
- It is said.

## Boundaries
No network.

## Unknowns and assumptions
none
"""
GOAL = "## Goal\nA word.\n\n## Checks\n1. it is said\n"
ACHIEVED = "Conclusion: achieved\nReason: heard\n1. pass: it is said"


def plain_model(request: Request) -> Reply:
    """Answers at once; the coordinator counts what it was told in this conversation."""
    role = role_of(request)
    if role == "clarifier":
        return Reply(BRIEF)
    if role == "judge":
        if not any("Judge the goal." in text for text in request.user_texts):
            return Reply(GOAL)
        if request.last_tool_results:
            return Reply(ACHIEVED)
        return Reply(blocks=[ToolUse("Glob", {"pattern": "*"})])
    if role == "coordinator":
        return Reply(f"The word is said; I was told {len(request.user_texts)} thing(s).")
    return _shell(request)


def _shell(request: Request) -> Reply:
    if request.last_tool_results:
        return Reply(f"it said: {request.last_tool_results.text}")
    command = request.prompt.partition("sh: ")[2].strip()
    call = {"command": command, "description": "asked for", "timeout": 600_000}
    return Reply("", blocks=[ToolUse("Bash", call)])
