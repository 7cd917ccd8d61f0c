"""What a successor inherits: the request byte for byte, the handoff, the last words it must know. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flower.documents.handoff import Handoff

Entry = Mapping[str, Any]

OPENING = "You take over work that an earlier session began; its context was full.\n\n"
HANDOFF_ASKED = "The context of this conversation is full."
"""How the rules for the handoff's own turn begin: those words are no instruction of the work."""

_REQUEST = re.compile(re.escape(OPENING) + r'<original-request characters="(?P<size>\d+)">\n')
_INDEX = re.compile(r"<workbench>\nOn the workbench \(.*?\n</workbench>\n\n", re.DOTALL)
_EDIT_TOOLS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_NO_WORDS = "No response requested."

_LAST_TEXTS, _TEXT_LIMIT = 3, 2_000
_LAST_COMMANDS, _COMMAND_LIMIT = 10, 300
_MOST_FILES = 60


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What the first message of a successor is made of.

    Attributes:
        request: what the step's first session was told, byte for byte.
        document: the handoff as it is on disk.
        path: where that is, for the person and the model.
        generation: how many handoffs lie before the successor.
        instruction: what the retired session was told last by the step, where that is not the request.
        pending: what should have been said to the retired session and was not.
    """

    request: str
    document: str
    path: str
    generation: int
    instruction: str = ""
    pending: str = ""

    def message(self) -> str:
        """The message. The request stands first, behind its length, so that no text in it can end it early."""
        parts = [
            f'{OPENING}<original-request characters="{len(self.request)}">\n{self.request}\n</original-request>'
        ]
        if self.instruction and self.instruction.strip() != self.request.strip():
            parts.append(f"Later in the same work this was said:\n\n{self.instruction}")
        parts.append(
            f"This is the handoff (number {self.generation}, in {self.path}). It tells how far the work has come; a "
            f"person may have corrected it.\n\n<handoff>\n{self.document.strip()}\n</handoff>"
        )
        closing = (
            "Go on from there. Look at the files before you rely on what the handoff says of them, "
            "and do not start over."
        )
        if self.pending and self.pending.strip() != self.request.strip():
            parts.append(f"{closing} And this is said now:\n\n{self.pending}")
        else:
            parts.append(closing)
        return "\n\n".join(parts)


def original_request(first_message: str) -> str:
    """The request in a session's first message: the message itself, without the workbench's index in front of it, or
    what an earlier handoff carried in it.
    """
    text = (
        _INDEX.sub("", first_message, count=1) if first_message.startswith("<workbench>\n") else first_message
    )
    if found := _REQUEST.match(text):
        return text[found.end() : found.end() + int(found["size"])]
    return text


def first_message(entries: Iterable[Entry]) -> str:
    """The first thing said to a session; empty if nothing was."""
    return next(said_to(entries), "")


def said_to(entries: Iterable[Entry]) -> Iterator[str]:
    """What was said to the main thread, oldest first: no tool results, nothing the CLI put in."""
    for entry in entries:
        if entry.get("type") != "user" or entry.get("isSidechain") or entry.get("isMeta"):
            continue
        content = _content(entry)
        if isinstance(content, str):
            yield content
        elif (texts := _texts(content)) and not _blocks(content, "tool_result"):
            yield "\n".join(texts)


def answered(entries: Iterable[Entry]) -> bool:
    """Whether the model has ever said or done anything in the main thread."""
    return any(True for _ in spoken(entries))


def spoken(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The main thread's entries of the model itself."""
    for entry in entries:
        message = entry.get("message")
        if entry.get("type") != "assistant" or entry.get("isSidechain") or entry.get("isApiErrorMessage"):
            continue
        if isinstance(message, Mapping) and message.get("model") != "<synthetic>":
            yield entry


def written_already(entries: Sequence[Entry], prompt: str) -> str:
    """The handoff that the session wrote as its last words before a kill; empty if it was not asked or not done."""
    asked = max((n for n, e in enumerate(entries) if prompt in said_to([e])), default=-1)
    if asked < 0 or any(True for _ in said_to(entries[asked + 1 :])):
        return ""
    texts = [text for e in spoken(entries[asked + 1 :]) for text in _texts(_content(e))]
    return texts[-1] if texts and Handoff.parse(texts[-1]).complete else ""


