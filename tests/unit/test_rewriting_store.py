"""The rewriting stores: the protocol, the spill, and that what is stored is never touched."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import sqlite3
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import InMemorySessionStore
from claude_agent_sdk.testing import run_session_store_conformance
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from flower.books.rewriting import PruningSessionStore, TrimmingSessionStore, trim_report
from flower.books.sqlite import SqliteSessionStore
from flower.transcript.chain import check_chain
from flower.transcript.messages import wire_messages
from flower.transcript.prune import ORPHANED
from flower.transcript.trim import TrimPolicy
from flower.transcript.wire import check_messages
from tests.data.build import SESSION, Transcript

KEY = {"project_key": "p", "session_id": SESSION}
LARGE = "\u4e2d" * 2500


@pytest.mark.parametrize("kind", [TrimmingSessionStore, PruningSessionStore])
@pytest.mark.parametrize("backend", ["sqlite", "memory"])
def test_the_stores_keep_the_protocol(kind: Any, backend: str, tmp_path: Path) -> None:
    numbers = itertools.count()

    def make() -> Any:
        place = tmp_path / f"{next(numbers)}.db" if backend == "sqlite" else InMemorySessionStore()
        return kind(place, tmp_path)

    asyncio.run(run_session_store_conformance(make))


def filled(store: Any, t: Transcript) -> Any:
    asyncio.run(store.append(KEY, t.entries))
    return store


def long_session() -> Transcript:
    t = Transcript()
    t.user("go")
    for n in range(40):
        t.run("make", f"{n} {LARGE}")
        t.run("git status", "clean")
    t.api_error()
    t.call("sleep 100")
    return t


@pytest.mark.parametrize("backend", ["sqlite", "memory"])
def test_the_file_for_the_cli_holds_what_load_gives(backend: str, tmp_path: Path) -> None:
    place = tmp_path / "s.db" if backend == "sqlite" else InMemorySessionStore()
    store = filled(PruningSessionStore(place, tmp_path), long_session())
    loaded = asyncio.run(store.load(KEY))
    target = tmp_path / "config" / "x.jsonl"
    written = asyncio.run(store.materialise(KEY, target))
    assert [json.loads(line) for line in target.read_text().splitlines()] == loaded
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [p.name for p in target.parent.iterdir()] == ["x.jsonl"]
    assert written.report == trim_report(store)
    made = [e["uuid"] for e in loaded if ORPHANED in json.dumps(e)]
    assert written.inserted == store.inserted == frozenset(made) and len(made) == 1


def test_nothing_to_materialise_is_said(tmp_path: Path) -> None:
    store = PruningSessionStore(tmp_path / "s.db", tmp_path)
    with pytest.raises(LookupError):
        asyncio.run(store.materialise(KEY, tmp_path / "x.jsonl"))
    assert not (tmp_path / "x.jsonl").exists()


def test_moved_results_lie_in_the_workspace_under_their_hash(tmp_path: Path) -> None:
    store = filled(PruningSessionStore(tmp_path / "s.db", tmp_path), long_session())
    entries = asyncio.run(store.load(KEY))
    spill = tmp_path / ".flower" / "spill"
    files = sorted(spill.glob("*.txt"))
    assert len(files) == 20
    for file in files:
        assert file.stem == hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        assert f".flower/spill/{file.name} (relative" in json.dumps(entries)
    assert {f.read_text() for f in files} == {f"{n} {LARGE}" for n in range(20)}
    assert (spill / ".gitignore").read_text() == (spill / ".ignore").read_text() == "*\n"
    report = trim_report(store)
    assert (report.trimmed, report.expired, report.errors, report.orphans) == (20, 30, 1, 1)
    assert report.chars_saved > 20 * 2000


def test_a_body_stays_where_its_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / ".flower").write_text("in the way")
    store = filled(PruningSessionStore(tmp_path / "s.db", tmp_path), long_session())
    assert json.dumps(asyncio.run(store.load(KEY)), ensure_ascii=False).count(LARGE) >= 40
    assert trim_report(store).trimmed == 0


def test_the_database_keeps_its_bytes_through_any_number_of_loads(tmp_path: Path) -> None:
    store = filled(PruningSessionStore(tmp_path / "s.db", tmp_path), long_session())
    before = dump(tmp_path / "s.db")
    for _ in range(3):
        asyncio.run(store.load(KEY))
        asyncio.run(store.materialise(KEY, tmp_path / "x.jsonl"))
    assert dump(tmp_path / "s.db") == before
    assert asyncio.run(store.load_raw(KEY)) == long_session().entries


def dump(path: Path) -> list[str]:
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        tables = ("entries", "meta", "summaries")
        return [str(row) for t in tables for row in database.execute(f"SELECT * FROM {t} ORDER BY 1, 2")]
    finally:
        database.close()


def test_a_row_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    t.say("two")
    t.user("three")
    filled(PruningSessionStore(tmp_path / "s.db", tmp_path), t).close()
    with sqlite3.connect(tmp_path / "s.db") as database:
        database.execute("UPDATE entries SET payload = '{broken' WHERE seq = 1")
    store = PruningSessionStore(tmp_path / "s.db", tmp_path)
    for entries in (asyncio.run(store.load(KEY)), lines(store, tmp_path / "x.jsonl")):
        assert check_chain(entries) == []
        assert json.dumps(wire_messages(entries)).count("text") == 4
        assert trim_report(store).skipped == 1


def lines(store: Any, path: Path, key: dict[str, str] = KEY) -> list[dict[str, Any]]:
    asyncio.run(store.materialise(key, path))
    return [json.loads(line) for line in path.read_text().splitlines()]


class Bare:
    """The least a backend may offer."""

    def __init__(self) -> None:
        self._kept: dict[str, list[dict[str, Any]]] = {}

    async def append(self, key: dict[str, str], entries: list[dict[str, Any]]) -> None:
        self._kept.setdefault(str(key), []).extend(entries)

    async def load(self, key: dict[str, str]) -> list[dict[str, Any]] | None:
        return self._kept.get(str(key))


def test_what_a_backend_lacks_is_answered_through_its_load(tmp_path: Path) -> None:
    t = long_session()
    small, full = PruningSessionStore(Bare(), tmp_path), PruningSessionStore(tmp_path / "s.db", tmp_path)
    for store in (small, full):
        assert not store.has_session("p", SESSION)
        filled(store, t)
        assert store.has_session("p", SESSION)
        assert store.last_context("p", SESSION) == 10
        assert store.known_uuids(KEY) == {e["uuid"] for e in t.entries}
        assert store.last_report is None
    small.close()
    full.close()


class Life(RuleBasedStateMachine):
    """A session that works, is refused, interrupted, cut off, resumed and branched, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.workspace = Path(self.place.name)
        self.path = self.workspace / "s.db"
        self.policy = TrimPolicy(keep_recent=2, min_chars=50, block=3)
        self.store = PruningSessionStore(self.path, self.workspace, self.policy)
        self.key = dict(KEY)
        self.t = Transcript()
        self.t.user("begin")
        self.stored = 0
        self.fed: list[str] = []
        self.branches = 0

    def teardown(self) -> None:
        self.store.close()
        self.place.cleanup()

    @rule(command=st.sampled_from(["ls", "git status", "make", "rm x"]), size=st.sampled_from([3, 80]))
    def works(self, command: str, size: int) -> None:
        self.t.run(command, f"{len(self.t.entries)}" + "r" * size)

    @rule(count=st.integers(2, 3), answered=st.sets(st.integers(0, 2)), think=st.sampled_from(["", "hm"]))
    def calls_at_once(self, count: int, answered: set[int], think: str) -> None:
        idents = self.t.call(*["make"] * count, think=think)
        for n in sorted(answered):
            if n < count:
                self.t.result(idents[n], f"part {n}")
        self.t.leaf = self.t.entries[-1]["uuid"]

    @rule()
    def is_refused(self) -> None:
        self.t.deny("rm x")

    @rule()
    def is_interrupted(self) -> None:
        self.t.interrupt("make")

    @rule(text=st.sampled_from(["API Error: 529", "No response requested."]))
    def fails(self, text: str) -> None:
        self.t.api_error(text)

    @rule(text=st.sampled_from(["go on", "", "half \ud800", "nul \x00"]))
    def is_told(self, text: str) -> None:
        self.t.user(text)

    @rule()
    def is_killed_in_a_tool(self) -> None:
        self.t.call("make")

    @precondition(lambda self: self.stored == len(self.t.entries))
    @rule()
    def is_resumed(self) -> None:
        """The CLI reads what it is fed and goes on from its last entry."""
        self.t.leaf = [e["uuid"] for e in self.loaded() if "uuid" in e][-1]
        self.t.user("resumed")

    @precondition(lambda self: self.stored == len(self.t.entries))
    @rule()
    def is_branched(self) -> None:
        """A branch stores what the model saw under another id, with the same uuids."""
        fed = self.loaded()
        self.branches += 1
        self.key["session_id"] = f"{SESSION[:-2]}{self.branches:02}"
        self.t.entries, self.stored, self.fed = [*fed], 0, []
        self.t.leaf = [e["uuid"] for e in fed if "uuid" in e][-1]

    @rule()
    def is_stored(self) -> None:
        asyncio.run(self.store.append(self.key, self.t.entries[self.stored :]))
        self.stored = len(self.t.entries)

    @rule()
    def the_process_ends_and_another_begins(self) -> None:
        self.store.close()
        self.store = PruningSessionStore(SqliteSessionStore(self.path), self.workspace, self.policy)

    def loaded(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = asyncio.run(self.store.load(self.key))
        return entries

    @invariant()
    def what_is_fed_holds_the_red_lines(self) -> None:
        if self.stored == 0:
            return
        before = dump(self.path)
        entries = self.loaded()
        assert check_chain(entries) == []
        messages = wire_messages(entries)
        assert check_messages(messages) == []
        assert lines(self.store, self.workspace / "x.jsonl", self.key) == entries
        assert dump(self.path) == before
        wire = [json.dumps(m) for m in messages]
        assert not any("API Error" in m or "No response requested" in m for m in wire)
        replaced = [m for m in self.fed if "has expired" in m or "moved to" in m]
        assert not set(replaced) - set(wire) or any("rm x" in m for m in self.fed)
        self.fed = wire
        for file in self.workspace.glob(".flower/spill/*.txt"):
            assert hashlib.sha256(file.read_bytes()).hexdigest().startswith(file.stem)


Life.TestCase.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase
