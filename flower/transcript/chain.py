"""The chain of parents: one root, no parent missing, and the leaf reaches the root.

The CLI reads a transcript from its leaf upwards. It forgives a broken chain silently, so a break shows up
only as history that the model has lost; hence a checker of our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .look import Entry
from .record import Record, records_of
from .wire import Problem

_LINKED = ("user", "assistant", "attachment", "system")


def check_chain(entries: Iterable[Entry]) -> list[Problem]:
    """What is wrong with the chains of a transcript, the main thread's and its subagents'; empty if nothing.

    A compaction begins a new root on purpose.
    """
    problems: list[Problem] = []
    threads: dict[Any, list[Record]] = {}
    for record in records_of(entries):
        if record.uuid is not None:
            threads.setdefault(record.thread, []).append(record)
    for records in threads.values():
        problems += _check_thread(records)
    return problems


def _check_thread(records: Sequence[Record]) -> list[Problem]:
    problems: list[Problem] = []
    parents: dict[str, str | None] = {}
    for record in records:
        assert record.uuid is not None
        if record.uuid in parents:
            problems.append(Problem("duplicate_uuid", f"two entries have the uuid {record.uuid}"))
        parents[record.uuid] = record.parent
    roots = [r.uuid for r in records if r.parent is None and r.type in _LINKED and not starts_anew(r)]
    if len(roots) > 1 or (not roots and not any(starts_anew(r) for r in records)):
        problems.append(Problem("roots", f"{len(roots)} roots: {roots[:5]}"))
    problems += [
        Problem("dangling", f"{uuid} has the parent {parent}, which does not exist")
        for uuid, parent in parents.items()
        if parent is not None and parent not in parents
    ]
    problems += [Problem("cycle", f"{uuid} does not reach a root") for uuid in _circular(parents)]
    return problems


def starts_anew(record: Record) -> bool:
    """True for the entry after which only a summary of what went before is sent."""
    return record.type == "system" and record.look.subtype == "compact_boundary"


def leaf_of(records: Sequence[Record], thread: Any = None) -> Record | None:
    """The entry from which the CLI goes on: the last one of the thread."""
    alive = (r for r in reversed(records) if not r.dropped and r.uuid and r.thread == thread)
    return next((r for r in alive if r.type in _LINKED), None)


def relink(records: Sequence[Record]) -> None:
    """Give the children of dropped entries to the nearest living ancestor, then mend what was broken before.

    A parent that does not exist, a second root and a circle are mended with the entry stored before: time is
    the best guess at what was lost.
    """
    up = {r.uuid: r.parent for r in records if r.uuid is not None and r.dropped}
    alive: set[str | None] = {r.uuid for r in records if r.uuid is not None and not r.dropped}
    for uuid in [u for u in up if u in alive]:  # a later copy of a living entry was dropped
        del up[uuid]
    for record in records if up else ():
        if record.parent in up and not record.dropped:
            record.set_parent(_living(record.parent, up))
        leaf = record.look.leafUuid
        if leaf is not None and isinstance(leaf, str) and leaf in up and not record.dropped:
            record.set_leaf(_living(leaf, up))
    _mend([r for r in records if r.uuid is not None and not r.dropped], alive)


def _living(uuid: str | None, up: dict[str, str | None]) -> str | None:
    passed: list[str] = []
    while uuid is not None and uuid in up:
        passed.append(uuid)
        parent = up[uuid]
        up[uuid] = None  # cut while walking: a circle of dropped entries ends
        uuid = parent
    for dead in passed:
        up[dead] = uuid  # the next one takes one step
    return uuid


def _mend(records: Sequence[Record], alive: set[str | None]) -> None:
    before: dict[Any, str | None] = {}
    passed: set[str | None] = {None}
    forward = False
    for record in records:
        thread, parent = record.thread, record.parent
        if parent is None or parent not in passed:  # All others hang where they should.
            if parent is None and record.type not in _LINKED:
                passed.add(record.uuid)
                continue
            root = parent is None and thread in before and not starts_anew(record)
            if root or (parent is not None and parent not in alive):
                record.set_parent(before.get(thread))
            forward = forward or record.parent not in passed
        before[thread] = record.uuid
        passed.add(record.uuid)
    # A circle needs a parent that is stored after its child.
    circular = _circular({r.uuid: r.parent for r in records if r.uuid is not None}) if forward else None
    if circular:
        previous: str | None = None
        for record in records:
            if record.uuid in circular:
                record.set_parent(previous)
            previous = record.uuid


def _circular(parents: dict[str, str | None]) -> set[str]:
    """Those whose way up never ends; each entry is walked over once."""
    ends: dict[str, bool] = {}
    for start in parents:
        way: list[str] = []
        at: str | None = start
        on_way: set[str] = set()
        while at is not None and at in parents and at not in ends and at not in on_way:
            way.append(at)
            on_way.add(at)
            at = parents[at]
        good = at is None or at not in parents or ends.get(at, False)
        ends.update(dict.fromkeys(way, good))
    return {uuid for uuid, good in ends.items() if not good}
