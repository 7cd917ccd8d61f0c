"""Bringing a conversation of plain Claude Code into a step."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flower.books import files
from flower.books.lineage import Lineage
from flower.books.locks import is_held
from flower.books.salvage import entries_of
from flower.books.sqlite import SqliteSessionStore
from flower.locale import _
from flower.model import RunIsLive, UsageError

_BATCH = 500

Entry = dict[str, Any]


@dataclass(frozen=True)
class Imported:
    """What came in: the session's id here, the step it belongs to, entries and subagents' transcripts."""

    session_id: str
    step: str
    entries: int
    subagents: int


def bring_in(
    source: Path, workspace: Path, run_dir: Path, step: str, *, notice: files.Notice = lambda line: None
) -> Imported:
    """Store a session file under this workspace and make it the step's conversation.

    The session keeps its id unless the books have it already. The file's entries are not changed otherwise. A
    session the step had stays in the database.

    Raises:
        UsageError: the file holds no conversation. RunIsLive: another run works in the step's session.
        OSError: the file cannot be read. BooksError: the books cannot be written.
    """
    from claude_agent_sdk import project_key_for_directory

    found = _session_of(source)
    lineage = Lineage.open(run_dir, workspace, notice=notice)
    before = lineage.steps.get(step)
    if before and is_held(run_dir, before):
        raise RunIsLive(_("another run works in the session of {step}.").format(step=step))
    project = project_key_for_directory(str(workspace))
    store = SqliteSessionStore(run_dir / "sessions.db", notice=notice)
    try:
        # An id is used once: a second conversation under it would be mixed into the first.
        session = found if not store.has_session(project, found) else str(uuid.uuid4())
        key = {"project_key": project, "session_id": session}
        main = _store(store, key, (e for e in entries_of(source) if not e.get("isSidechain")), session)
        subagents = 0
        for subpath, entries in _subagents(source):
            main += _store(store, {**key, "subpath": subpath}, entries, session)
            subagents += 1
        noted = lineage.remember(
            step, session, exists=lambda sid: store.has_session(project, sid), held=lambda sid: False
        )
    finally:
        store.close()
    if not noted:
        raise UsageError(_("{step} is not the name of a step that has a conversation.").format(step=step))
    return Imported(session, step, main, subagents)


def _session_of(source: Path) -> str:
    """The id of the conversation in a file; a new one if the file names none that can be one."""
    speaks = False
    for entry in entries_of(source):
        speaks = speaks or entry.get("type") in ("user", "assistant")
        if speaks and isinstance(entry.get("sessionId"), str) and not entry.get("isSidechain"):
            try:
                return str(uuid.UUID(entry["sessionId"]))
            except ValueError:
                break
    if not speaks:
        raise UsageError(
            _("{path} holds no conversation.").format(path=source),
            hint=_("Claude Code keeps them in ~/.claude/projects/<directory>/<id>.jsonl"),
        )
    return str(uuid.uuid4())


def _subagents(source: Path) -> Iterator[tuple[str, Iterator[Entry]]]:
    """The transcripts of subagents: files beside the main one, and side chains inside of it."""
    beside = sorted((source.with_suffix("") / "subagents").glob("agent-*.jsonl"))
    for path in beside:
        yield f"subagents/{path.stem}", entries_of(path)
    names = {path.stem for path in beside}
    inside = {
        f"agent-{e['agentId']}" for e in entries_of(source) if e.get("isSidechain") and e.get("agentId")
    }
    for name in sorted(inside - names):
        agent = name.removeprefix("agent-")
        if "/" not in agent:
            chain = (e for e in entries_of(source) if e.get("isSidechain") and e.get("agentId") == agent)
            yield f"subagents/{name}", chain


def _store(store: SqliteSessionStore, key: dict[str, str], entries: Iterator[Entry], session: str) -> int:
    count, batch = 0, []
    for entry in entries:
        batch.append({**entry, "sessionId": session} if "sessionId" in entry else entry)
        count += 1
        if len(batch) >= _BATCH:
            store.append_now(key, batch)
            batch = []
    if batch:
        store.append_now(key, batch)
    return count
