"""Checks a Messages API request as strictly as the API does, and says so in the API's own words.

Pure: values in, problems out. A test endpoint answers 400 with the first problem; a test of a rewritten
transcript asserts that there is none. Both functions are linear in the size of what they are given.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flower.transcript import refusals
from flower.transcript.refusals import Problem

__all__ = [
    "CHARS_PER_TOKEN",
    "KnownThinking",
    "Problem",
    "check_messages",
    "check_request",
    "estimate_tokens",
    "too_long",
]

Block = Mapping[str, Any]

MAX_IMAGES = 100
MAX_CACHE_MARKS = 4
CHARS_PER_TOKEN = 4
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_THINKING = ("thinking", "redacted_thinking")
_SIGNED = "flower-"


@dataclass
class KnownThinking:
    """Remembers which thinking the endpoint produced, so that a changed or dropped block is noticed.

    A signature is derived from the text it signs: it is still recognised after the endpoint was restarted.
    That a block was *dropped* is only noticed for tool calls that this instance has seen.
    """

    _leading: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def sign(text: str) -> str:
        """The signature of a thinking block whose text is ``text``."""
        return _SIGNED + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def remember(self, content: Sequence[Block]) -> None:
        """Notes a reply's content: its tool calls must come back with the thinking that led to them."""
        signature = next((str(b["signature"]) for b in content if b["type"] == "thinking"), None)
        if signature is not None:
            self._leading.update((b["id"], signature) for b in content if b["type"] == "tool_use")

    def leading(self, tool_use_id: str) -> str | None:
        """The signature of the thinking that led to this tool call; None when there was none."""
        return self._leading.get(tool_use_id)


@dataclass
class _Turn:
    """Consecutive messages of one role: the API combines them before it looks at pairs."""

    role: str
    first: int
    last: int
    blocks: list[tuple[str, Block]] = field(default_factory=list)

    def of_type(self, kind: str) -> list[tuple[str, Block]]:
        return [(where, b) for where, b in self.blocks if b.get("type") == kind]


def check_request(
    body: Mapping[str, Any], *, window: int | None = None, thinking: KnownThinking | None = None
) -> list[Problem]:
    """Everything the API would refuse in a ``POST /v1/messages`` body, in the order it would notice.

    Args:
        body: the parsed JSON body.
        window: the model's context window in tokens; a longer prompt is refused. None = no limit.
        thinking: what the endpoint produced before; None = thinking blocks are not verified.
    """
    missing = [k for k in ("model", "messages", "max_tokens") if k not in body]
    if missing:
        return [Problem("missing", f"{k}: Field required") for k in missing]
    problems = check_messages(body["messages"], thinking=thinking)
    if any(p.code in ("malformed", "no_messages") for p in problems):
        return problems
    problems[:0] = [
        *_surrogates({k: v for k, v in body.items() if k != "messages"}),
        *_check_system(body.get("system")),
        *_check_tools(body.get("tools") or ()),
    ]
    problems += _check_counts(body)
    spoken = [m for m in body["messages"] if m.get("role") in ("user", "assistant")]
    if spoken and spoken[-1]["role"] == "assistant":
        problems.append(Problem("prefill", refusals.NO_PREFILL))
    if window is not None:
        problems += too_long(estimate_tokens(body), window)
    return problems


def check_messages(
    messages: Sequence[Mapping[str, Any]], *, thinking: KnownThinking | None = None
) -> list[Problem]:
    """Everything the API would refuse in a conversation, which may also end with an assistant message.

    Items with ``role: "system"`` are looked through, as the API does for the clients allowed to send them.
    """
    if not messages:
        return [Problem("no_messages", "messages: at least one message is required")]
    malformed = list(_check_objects(messages))
    if malformed:
        return malformed
    problems: list[Problem] = list(_surrogates({"messages": messages}))
    problems += _check_shape(messages)
    turns = _turns(messages)
    if turns and turns[0].role != "user":
        problems.append(Problem("first_role", 'messages: first message must use the "user" role'))
    problems += _check_text(turns)
    problems += _check_pairs(turns)
    problems += _check_thinking(turns, thinking)
    return problems


