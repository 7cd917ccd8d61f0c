"""Is everything as it should be? One finding each, and what to do about those that are not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from flower.books import files, project
from flower.books.database import SAFE_WAL
from flower.books.filesystem import filesystem_type, is_local
from flower.books.locks import is_held, live_directory, live_runs
from flower.config.credentials import check_credentials, cloud, describe
from flower.config.endpoint import base_url, endpoint, reachable
from flower.config.secrets import Masker
from flower.inspect.books import DATABASE, Books
from flower.inspect.status import status_of
from flower.locale import _, ngettext
from flower.model import BooksError, FlowerError
from flower.supervise import find_claude, strays

LOW_DISK_BYTES = 500 << 20
"""Free bytes below which a long run may not find room for its transcripts."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what it is: ``credentials``, ``endpoint``, ``claude``, ``sqlite``, ``database``, ``lineage``,
            ``filesystem``, ``disk``, ``project``, ``runs``, ``leftovers``, ``settings``.
        ok: nothing has to be done.
        found: what was found, tokens masked.
        todo: what to do if it is not ok.
    """

    name: str
    ok: bool
    found: str
    todo: str = ""


def examine(workspace: Path, run_dir: Path) -> Iterator[Finding]:
    """Look at everything a run needs. Nothing is written and nothing is sent; the settings must be loaded."""
    looks: tuple[Callable[[Path, Path], Iterator[Finding]], ...] = (
        _credentials,
        _endpoint,
        _claude,
        _place,
        _database,
        _books,
        _project,
        _leftovers,
    )
    masker = Masker()
    for look in looks:
        for finding in look(workspace, run_dir):
            yield Finding(finding.name, finding.ok, masker(finding.found), masker(finding.todo))


def _credentials(workspace: Path, run_dir: Path) -> Iterator[Finding]:
    problem = check_credentials()
    first, *rest = (problem or "").splitlines()[:4] if problem else ("",)
    if problem:
        yield Finding("credentials", False, first, " ".join(rest) or _("Set it too, or run `flower setup`."))
    for setting in describe():
        yield Finding("settings", True, str(setting))


def _endpoint(workspace: Path, run_dir: Path) -> Iterator[Finding]:
    if cloud():
        yield Finding("endpoint", True, _("a cloud's own ({name}), not tried").format(name=cloud()))
        return
    try:
        host, port = endpoint()
    except FlowerError as error:
        yield Finding("endpoint", False, error.message, error.hint)
        return
    if reachable(host, port):
        yield Finding("endpoint", True, _("{host}:{port} can be reached").format(host=host, port=port))
    else:
        todo = _("Check the network, ANTHROPIC_BASE_URL ({url}) and the proxy.").format(url=base_url())
        yield Finding(
            "endpoint", False, _("{host}:{port} cannot be reached").format(host=host, port=port), todo
        )


def _claude(workspace: Path, run_dir: Path) -> Iterator[Finding]:
    try:
        yield Finding("claude", True, str(find_claude()))
    except FlowerError as error:
        yield Finding("claude", False, error.message, error.hint)


def _place(workspace: Path, run_dir: Path) -> Iterator[Finding]:
    place = _existing(run_dir)
    kind = filesystem_type(place) or _("unknown")
    found = _("{path} is on {kind}").format(path=place, kind=kind)
    if not is_local(place):
        found += ", " + _("which other machines may share: the database is kept in the slower, safe mode")
    yield Finding("filesystem", True, found)
    for path in dict.fromkeys((place, _existing(workspace))):
        if not os.access(path, os.W_OK):
            todo = _("Change its permissions, or choose another with -w or -r.")
            yield Finding("filesystem", False, _("{path} cannot be written").format(path=path), todo)
    free = shutil.disk_usage(place).free
    found = _("{n} MB free for {path}").format(n=free >> 20, path=place)
    yield Finding("disk", free >= LOW_DISK_BYTES, found, "" if free >= LOW_DISK_BYTES else _("Make room."))


def _existing(path: Path) -> Path:
    """The path itself, or the first directory above it that is there."""
    return next((one for one in (path, *path.parents) if one.exists()), path)


def _database(workspace: Path, run_dir: Path) -> Iterator[Finding]:
    version = apsw.sqlite_lib_version()
    safe = tuple(int(n) for n in version.split(".")[:3]) >= SAFE_WAL
    journal = _("write-ahead log") if safe and is_local(_existing(run_dir)) else _("rollback journal")
    yield Finding("sqlite", True, _("SQLite {version}, {journal}").format(version=version, journal=journal))
    path = run_dir / DATABASE
    if not path.exists():
        yield Finding("database", True, _("none yet"))
        return
    try:
        with Books.read(run_dir, workspace).open_database() as database:
            wrong, mode = database.check(), database.journal()
            count = len(database.transcripts())
    except BooksError as error:
        yield Finding("database", False, error.message, error.hint or _("Check who may read it."))
        return
    if wrong:
        todo = _("Keep a copy, then move {path} away; `sqlite3 {path} .recover` may save what is left.")
        yield Finding("database", False, f"{path}: {wrong[0]}", todo.format(path=path))
        return
    text = ngettext(
        "whole, {n} conversation, journal {mode}", "whole, {n} conversations, journal {mode}", count
    )
    yield Finding("database", True, text.format(n=count, mode=mode))


def _books(workspace: Path, run_dir: Path) -> Iterator[Finding]:
    status = status_of(workspace, run_dir)
    for problem in status.problems:
        if not problem.file.endswith(DATABASE):  # Said already.
            yield Finding("lineage", False, f"{problem.file}: {problem.what}", problem.todo)
    if not status.problems:
        text = ngettext("fits this directory, {n} step", "fits this directory, {n} steps", len(status.steps))
        yield Finding("lineage", True, text.format(n=len(status.steps)))
    for holder in live_runs(run_dir):
        yield Finding("runs", True, _("live: {holder}").format(holder=holder))


def _project(workspace: Path, run_dir: Path) -> Iterator[Finding]:
    mine = project.project_id(workspace)
    theirs = project.known_paths(run_dir).get(files.canonical(workspace))
    if mine and theirs and mine != theirs:
        found = _("{path} holds the books of another project that was also here").format(path=run_dir)
        yield Finding("project", False, found, _("Choose another run directory with -r."))
    elif mine:
        yield Finding("project", True, mine)


def _leftovers(workspace: Path, run_dir: Path) -> Iterator[Finding]:
    live = live_directory(run_dir)
    dead = (
        [p for p in sorted(live.iterdir()) if p.is_dir() and not is_held(run_dir, p.name)]
        if live.is_dir()
        else []
    )
    if not dead:
        yield Finding("leftovers", True, _("none"))
        return
    working = [pid for path in dead for pid in strays(f"{path.name}@{run_dir.resolve()}")]
    found = ngettext(
        "{n} session that a killed run left in {path}",
        "{n} sessions that a killed run left in {path}",
        len(dead),
    ).format(n=len(dead), path=live)
    if working:
        found += "; " + _("processes still at work: {pids}").format(pids=", ".join(map(str, working)))
    yield Finding(
        "leftovers", False, found, _("The next run reads them back, ends what works and removes them.")
    )
