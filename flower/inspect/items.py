"""A transcript as a conversation: who spoke, which tools were called and what came of it, subagents in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from flower.inspect.database import Database, Row
from flower.inspect.spilled import find_spilled
from flower.locale import _
from flower.transcript.traits import INTERRUPT_MARKS

Kind = Literal["prompt", "text", "thought", "call", "result", "summary", "note", "error", "agent", "damaged"]


@dataclass
class Item:
    """One thing that was said or done.

    Attributes:
        kind: ``prompt`` (to the model), ``text`` and ``thought`` (by it), ``call`` and ``result`` of a tool,
            ``summary`` (of a compaction), ``note`` (the CLI's own, an interrupt for one), ``error`` (of the API),
            ``agent`` (a subagent's transcript begins), ``damaged`` (a row that cannot be parsed).
        text: what was said; of a result all of it, spilled text found again.
        depth: 0 in the main transcript, 1 in a subagent's, and so on.
        seq: the entry's number in its transcript.
        tool, input, call_id: of a call; ``tool`` and ``call_id`` of a result too.
        outcome: of a result: ``ok``, ``error``, ``denied``, ``interrupted``.
        agent: the subagent's id, empty in the main transcript.
        spilled: where the text of a result was kept (``path``), and whether it is still there (``found``).
        fed: ``yes``, ``no`` (left out at the last resume) or ``changed`` (the model was given something shorter);
            None for what came after it and where nothing was resumed.
        time: as the entry has it (ISO 8601), empty without one.
    """

    kind: Kind
    text: str = ""
    depth: int = 0
    seq: int = 0
    uuid: str = ""
    tool: str = ""
    input: Any = None
    call_id: str = ""
    outcome: str = ""
    agent: str = ""
    spilled: dict[str, Any] | None = None
    fed: str | None = None
    time: str = ""

    def as_json(self) -> dict[str, Any]:
        """Every field that says something."""
        always = ("kind", "text", "depth", "seq")
        return {name: v for name, v in asdict(self).items() if name in always or v not in ("", None)}


@dataclass
class _Reading:
    """One transcript while it is read; ``tools`` are the calls that have no result so far, by id."""

    depth: int
    agent: str
    tools: dict[str, str] = field(default_factory=dict)


class Conversation:
    """Reads a session as items, one page of the database after the other.

    Args:
        workspace: where relative paths of spilled texts begin.
        fed: what became of an entry's content at the last resume, by uuid and call id.
    """

    def __init__(
        self,
        database: Database,
        project_key: str,
        session_id: str,
        *,
        workspace: Path,
        fed: Callable[[str, str], str | None] = lambda uuid, call: None,
    ) -> None:
        self._db = database
        self._key = f"{project_key}/{session_id}"
        self._workspace = workspace
        self._fed = fed

    def __iter__(self) -> Iterator[Item]:
        self._left = self._subagents()
        yield from self._read(self._key, 0, "")
        # Those whose call is in no transcript: the run was killed before its result was stored.
        while self._left:
            yield from self._nested(next(iter(self._left)), 1)

    def _subagents(self) -> dict[str, str]:
        """Subpath → id of the call that started it, empty if nothing tells."""
        mine = next((t for t in self._db.transcripts() if t.key == self._key), None)
        found = {}
        for subpath in mine.subpaths if mine else ():
            found[subpath] = str(self._metadata(subpath).get("toolUseId") or "")
        return found

    def _metadata(self, subpath: str) -> dict[str, Any]:
        head = self._db.head(f"{self._key}/{subpath}", 5)
        return next((entry for entry in head if entry.get("type") == "agent_metadata"), {})

    def _read(self, key: str, depth: int, agent: str) -> Iterator[Item]:
        reading = _Reading(depth, agent)
        for row in self._db.rows(key):
            if row.entry is None:
                text = _("row {n} cannot be read").format(n=row.seq)
                yield Item("damaged", text, depth, row.seq, agent=agent)
                continue
            for item in self._items(row, reading):
                yield item
                if item.call_id and (subpath := self._started(row.entry, item.call_id)):
                    yield from self._nested(subpath, depth + 1)

    def _nested(self, subpath: str, depth: int) -> Iterator[Item]:
        self._left.pop(subpath, None)
        agent = subpath.rsplit("/", 1)[-1].removeprefix("agent-")
        yield Item("agent", str(self._metadata(subpath).get("agentType") or ""), depth, agent=agent)
        yield from self._read(f"{self._key}/{subpath}", depth, agent)

    def _started(self, entry: Mapping[str, Any], call_id: str) -> str:
        """The subpath of the subagent that this call started or whose report this result is, if it is still unread.

        Its own transcript names the call; where that is missing, the result names the subagent.
        """
        answer = entry.get("toolUseResult")
        agent = answer.get("agentId") if isinstance(answer, dict) else None
        for subpath, call in self._left.items():
            if call == call_id or (agent and subpath.endswith(f"agent-{agent}")):
                return subpath
        return ""

    def _items(self, row: Row, reading: _Reading) -> Iterator[Item]:
        entry = row.entry or {}
        message = entry.get("message")
        if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            return
        uuid = str(entry.get("uuid") or "")
        time = str(entry.get("timestamp") or "")
        content = message.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            item = self._of_block(entry, message, block, reading) if isinstance(block, dict) else None
            if item is None:
                continue
            item.depth, item.seq, item.agent = reading.depth, row.seq, reading.agent
            item.uuid, item.time = uuid, time
            item.fed = self._fed(uuid, item.call_id)
            yield item

    def _of_block(
        self,
        entry: Mapping[str, Any],
        message: Mapping[str, Any],
        block: Mapping[str, Any],
        reading: _Reading,
    ) -> Item | None:
        kind, text = block.get("type"), block.get("text")
        if kind == "text":
            return (
                Item(_speaker(entry, message, text), text) if isinstance(text, str) and text.strip() else None
            )
        if kind == "thinking":
            thought = str(block.get("thinking") or "")
            return Item("thought", thought) if thought.strip() else None
        if kind == "tool_use":
            ident, tool = str(block.get("id") or ""), str(block.get("name") or "?")
            reading.tools[ident] = tool
            return Item("call", tool=tool, input=block.get("input"), call_id=ident)
        if kind == "tool_result":
            return self._result(entry, block, reading)
        if kind in ("image", "document"):
            return Item(_speaker(entry, message, ""), f"[{kind}]")
        return None

    def _result(self, entry: Mapping[str, Any], block: Mapping[str, Any], reading: _Reading) -> Item:
        ident = str(block.get("tool_use_id") or "")
        text = words_of(block.get("content"))
        item = Item("result", text, tool=reading.tools.pop(ident, ""), call_id=ident)
        item.outcome = _outcome(entry, block)
        if found := find_spilled(text, self._workspace):
            item.spilled = {"path": found.path, "found": found.text is not None}
            item.text = text if found.text is None else found.text
        return item


def _speaker(entry: Mapping[str, Any], message: Mapping[str, Any], text: object) -> Kind:
    if entry.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
        return "error"
    if entry.get("isCompactSummary"):
        return "summary"
    if entry.get("type") == "assistant":
        return "text"
    return "note" if entry.get("isMeta") or text in INTERRUPT_MARKS else "prompt"


def _outcome(entry: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    denial = entry.get("toolDenialKind")
    if denial in ("user-rejected", "interrupted") and not isinstance(entry.get("permissionDecision"), dict):
        return "interrupted"
    if denial:
        return "denied"
    return "error" if block.get("is_error") else "ok"


def words_of(content: Any) -> str:
    """The texts of a message's or a result's content; images and documents leave a word in brackets."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            text = block.get("text")
            parts.append(text if isinstance(text, str) else f"[{block.get('type', '?')}]")
    return "\n".join(parts)