def estimate_tokens(body: Mapping[str, Any]) -> int:
    """Tokens of a request's system prompt, tools and messages: one for four characters of their JSON."""
    parts = (body.get("system"), body.get("tools"), body.get("messages"))
    return sum(len(json.dumps(p, ensure_ascii=False)) for p in parts if p) // CHARS_PER_TOKEN


def too_long(tokens: int, window: int) -> list[Problem]:
    """The API's refusal of a prompt of ``tokens`` in a context window of ``window``; empty when it fits."""
    if tokens <= window:
        return []
    return [Problem("too_long", f"prompt is too long: {tokens} tokens > {window} maximum")]


def _surrogates(value: Any) -> Iterator[Problem]:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        for where in _lone(value, ""):
            yield Problem("surrogate", f"{where}: str is not valid UTF-8: surrogates not allowed")


def _lone(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            yield where
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _lone(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, (list, tuple)):
        for n, item in enumerate(value):
            yield from _lone(item, f"{where}.{n}")


def _check_system(system: Any) -> Iterator[Problem]:
    if isinstance(system, list) and any(not b.get("text") for b in system):
        yield Problem("empty_text", "system: text content blocks must be non-empty")


def _check_tools(tools: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    names = [t.get("name") for t in tools]
    if len(set(names)) != len(names):
        yield Problem("duplicate_tool", "tools: Tool names must be unique.")


def _check_counts(body: Mapping[str, Any]) -> Iterator[Problem]:
    images, marks = 0, 0
    for block in _all_blocks(body):
        images += block.get("type") == "image"
        marks += bool(block.get("cache_control"))
    if images > MAX_IMAGES:
        yield Problem("images", f"Too much media: 0 document pages + {images} images > {MAX_IMAGES}")
    if marks > MAX_CACHE_MARKS:
        text = f"A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}."
        yield Problem("cache_marks", text)


def _all_blocks(body: Mapping[str, Any]) -> Iterator[Block]:
    contents = [body.get("system"), body.get("tools")] + [m.get("content") for m in body["messages"]]
    while contents:
        content = contents.pop()
        for block in content if isinstance(content, list) else ():
            if isinstance(block, Mapping):
                yield block
                contents.append(block.get("content"))


def _check_objects(messages: Any) -> Iterator[Problem]:
    """What is no message or no block at all: nothing else can be said about such a conversation."""
    if not isinstance(messages, (list, tuple)):
        yield Problem("malformed", "messages: Input should be a valid list")
        return
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping):
            yield Problem("malformed", f"messages.{i}: Input should be a valid dictionary or object")
            continue
        content = message.get("content")
        if not isinstance(content, (str, list)):
            yield Problem("malformed", f"messages.{i}.content: Input should be a valid list")
        for n, block in enumerate(content if isinstance(content, list) else ()):
            inner = block.get("content") if isinstance(block, Mapping) else None
            nested = inner if isinstance(inner, list) else ()
            if not isinstance(block, Mapping) or not all(isinstance(b, Mapping) for b in nested):
                where = f"messages.{i}.content.{n}"
                yield Problem("malformed", f"{where}: Input should be a valid dictionary or object")


def _check_shape(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    for i, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant", "system"):
            yield Problem("role", f"messages.{i}.role: Input should be 'user' or 'assistant'")
        # The CLI sends an empty system item after a compaction, and the API takes it.
        may_be_empty = role == "system" or (role == "assistant" and i == len(messages) - 1)
        if not content and not may_be_empty:
            yield Problem("empty_content", f"messages.{i}: {refusals.NO_CONTENT}")


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[_Turn]:
    turns: list[_Turn] = []
    for i, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            continue
        if not turns or turns[-1].role != role:
            turns.append(_Turn(role, i, i))
        turn = turns[-1]
        turn.last = i
        if isinstance(content, str) and content:
            turn.blocks.append((f"messages.{i}.content", {"type": "text", "text": content}))
        elif isinstance(content, list):
            turn.blocks += [(f"messages.{i}.content.{n}", b) for n, b in enumerate(content)]
    return turns


def _check_text(turns: Sequence[_Turn]) -> Iterator[Problem]:
    for turn in turns:
        for where, block in turn.blocks:
            kind = block.get("type")
            if kind == "text":
                yield from _text_problem(block.get("text"))
            elif kind == "tool_result":
                yield from _result_problem(where, block)
            elif kind == "tool_use" and not isinstance(block.get("input"), Mapping):
                yield Problem("tool_input", f"{where}.tool_use.input: Input should be a valid dictionary")


def _text_problem(text: Any) -> Iterator[Problem]:
    if not text:
        yield Problem("empty_text", refusals.EMPTY)
    elif not str(text).strip():
        yield Problem("blank_text", refusals.BLANK)


def _result_problem(where: str, block: Block) -> Iterator[Problem]:
    content = block.get("content")
    if block.get("is_error") and not content:
        yield Problem("empty_error", f"{where}: content cannot be empty if `is_error` is true")
    for inner in content if isinstance(content, list) else ():
        if inner.get("type") == "text" and not inner.get("text"):
            yield Problem("empty_text", refusals.EMPTY)


def _check_pairs(turns: Sequence[_Turn]) -> Iterator[Problem]:
    seen: set[str] = set()
    for turn, after in zip(turns, [*turns[1:], None], strict=True):
        if turn.role != "assistant":
            continue
        uses = [str(b.get("id")) for _, b in turn.of_type("tool_use")]
        for where, block in turn.of_type("tool_use"):
            ident = str(block.get("id"))
            if not _TOOL_ID.match(ident):
                yield Problem("tool_id", f"{where}.tool_use.id: {refusals.BAD_ID}")
            if ident in seen:
                yield Problem("duplicate_tool_use", f"{where}: `tool_use` ids must be unique")
            seen.add(ident)
        answered = _leading_results(after)
        open_ids = [u for u in dict.fromkeys(uses) if u not in answered]
        if open_ids:
            text = refusals.NO_RESULT.format(ids=", ".join(open_ids))
            yield Problem("tool_use_without_result", f"messages.{turn.last}: {text}")
    yield from _check_results(turns)


def _leading_results(turn: _Turn | None) -> set[str]:
    """Ids answered at the start of a user turn: a result behind other blocks is not found by the API."""
    found: set[str] = set()
    for _, block in turn.blocks if turn else ():
        if block.get("type") != "tool_result":
            break
        found.add(str(block.get("tool_use_id")))
    return found


def _check_results(turns: Sequence[_Turn]) -> Iterator[Problem]:
    uses: set[str] = set()
    for turn in turns:
        if turn.role == "assistant":
            uses = {str(b.get("id")) for _, b in turn.of_type("tool_use")}
            continue
        seen: set[str] = set()
        for where, block in turn.of_type("tool_result"):
            ident = str(block.get("tool_use_id"))
            if ident not in uses:
                yield Problem("orphan_result", f"{where}: {refusals.ORPHAN.format(id=ident)}")
            elif ident in seen:
                yield Problem("duplicate_result", f"{where}: {refusals.TWO_RESULTS.format(id=ident)}")
            seen.add(ident)


def _check_thinking(turns: Sequence[_Turn], known: KnownThinking | None) -> Iterator[Problem]:
    if known is None:
        return
    latest = max((n for n, t in enumerate(turns) if t.role == "assistant"), default=None)
    for n, turn in enumerate(turns):
        for where, block in turn.of_type("thinking") if turn.role == "assistant" else ():
            if block.get("signature") == known.sign(str(block.get("thinking", ""))):
                continue
            if n == latest and str(block.get("signature", "")).startswith(_SIGNED):
                yield Problem("thinking_modified", f"{where}: {refusals.MODIFIED}")
            else:
                yield Problem("signature", f"{where}: Invalid `signature` in `thinking` block")
    if latest is not None:
        yield from _check_leading(turns[latest], known)


def _check_leading(turn: _Turn, known: KnownThinking) -> Iterator[Problem]:
    wanted = {known.leading(str(b.get("id"))) for _, b in turn.of_type("tool_use")} - {None}
    present = {b.get("signature") for _, b in turn.of_type("thinking")}
    if not wanted - present:
        return
    where, first = turn.blocks[0]
    if first.get("type") in _THINKING:
        yield Problem("thinking_modified", f"{where}: {refusals.MODIFIED}")
    else:
        yield Problem("thinking_dropped", f"{where}.type: {refusals.DROPPED.format(type=first.get('type'))}")
