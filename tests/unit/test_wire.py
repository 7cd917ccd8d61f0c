"""The request checker refuses what the API refuses, in the API's words, and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flower.transcript.wire import KnownThinking, check_messages, check_request, estimate_tokens

Json = Any


def user(*content: Json) -> Json:
    return {
        "role": "user",
        "content": [{"type": "text", "text": c} if isinstance(c, str) else c for c in content],
    }


def assistant(*content: Json) -> Json:
    return {**user(*content), "role": "assistant"}


def use(ident: str) -> Json:
    return {"type": "tool_use", "id": ident, "name": "Bash", "input": {}}


def result(ident: str, content: Json = "ok", **more: Json) -> Json:
    return {"type": "tool_result", "tool_use_id": ident, "content": content, **more}


def thought(text: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": KnownThinking.sign(text)}


def request(*messages: Json, **more: Json) -> Json:
    return {"model": "m", "max_tokens": 1, "messages": list(messages), **more}


GOOD = {
    "one text": [user("hi")],
    "a plain string": [{"role": "user", "content": "hi"}],
    "a system item is looked through": [
        user("hi"),
        assistant(use("a")),
        {"role": "system", "content": "x"},
        user(result("a")),
    ],
    "users in a row are combined": [user("hi"), user("there"), assistant("yes"), user("so")],
    "results spread over users in a row": [
        user("hi"),
        assistant(use("a"), use("b")),
        user(result("a")),
        user(result("b")),
    ],
    "assistants in a row are combined": [
        user("hi"),
        assistant(use("a")),
        assistant(use("b")),
        user(result("a"), result("b")),
    ],
    "results in another order": [
        user("hi"),
        assistant(use("a"), use("b")),
        user(result("b"), result("a"), "go on"),
    ],
    "an empty result": [user("hi"), assistant(use("a")), user(result("a", ""))],
    "an image": [user("hi", {"type": "image", "source": {}})],
    "real surrogate pairs": [user("\U0001f600")],
}


@pytest.mark.parametrize("messages", GOOD.values(), ids=GOOD.keys())
def test_accepts(messages: Json) -> None:
    assert check_request(request(*messages)) == []


NO_RESULT = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
ORPHAN = (
    "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: b. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
TWICE = "each tool_use must have a single result. Found multiple `tool_result` blocks with id: a"
EMPTY = "all messages must have non-empty content except for the optional final assistant message"
PREFILL = (
    "This model does not support assistant message prefill. The conversation must end with a user message."
)
BAD = {
    "no messages": ([], "messages: at least one message is required"),
    "nobody answered": ([user("hi"), assistant(use("a")), user("so")], NO_RESULT),
    "the end of the conversation": ([user("hi"), assistant(use("a"))], NO_RESULT),
    "text before the result": ([user("hi"), assistant(use("a")), user("so", result("a"))], NO_RESULT),
    "the result comes a turn late": (
        [user("hi"), assistant(use("a")), user("so"), assistant("no"), user(result("a"))],
        NO_RESULT,
    ),
    "orphan": ([user("hi"), assistant("no"), user(result("b"))], ORPHAN),
    "result twice": (
        [user("hi"), assistant(use("a")), user(result("a"), result("a"))],
        f"messages.2.content.1: {TWICE}",
    ),
    "result twice, in two messages": (
        [user("hi"), assistant(use("a")), user(result("a")), user(result("a"))],
        f"messages.3.content.0: {TWICE}",
    ),
    "id twice": (
        [user("hi"), assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))],
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "an id with a blank": (
        [user("hi"), assistant(use("a b")), user(result("a b"))],
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "input no object": (
        [user("hi"), assistant({**use("a"), "input": "x"}), user(result("a"))],
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "empty text": ([user("hi", "")], "messages: text content blocks must be non-empty"),
    "blank text": ([user("hi", " \n")], "messages: text content blocks must contain non-whitespace text"),
    "empty text in a result": (
        [user("hi"), assistant(use("a")), user(result("a", [{"type": "text", "text": ""}]))],
        "messages: text content blocks must be non-empty",
    ),
    "an error without words": (
        [user("hi"), assistant(use("a")), user(result("a", "", is_error=True))],
        "messages.2.content.0: content cannot be empty if `is_error` is true",
    ),
    "empty content": (
        [user("hi"), {"role": "assistant", "content": []}, user("so")],
        f"messages.1: {EMPTY}",
    ),
    "empty string": (
        [{"role": "user", "content": ""}],
        f"messages.0: {EMPTY}",
    ),
    "assistant first": ([assistant("hi"), user("so")], 'messages: first message must use the "user" role'),
    "assistant last": (
        [user("hi"), assistant("so")],
        PREFILL,
    ),
    "unknown role": (
        [user("hi"), {"role": "tool", "content": "x"}],
        "messages.1.role: Input should be 'user' or 'assistant'",
    ),
    "no block": (
        [user("hi", "x"), {"role": "user", "content": [3]}],
        "messages.1.content.0: Input should be a valid dictionary or object",
    ),
    "no message": (["hi"], "messages.0: Input should be a valid dictionary or object"),
    "no content": ([{"role": "user"}], "messages.0.content: Input should be a valid list"),
    "lone surrogate": (
        [user("hi", "\ud83d")],
        "messages.0.content.1.text: str is not valid UTF-8: surrogates not allowed",
    ),
    "101 images": (
        [
            user("hi", *[{"type": "image", "source": {}}] * 60),
            assistant(use("a")),
            user(result("a", [{"type": "image"}] * 41)),
        ],
        "Too much media: 0 document pages + 101 images > 100",
    ),
    "five cache marks": (
        [user(*[{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5)],
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
}


@pytest.mark.parametrize(("messages", "message"), BAD.values(), ids=BAD.keys())
def test_refuses(messages: Json, message: str) -> None:
    assert message in [p.message for p in check_request(request(*messages))]


def test_every_kind_of_refusal_is_reported_once() -> None:
    for messages, _ in BAD.values():
        found = check_request(request(*messages))
        assert len(found) == len(set(found))


def test_fields_system_and_tools_are_checked() -> None:
    assert [p.message for p in check_request({"model": "m"})] == [
        "messages: Field required",
        "max_tokens: Field required",
    ]
    assert check_request(request(user("x"), system=[{"type": "text", "text": ""}]))[0].code == "empty_text"
    assert check_request(request(user("x"), tools=[{"name": "A"}, {"name": "A"}]))[0].code == "duplicate_tool"
    assert check_request(request(user("x"), system="\udc00"))[0].code == "surrogate"


def test_a_conversation_may_end_with_the_assistant_s_text() -> None:
    assert check_messages([user("hi"), assistant("so")]) == []


def test_a_window_is_a_limit_on_the_estimate() -> None:
    body = request(user("x" * 4000))
    size = estimate_tokens(body)
    assert 1000 <= size < 1030
    assert check_request(body, window=size) == []
    found = check_request(body, window=size - 1)
    assert [p.message for p in found] == [f"prompt is too long: {size} tokens > {size - 1} maximum"]


def codes(known: KnownThinking, *messages: Json) -> list[str]:
    return [p.code for p in check_messages(list(messages), thinking=known)]


@pytest.fixture
def known() -> KnownThinking:
    known = KnownThinking()
    known.remember([thought("first"), use("a")])
    return known


def test_thinking_must_come_back_as_it_was(known: KnownThinking) -> None:
    rest = user(result("a"))
    assert codes(known, user("hi"), assistant(thought("first"), use("a")), rest) == []
    changed = {**thought("first"), "thinking": "second"}
    assert codes(known, user("hi"), assistant(changed, use("a")), rest) == ["thinking_modified"]
    assert codes(known, user("hi"), assistant(use("a")), rest) == ["thinking_dropped"]
    assert codes(known, user("hi"), assistant(thought("other"), use("a")), rest) == ["thinking_modified"]
    foreign = {**thought("first"), "signature": "EqQBCgIYAhIM"}
    assert codes(known, user("hi"), assistant(foreign, use("a")), rest)[0] == "signature"


def test_thinking_of_earlier_turns_may_be_dropped_but_not_changed(known: KnownThinking) -> None:
    later = (user(result("a")), assistant("done"), user("more"))
    assert codes(known, user("hi"), assistant(use("a")), *later) == []
    changed = {**thought("first"), "thinking": "second"}
    assert codes(known, user("hi"), assistant(changed, use("a")), *later) == ["signature"]


def test_signatures_outlive_the_endpoint() -> None:
    messages = (user("hi"), assistant(thought("first"), use("a")), user(result("a")))
    assert codes(KnownThinking(), *messages) == []


TURNS = st.lists(st.integers(0, 3), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(TURNS)
def test_any_conversation_with_its_results_is_good_and_losing_any_block_of_a_pair_is_seen(
    turns: list[int],
) -> None:
    messages = [user("begin")]
    for n, calls in enumerate(turns):
        ids = [f"t{n}_{k}" for k in range(calls)]
        messages.append(assistant("text", *[use(i) for i in ids]))
        messages.append(user(*[result(i) for i in ids], "next"))
    assert check_request(request(*messages)) == []
    for m, message in enumerate(messages):
        for b, block in enumerate(message["content"]):
            broken = copy.deepcopy(messages)
            del broken[m]["content"][b]
            if block["type"] == "tool_use":
                assert "orphan_result" in {p.code for p in check_messages(broken)}
            elif block["type"] == "tool_result":
                assert "tool_use_without_result" in {p.code for p in check_messages(broken)}


def test_work_grows_with_the_size_and_not_faster() -> None:
    assert _steps(lambda: check_request(_long(400))) < 2.5 * _steps(lambda: check_request(_long(200)))


def _long(turns: int) -> Json:
    pairs = [m for n in range(turns) for m in (assistant(use(f"t{n}")), user(result(f"t{n}")))]
    return request(user("begin"), *pairs)


def _steps(run: Callable[[], Json]) -> int:
    """Lines executed: a measure of work that does not depend on the machine."""
    import sys

    count = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count
