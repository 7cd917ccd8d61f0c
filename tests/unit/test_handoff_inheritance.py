"""What a successor is told, and the document made where the session cannot write one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flower.agents import rules
from flower.documents.handoff import Handoff
from flower.runtime.inheritance import (
    HANDOFF_ASKED,
    Inheritance,
    answered,
    earlier_points,
    first_message,
    mechanical,
    original_request,
    written_already,
)

INDEX = (
    "<workbench>\nOn the workbench (.flower) at the start:\n\n## notes/\n- `x` (1 bytes)\n</workbench>\n\n"
)
text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": f"u{id(content)}", "message": {"content": content}, **more}


def model(*blocks: Any, uuid: str = "a", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return {"type": "assistant", "uuid": uuid, "message": {"model": "m", "content": content}, **more}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t", "name": name, "input": arguments}


@given(text, text, st.integers(1, 4))
def test_a_request_is_the_same_after_any_number_of_handoffs(request: str, document: str, times: int) -> None:
    said = request
    for n in range(1, times + 1):
        said = INDEX + Inheritance(original_request(said), document, "p", n, instruction=document).message()
    assert original_request(said) == original_request(request)


def test_the_index_is_no_part_of_the_request() -> None:
    assert original_request(INDEX + "do\nit\n") == "do\nit\n" == original_request("do\nit\n")
    assert original_request("<workbench>\nmy own</workbench>\n\nx") == "<workbench>\nmy own</workbench>\n\nx"


def test_what_is_said_now_and_before_is_passed_on_once() -> None:
    message = Inheritance("req", "doc", "p", 2, instruction="round two", pending="and hurry").message()
    assert (
        message.index("req") < message.index("round two") < message.index("doc") < message.index("and hurry")
    )
    again = Inheritance("req", "doc", "p", 2, instruction=" req\n", pending="req").message()
    assert again.count("req") == 1 + len(["original-request"] * 2)


def test_the_first_message_is_what_somebody_said() -> None:
    entries = [
        {"type": "queue-operation"},
        user("meta", isMeta=True),
        user("below", isSidechain=True),
        user([{"type": "tool_result", "content": "r"}, {"type": "text", "text": "beside"}]),
        user([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
        user("later"),
    ]
    assert first_message(entries) == "one\ntwo" and first_message([]) == ""


def test_only_a_finished_answer_counts_as_written() -> None:
    asked, whole = user("ASK"), "## Doing\na\n## Next\nb"
    assert written_already([user("x"), model("y"), asked, model(whole)], "ASK") == whole
    for entries in (
        [user("x"), model(whole)],
        [asked],
        [asked, model("## Doing\na")],
        [asked, model(whole), user("z")],
    ):
        assert written_already(entries, "ASK") == ""


def test_errors_are_no_answers() -> None:
    assert not answered([user("x"), model("API Error", isApiErrorMessage=True)])
    assert answered([user("x"), model("API Error", isApiErrorMessage=True), model("y")])


def test_earlier_points_lie_in_the_middle_and_before() -> None:
    entries = [model("x", uuid=str(n)) for n in range(8)]
    assert earlier_points(entries) == ["4", "2"] and earlier_points(entries[:1]) == []


def test_a_document_made_by_code_names_what_was_said_called_and_touched() -> None:
    entries = [
        user("the request"),
        model("I look", call("Read", file_path="a.py")),
        user("use tabs"),
        model(call("Write", file_path="b.py"), isSidechain=True),
        model("half done", call("Bash", command="make\ntest"), call("Edit", file_path="b.py")),
        model("No response requested.", isApiErrorMessage=False),
        user(rules.text("handoff")),
    ]
    made = mechanical(entries)
    assert made.degraded and made.complete and Handoff.parse(made.render("zh")) == made
    assert "> half done" in made.doing and "No response" not in made.doing and "use tabs" in made.decided
    assert "> the request" not in made.decided and HANDOFF_ASKED not in made.decided
    assert "Write 1" in made.scene and "- `make test`" in made.scene and made.scene.count("b.py") == 1
    kept = mechanical(entries, "## Next\npaint it\n## Dead ends\nglue")
    assert (kept.next, kept.dead_ends) == ("paint it", "glue") and "half done" in kept.doing
    prose = mechanical(entries, "I would rather not.")
    assert "> I would rather not." in prose.doing
    assert mechanical([]).complete
