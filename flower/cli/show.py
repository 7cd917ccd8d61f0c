"""``flower show ID``: a session as a conversation one can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import islice

from flower.cli import paper
from flower.cli.terminal import columns, shorten, wrap
from flower.locale import _

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

    from flower.cli.settings import Settings
    from flower.config.secrets import Masker
    from flower.inspect.items import Item

RESULT_LINES = 12
"""Lines of a tool's result that are shown unless all of them are asked for."""

INPUT_COLUMNS = 400
LONG_LINE = 4000
"""Characters after which a line is cut before it is wrapped: wrapping a megabyte in one piece takes minutes."""

INDENT = "    "


def run(settings: Settings, *, session: str, full: bool = False, raw: bool = False) -> None:
    """Answer ``flower show``: ``session`` is an id, its beginning or the name of a step."""
    from flower.config.dotenv import load_dotenv
    from flower.config.secrets import Masker
    from flower.inspect.books import Books, find_session
    from flower.inspect.fed import fed_marks
    from flower.inspect.items import Conversation

    load_dotenv()
    masker = None if raw else Masker()
    books = Books.read(settings.run_dir, settings.workspace)
    with books.open_database() as database:
        key, found = find_session(database, books, session)
        marks = fed_marks(database, books, key, found)
        items = Conversation(database, key, found, workspace=settings.workspace, fed=marks)
        if settings.json is not None:
            settings.json.write({"type": "session", "session_id": found, "project_key": key})
            for item in items:
                said = item.as_json()
                settings.json.write({"type": "item", **(masker.value(said) if masker else said)})
            settings.json.end("ok", 0)
            return
        steps = ", ".join(books.steps_of(found))
        paper.page(_lines(f"{found}  {steps}".rstrip(), items, full, masker))


def _lines(title: str, items: Any, full: bool, masker: Masker | None) -> Iterator[str]:
    yield title
    for item in items:
        if masker is not None:
            item = item._replace(text=masker(item.text), input=masker.value(item.input))
        yield from _item_lines(item, full)


def _item_lines(item: Item, full: bool) -> Iterator[str]:
    indent = INDENT * item.depth
    room = max(20, columns() - len(indent) - 2)
    mark = f"  {_words()[item.fed]}" if item.fed in ("no", "changed") else ""
    if item.kind == "call":
        yield f"{indent}* {item.tool} {shorten(_input(item), INPUT_COLUMNS if full else room)}{mark}"
        return
    if item.kind == "result":
        tool = f"{item.tool}: " if item.tool else ""
        yield f"{indent}  -> {tool}{_outcome(item)}{mark}"
        limit = None if full else RESULT_LINES
        yield from _body(item.text, indent + "     ", room - 5, limit)
        return
    yield ""
    yield f"{indent}== {_speaker(item)}{mark}"
    if item.kind == "agent":
        return
    yield from _body(item.text, indent, room, None if full or item.kind != "thought" else RESULT_LINES)


def _body(text: str, indent: str, room: int, limit: int | None) -> Iterator[str]:
    text = text.strip("\n")
    pieces = (
        line[at : at + LONG_LINE] for line in text.split("\n") for at in range(0, len(line) or 1, LONG_LINE)
    )
    wrapped = (part for piece in pieces for part in wrap(piece, max(20, room))) if text.strip() else iter(())
    for line in islice(wrapped, limit):
        yield indent + line
    if limit is not None and next(wrapped, None) is not None:
        yield indent + _("... {n} characters in all (--full)").format(n=len(text))


@cache
def _words() -> dict[str, str]:
    """What a kind of item, an outcome and a mark are called; looked up once for a hundred thousand items."""
    return {
        "prompt": _("told"),
        "text": _("model"),
        "thought": _("thought"),
        "summary": _("summary of what came before"),
        "note": _("note"),
        "error": _("error"),
        "damaged": _("damaged"),
        "ok": _("result"),
        "failed": _("failed"),
        "denied": _("refused"),
        "interrupted": _("interrupted"),
        "no": _("(not fed back at the last resume)"),
        "changed": _("(shortened at the last resume)"),
    }


def _speaker(item: Item) -> str:
    if item.kind == "agent":
        return _("subagent {kind} ({id})").format(kind=item.text or "?", id=item.agent)
    when = item.time[:19].replace("T", " ")
    return f"{_words()[item.kind]}  {when}".rstrip()


def _outcome(item: Item) -> str:
    word = _words()["failed" if item.outcome == "error" else item.outcome]
    if item.spilled is None:
        return word
    text = _("kept in {path}") if item.spilled["found"] else _("was kept in {path}, which is gone")
    return f"{word} ({text.format(path=item.spilled['path'])})"


def _input(item: Item) -> str:
    """What a tool was called with: a command or a path alone says it, else the whole input."""
    given = item.input
    if isinstance(given, dict):
        for name in ("command", "file_path", "pattern", "question"):
            if isinstance(given.get(name), str) and set(given) <= {name, "description", "timeout"}:
                return str(given[name])
    return json.dumps(given, ensure_ascii=False)
