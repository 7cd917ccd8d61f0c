"""A stored session reads as a conversation, and says what a resume left out."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from claude_agent_sdk import project_key_for_directory

from flower.books.sqlite import SqliteSessionStore
from flower.inspect.books import Books
from flower.inspect.database import Database
from flower.inspect.fed import fed_marks
from flower.inspect.items import Conversation, Item
from tests.recorded import AGENT, LATER, entries, fill, row, write_books


def conversation(tmp_path: Path, name: str, rows: list[dict[str, Any]] | None = None) -> list[Item]:
    """The items of a recording, after a resume if there are rows."""
    runs = tmp_path / "runs"
    [session] = fill(runs, tmp_path, [name]).values()
    write_books(runs, tmp_path, {"work": session}, [{**r, "session_id": session} for r in rows or []])
    books, key = Books.read(runs, tmp_path), project_key_for_directory(str(tmp_path))
    with Database(runs / "sessions.db") as database:
        marks = fed_marks(database, books, key, session)
        return list(Conversation(database, key, session, workspace=tmp_path, fed=marks))


def test_a_subagent_speaks_where_it_was_sent_out(tmp_path: Path) -> None:
    items = conversation(tmp_path, "subagent")
    assert [(i.kind, i.depth) for i in items if i.depth == 0] == [
        ("prompt", 0), ("call", 0), ("result", 0), ("text", 0),
    ]  # fmt: skip
    call, result = (
        next(n for n, i in enumerate(items) if i.kind == k and i.depth == 0) for k in ("call", "result")
    )
    inside = items[call + 1 : result]
    assert inside[0].kind == "agent" and inside[0].text == "helper"
    assert inside[0].agent == AGENT.rsplit("-", 1)[-1] and {i.depth for i in inside} == {1}
    assert [i.kind for i in inside[1:]].count("call") == 1 and items[result].tool == "Agent"


def test_a_subagent_whose_call_was_never_stored_is_shown_at_the_end(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    key = {"project_key": "-p", "session_id": "5" * 8}
    store = SqliteSessionStore(runs / "sessions.db")
    store.append_now(key, [{"type": "user", "uuid": "u", "message": {"role": "user", "content": "hi"}}])
    store.append_now({**key, "subpath": AGENT}, entries("subagent.agent-a4a684d546b9b6f14"))
    store.close()
    with Database(runs / "sessions.db") as database:
        items = list(Conversation(database, "-p", "5" * 8, workspace=tmp_path))
    assert [i.kind for i in items[:2]] == ["prompt", "agent"] and items[-1].depth == 1


def test_how_a_tool_ended_is_told(tmp_path: Path) -> None:
    found = {
        name: {i.outcome for i in conversation(tmp_path / name, name) if i.kind == "result"}
        for name in ("tools", "hook_denials", "interrupted_tool")
    }
    assert "ok" in found["tools"]
    assert "denied" in found["hook_denials"] and "interrupted" in found["interrupted_tool"]


def test_what_the_last_resume_left_out_is_marked(tmp_path: Path) -> None:
    items = conversation(tmp_path, "hook_denials", [row("work", "", started_at=LATER)])
    denied = [i.fed for i in items if i.kind == "result" and i.outcome == "denied"]
    # The last refusal stays, for the model to remember.
    assert denied[-1] == "yes" and set(denied[:-1]) == {"no"} and len(denied) > 1
    assert {i.fed for i in items if i.kind == "prompt"} == {"yes"}
    errors = conversation(tmp_path / "e", "api_errors", [row("work", "", started_at=LATER)])
    assert {i.fed for i in errors if i.kind == "error"} == {"no"}


def test_results_that_were_shortened_are_marked_and_only_where_they_are(tmp_path: Path) -> None:
    items = conversation(tmp_path, "looks", [row("work", "", started_at=LATER)])
    fed = [i.fed for i in items if i.kind == "result"]
    assert "changed" in fed and fed[-1] == "yes"
    assert not any((tmp_path / ".flower").rglob("*")), "a look spills nothing"


def test_nothing_is_marked_in_a_session_that_was_never_resumed(tmp_path: Path) -> None:
    first = conversation(tmp_path, "looks", [row("work", "", started_at=1.0)])
    assert {i.fed for i in first} == {None}
    assert {i.fed for i in conversation(tmp_path / "x", "looks")} == {None}


def test_spilled_text_is_found_again_and_a_changed_file_is_not_it(tmp_path: Path) -> None:
    body = "line\n" * 2000
    name = hashlib.sha256(body.encode()).hexdigest()[:16]
    spill = tmp_path / ".flower" / "spill"
    spill.mkdir(parents=True)
    (spill / f"{name}.txt").write_text(body)
    pointer = (
        f"[{len(body)} characters, kept in .flower/spill/{name}.txt; Read that file for the rest. It begins:]"
    )
    result = {"type": "tool_result", "tool_use_id": "t", "content": f"{pointer}\nline"}
    store = SqliteSessionStore(tmp_path / "runs" / "sessions.db")
    message = {"role": "user", "content": [result]}
    store.append_now(
        {"project_key": "-p", "session_id": "s"}, [{"type": "user", "uuid": "u", "message": message}]
    )
    store.close()

    def shown() -> Item:
        with Database(tmp_path / "runs" / "sessions.db") as database:
            [item] = Conversation(database, "-p", "s", workspace=tmp_path)
        return item

    assert shown().text == body and shown().spilled == {"path": f".flower/spill/{name}.txt", "found": True}
    (spill / f"{name}.txt").write_text("something else")
    assert shown().text.startswith(pointer) and shown().spilled == {
        "path": f".flower/spill/{name}.txt",
        "found": False,
    }


def test_a_row_that_cannot_be_read_is_said_in_its_place(tmp_path: Path) -> None:
    import apsw

    runs = tmp_path / "runs"
    [session] = fill(runs, tmp_path, ["tools"]).values()
    database = apsw.Connection(str(runs / "sessions.db"))
    database.execute("UPDATE entries SET payload = '{broken' WHERE seq = 4")
    database.close()
    with Database(runs / "sessions.db") as looked:
        key = project_key_for_directory(str(tmp_path))
        items = list(Conversation(looked, key, session, workspace=tmp_path))
    assert [i.seq for i in items if i.kind == "damaged"] == [4] and len(items) > 3