def earlier_points(entries: Sequence[Entry]) -> list[str]:
    """Entries (uuids) from which a session that is too long can be asked instead: in the middle, then at a quarter."""
    points = [str(e["uuid"]) for e in spoken(entries) if e.get("uuid")]
    places = [len(points) // 2, len(points) // 4]
    return list(dict.fromkeys(points[at] for at in places if 0 < at < len(points)))


def mechanical(entries: Sequence[Entry], own: str = "") -> Handoff:
    """A handoff made by code, where the session cannot write one: its last words, what it called and what it edited.

    ``own`` is what the session did write; the sections it filled stay.
    """
    said, calls = _words_and_calls(entries)
    partial = Handoff.parse(own)
    quoted = "\n\n".join(_quote(text[-_TEXT_LIMIT:]) for text in said[-_LAST_TEXTS:])
    doing = (
        f"The last words of the session, oldest first:\n\n{quoted}"
        if quoted
        else "The session said nothing yet."
    )
    if own.strip() and not partial.doing:
        doing = f"{doing}\n\nWhat it wrote when asked for a handoff:\n\n{_quote(own.strip()[:_TEXT_LIMIT])}"
    following = (
        "Look at the files named under Scene and at the workbench, find out what of the request is done, "
        "then go on with what is not."
    )
    return Handoff(
        doing=partial.doing or doing,
        decided=partial.decided or _told(list(said_to(entries))[1:]),
        dead_ends=partial.dead_ends,
        next=partial.next or following,
        scene="\n\n".join(part for part in (partial.scene, _scene(calls)) if part),
        degraded=True,
    )


def _told(words: Sequence[str]) -> str:
    """What the session was told after its first message, the last of it: a person's words hold until done."""
    asked = [w.strip()[:_TEXT_LIMIT] for w in words if not w.startswith(HANDOFF_ASKED)]
    quoted = "\n\n".join(_quote(w) for w in asked[-_LAST_TEXTS:])
    return f"What the session was told after the request, oldest first:\n\n{quoted}" if quoted else ""


def _words_and_calls(entries: Sequence[Entry]) -> tuple[list[str], list[Mapping[str, Any]]]:
    said: list[str] = []
    calls: list[Mapping[str, Any]] = []
    for entry in entries:
        if entry.get("type") != "assistant" or entry.get("isApiErrorMessage"):
            continue
        content = _content(entry)
        calls += _blocks(content, "tool_use")
        if not entry.get("isSidechain"):
            said += [t for text in _texts(content) if (t := text.strip()) and t != _NO_WORDS]
    return said, calls


def _scene(calls: Sequence[Mapping[str, Any]]) -> str:
    inputs = [(str(c.get("name")), c["input"] if isinstance(c.get("input"), Mapping) else {}) for c in calls]
    parts = []
    if counted := Counter(name for name, _ in inputs):
        parts.append("Tools called: " + ", ".join(f"{name} {n}" for name, n in counted.most_common()))
    edited = [str(i.get("file_path") or i.get("notebook_path")) for name, i in inputs if name in _EDIT_TOOLS]
    read = [str(i["file_path"]) for name, i in inputs if name == "Read" and i.get("file_path")]
    commands = [
        str(i["command"])[:_COMMAND_LIMIT] for name, i in inputs if name == "Bash" and i.get("command")
    ]
    for title, items, most in (
        ("Files written", list(dict.fromkeys(edited)), _MOST_FILES),
        ("Files read", list(dict.fromkeys(read)), _MOST_FILES),
        ("Last commands", commands, _LAST_COMMANDS),
    ):
        if items:
            parts.append(f"{title}:\n\n" + "\n".join(f"- `{' '.join(i.split())}`" for i in items[-most:]))
    return "\n\n".join(parts)


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _content(entry: Entry) -> Any:
    message = entry.get("message")
    return message.get("content") if isinstance(message, Mapping) else None


def _blocks(content: Any, kind: str) -> list[Mapping[str, Any]]:
    items = content if isinstance(content, list) else []
    return [b for b in items if isinstance(b, Mapping) and b.get("type") == kind]


def _texts(content: Any) -> list[str]:
    return [b["text"] for b in _blocks(content, "text") if isinstance(b.get("text"), str)]
