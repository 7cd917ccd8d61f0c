"""What a killed run left behind is read back into the books before it is removed.

Each live session has a directory, ``run_dir/live/<session id>/``, and a lock in it. A directory whose lock
nobody holds belonged to a process that could not clean up. The CLI wrote every entry to its own transcript
file first, so what had not reached the database when the power went is still there.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec

from flower.books.files import Notice
from flower.books.locks import Holder, SessionLease, live_directory
from flower.locale import _, ngettext
from flower.model import FlowerError

SCRATCH_PREFIX = "flower-"
"""How the name of every scratch directory begins that flower may remove."""

_BATCH = 200
_CREDENTIALS = (".credentials.json",)

Key = dict[str, str]
Entry = dict[str, Any]


class Store(Protocol):
    """What salvage needs of a session store: any that follows the SDK's protocol."""

    async def append(self, key: Any, entries: Any) -> None: ...

    async def load(self, key: Any) -> Any: ...


@dataclass
class Salvaged:
    """What a reconciliation did.

    Attributes:
        sessions: leftovers that were settled and removed.
        entries: entries that the database did not have.
        strays: processes that were still at work.
        live: sessions left alone, because somebody drives them.
        kept: ids of leftovers that could not be read back and stay for the next start.
    """

    sessions: int = 0
    entries: int = 0
    strays: int = 0
    live: int = 0
    kept: list[str] = field(default_factory=list)


async def reconcile(
    run_dir: str | os.PathLike[str],
    store: Store,
    *,
    notice: Notice,
    end_strays: Callable[[str], int | None] | None = None,
) -> Salvaged:
    """Settle every leftover in ``run_dir/live``: end its processes, read its entries back, remove it.

    Nothing is removed before its entries are durable. Two flowers may do this at the same moment: each
    leftover is settled under its session's lock, by one of them.

    Args:
        end_strays: ends the processes that still carry a session's mark; returns how many.
        notice: told in one line what was found.
    """
    done = Salvaged()
    live = live_directory(run_dir)
    for root in sorted(live.iterdir()) if live.is_dir() else ():
        if root.is_dir() and not root.is_symlink():
            await _settle(run_dir, root, store, done, notice, end_strays)
    if done.entries:
        text = ngettext(
            "an interrupted run left {n} entry that is now in the books",
            "an interrupted run left {n} entries that are now in the books",
            done.entries,
        )
        notice(text.format(n=done.entries))
    return done


async def _settle(
    run_dir: str | os.PathLike[str],
    root: Path,
    store: Store,
    done: Salvaged,
    notice: Notice,
    end_strays: Callable[[str], int | None] | None,
) -> None:
    session_id = root.name
    lease = SessionLease.acquire(run_dir, session_id)
    if isinstance(lease, Holder):
        done.live += 1
        return
    settled = False
    try:
        if end_strays is not None:  # First: what still works would go on writing.
            done.strays += end_strays(session_id) or 0
        done.entries += await read_back(root, store)
        settled = True
        done.sessions += 1
        remove_scratch(root)
    except (FlowerError, OSError) as error:
        # The next start tries again; this run need not fail because an earlier one's end cannot be read now.
        done.kept.append(session_id)
        _remove_credentials(root)
        notice(
            _("{path} could not be read back ({reason}); it stays for the next start").format(
                path=root, reason=error
            )
        )
    finally:
        lease.release(remove=settled)


async def read_back(root: str | os.PathLike[str], store: Store) -> int:
    """Append what a live session's own files hold and the database does not; how many entries that was.

    Only entries with a uuid count, in the file's order: those without one are the CLI's own notes. Entries
    listed in ``inserted`` were put into the resume file by flower itself. A line that is no JSON is where a
    kill struck.

    Args:
        root: ``run_dir/live/<session id>``; the caller holds its lock.

    Raises:
        FlowerError: an append failed. OSError: a file cannot be read. What was appended until then stays.
    """
    root = Path(root)
    inserted = _lines(root / "inserted")
    mains = {path.stem for path in (root / "config" / "projects").glob("*/*.jsonl")}
    added = 0
    for key, path in transcripts(root / "config" / "projects"):
        # A fork's file repeats its origin's history under its own id, what flower inserted there included:
        # there it is part of what the model saw.
        is_fork = key["session_id"] == root.name and mains - {root.name}
        known = await known_uuids(store, key) | (set() if is_fork else inserted)
        for batch in _batches(entries_of(path, known), known):
            await store.append(key, batch)
            added += len(batch)
    return added


def transcripts(projects: Path) -> Iterator[tuple[Key, Path]]:
    """The transcript files below a ``projects`` directory, with the keys they are stored under."""
    for path in sorted(projects.glob("*/**/*.jsonl")):
        if path.is_symlink() or not path.is_file():
            continue
        project, session, *rest = path.relative_to(projects).with_suffix("").parts
        key = {"project_key": project, "session_id": session}
        yield (key | {"subpath": "/".join(rest)} if rest else key), path


class _Name(msgspec.Struct, gc=False):
    uuid: Any = None


_name_of = msgspec.json.Decoder(_Name).decode


def entries_of(path: Path, known: Container[str] = ()) -> Iterator[Entry]:
    """The entries in a transcript file, one line after the other; lines that hold none are passed over.

    Args:
        known: uuids of entries to pass over, which is told without parsing their lines whole.
    """
    with open(path, "rb") as lines:
        for line in lines:
            with suppress(msgspec.DecodeError, RecursionError):  # Whatever that is, it is looked at below.
                name = _name_of(line).uuid
                if isinstance(name, str) and name in known:
                    continue
            try:
                entry = json.loads(line.decode("utf-8", "surrogatepass"))
            except (ValueError, RecursionError):
                continue  # Torn by a kill, or by a disk: the rest counts.
            if isinstance(entry, dict):
                yield entry


def _batches(entries: Iterator[Entry], known: set[str]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    for entry in entries:
        uuid = entry.get("uuid")
        if isinstance(uuid, str) and uuid and uuid not in known:
            known.add(uuid)
            batch.append(entry)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def known_uuids(store: Any, key: Key) -> set[str]:
    """The uuids a store has for a transcript, asked the short way if it knows one."""
    if ask := getattr(store, "known_uuids", None):
        return set(ask(key))
    return {entry["uuid"] for entry in await store.load(key) or [] if isinstance(entry.get("uuid"), str)}


def remove_scratch(root: Path) -> None:
    """Remove the directory registered in ``root/scratch``, if it is one of flower's and this user's."""
    for name in _lines(root / "scratch"):
        with suppress(OSError):  # Gone already, or on a machine that is not this one.
            status = os.lstat(name)
            ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
            if ours and os.path.isabs(name) and os.path.basename(name).startswith(SCRATCH_PREFIX):
                shutil.rmtree(name, ignore_errors=True)


def _remove_credentials(root: Path) -> None:
    for name in _CREDENTIALS:
        with suppress(OSError):  # Not there, which is as it should be.
            os.unlink(root / "config" / name)


def _lines(path: Path) -> set[str]:
    try:
        return set(path.read_text("utf-8", "surrogateescape").split("\n")) - {""}
    except FileNotFoundError:
        return set()
