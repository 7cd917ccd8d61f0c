"""What each turn of a session cost and how much the model read for it, out of the transcript."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flower.books.payload import context_of
from flower.inspect.database import Database, Transcript
from flower.inspect.moments import time_of
from flower.runtime.prices import cost_of
from flower.values import NamedTuple


class Turn(NamedTuple):
    """One answer of the model.

    Attributes:
        at: when it came, epoch seconds; 0 where the entry does not say.
        context: tokens the model read for it, cache included; 0 in a subagent.
        output: tokens it wrote.
        cost_usd: by the prices of its tokens; what was billed is in the manifest, for a whole step.
        tools: names of the tools it called.
        agent: the subagent's id, empty in the main thread.
    """

    at: float
    context: int
    output: int
    cost_usd: float
    tools: tuple[str, ...]
    agent: str = ""


def turns_of(database: Database, transcript: Transcript) -> list[Turn]:
    """The turns of a session in the order of time, those of its subagents included."""
    turns = list(_turns(database, transcript.key, ""))
    for subpath in transcript.subpaths:
        agent = subpath.rpartition("/")[2].removeprefix("agent-")
        turns += _turns(database, f"{transcript.key}/{subpath}", agent)
    return sorted(turns, key=lambda turn: turn.at)


def _turns(database: Database, key: str, agent: str) -> Iterator[Turn]:
    """One for each answer: its parts are entries of their own, and each repeats the counts."""
    answer, turn = "", None
    for row in database.rows(key):
        entry = row.entry or {}
        message = entry.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        if (
            not (isinstance(message, dict) and isinstance(usage, dict))
            or message.get("model") == "<synthetic>"
        ):
            continue
        ident = str(message.get("id") or entry.get("uuid") or row.seq)
        part = _part(entry, message, usage, agent)
        if turn is not None and ident != answer:
            yield turn
            turn = None
        answer, turn = ident, part if turn is None else _joined(turn, part)
    if turn is not None:
        yield turn


def _part(entry: dict[str, Any], message: dict[str, Any], usage: dict[str, Any], agent: str) -> Turn:
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    tools = tuple(str(block.get("name") or "?") for block in blocks if block.get("type") == "tool_use")
    output = usage.get("output_tokens")
    return Turn(
        time_of(entry) or 0.0,
        0 if agent else context_of(entry),
        output if isinstance(output, int) else 0,
        cost_of(
            {name: n for name, n in usage.items() if isinstance(n, int)}, str(message.get("model") or "")
        ),
        tools,
        agent,
    )


def _joined(one: Turn, other: Turn) -> Turn:
    return one._replace(
        context=max(one.context, other.context),
        output=max(one.output, other.output),
        cost_usd=max(one.cost_usd, other.cost_usd),
        tools=one.tools + other.tools,
    )
