"""lineage.json: which session each step last worked in, kept across runs.

    {"workspace": "/home/you/proj", "woke": 3, "steps": {"干活": "47395075-…"}}

It only ever helps: what does not fit is kept aside under another name, said in one line, and the run starts
from scratch. A write that fails never takes the run down.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from flower.books import files
from flower.books.adoption import complete_adoption
from flower.books.archive import archive_files, complete_archive
from flower.books.files import Notice
from flower.locale import _
from flower.patterns import late

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

NAME = "lineage.json"
LOCK_S = 30.0
"""Seconds to wait for another run that holds the lock, a stopped one perhaps, before going on without."""
_RETRY = late(r"#(?:retry|round)\d+$")
_JUDGE = late(r"·判定#\d+$")


def plain_step(name: str) -> str | None:
    """The name a step is remembered under: without ``#retryN`` and ``#roundN``; None for a judge's."""
    return None if is_judge(name) else _RETRY.sub("", name)


def is_judge(name: str) -> bool:
    """Is this the name of a judge's step?"""
    return _JUDGE.search(name) is not None


class Lineage:
    """The lineage of one workspace, as of the last read or write.

    Attributes:
        path: the file.
        woke: how often a run began here.
        steps: step name to session id. Not verified: that a session is in the store is for the caller to
        check. pending: successors that replace an entry as soon as they have an entry of their own in the
        store.
    """

    def __init__(
        self, run_dir: str | os.PathLike[str], workspace: str | os.PathLike[str], notice: Notice
    ) -> None:
        self._run_dir = Path(run_dir)
        self._workspace = files.canonical(workspace)
        self._notice = notice
        self._lock = self._run_dir / "lineage.lock"
        self.path = self._run_dir / NAME
        self.woke = 0
        self.steps: dict[str, str] = {}
        self.pending: dict[str, str] = {}
        self._unsaved_wakes = 0

    @classmethod
    def open(
        cls, run_dir: str | os.PathLike[str], workspace: str | os.PathLike[str], *, notice: Notice
    ) -> Lineage:
        """Read the lineage, after completing an archive or an adoption that a kill cut in half.

        Another workspace's file is kept as ``lineage.json.foreign-<project key>`` and taken back when its
        workspace returns; a damaged one becomes ``lineage.json.damaged-<time>``. Each is said in one line.
        """
        lineage = cls(run_dir, workspace, notice)
        try:
            files.ops.makedirs(os.fspath(run_dir))
            with files.locked(lineage._lock, timeout=LOCK_S, notice=notice):
                complete_archive(lineage._run_dir)
                complete_adoption(lineage._run_dir)
                lineage._adopt(lineage._own_content(notice))
        except OSError as error:
            # Going on without the past is better than not going on; the person is told.
            notice(
                _("{path} cannot be used ({reason}); starting from scratch").format(
                    path=lineage.path, reason=error.strerror or error
                )
            )
        return lineage

    def wake(self) -> int:
        """Count one more run, on disk, and return the number: 1 the first time."""
        self._unsaved_wakes += 1
        self.woke += 1
        self._update(lambda steps: {})
        return self.woke

    def remember(
        self,
        step: str,
        session_id: str,
        *,
        exists: Callable[[str], bool],
        held: Callable[[str], bool],
    ) -> bool:
        """Note that a step works in this session; True if the lineage says so now.

        A judge's session is never noted. An entry whose session is in the store stays until its successor has
        an entry there too: the successor waits in ``pending``, to be noted by a later call. An entry whose
        session another live run drives stays with that run.

        Args:
            step: the step's name; ``#retryN`` and ``#roundN`` are taken off.
            session_id: the session.
            exists: has this session an entry in the store?
            held: is this session driven by another run?
        """
        name = plain_step(step)
        if name is None:
            return False
        self.pending[name] = session_id
        self.settle(exists=exists, held=held)
        return name not in self.pending

    def settle(self, *, exists: Callable[[str], bool], held: Callable[[str], bool]) -> None:
        """Note those in ``pending`` whose time has come."""

        def due(steps: dict[str, str]) -> dict[str, str]:
            return {
                name: new
                for name, new in self.pending.items()
                if may_replace(steps.get(name), new, exists, held)
            }

        if self.pending:
            self._update(due)

    def archive(self, into: str | os.PathLike[str], extra: Iterable[str | os.PathLike[str]] = ()) -> Path:
        """Move the lineage and the files that belong to it together into ``into/<YYYYmmdd-HHMMSS>/``; that
        directory.

        Nothing is deleted, and steps and wakes begin anew. What a kill cuts in half the next ``open``
        completes.

        Args:
            into: the directory of archives (``notes/archive``).
            extra: files that are part of the same history, brief and goal; missing ones are passed over.

        Raises:
            OSError: the files could not be moved; what was begun is completed by the next ``open``.
        """
        with files.locked(self._lock, timeout=LOCK_S, notice=self._notice):
            directory = archive_files(self._run_dir, Path(into), [self.path, *map(Path, extra)])
        self.woke, self.steps = 0, {}
        self.pending.clear()
        self._unsaved_wakes = 0
        return directory

    # -- the file

    def _update(self, due: Callable[[dict[str, str]], dict[str, str]]) -> None:
        """Merge into the file what is ``due``, decided under the lock on the steps as they are on disk."""
        try:
            with files.locked(self._lock, timeout=LOCK_S, notice=self._notice):
                files.sweep_temporaries(self.path)
                content = self._own_content(lambda line: None)
                noted = due(content["steps"])
                merged = {
                    **content,
                    "workspace": self._workspace,
                    "woke": content["woke"] + self._unsaved_wakes,
                    "steps": content["steps"] | noted,
                }
                if merged != content:
                    files.write_atomic(self.path, files.dump_json(merged))
        except OSError as error:
            # It must not take the run down: in memory it holds, and what is pending is written with the next
            # change.
            self.steps |= due(self.steps)
            self._notice(
                _(
                    "{path} could not be written ({reason}); a flower killed now may not find this session"
                ).format(path=self.path, reason=error.strerror or error)
            )
            return
        self._unsaved_wakes = 0
        for name in noted:
            del self.pending[name]
        self._adopt(merged)

    def _adopt(self, content: dict[str, Any]) -> None:
        self.woke, self.steps = content["woke"], dict(content["steps"])

    def _own_content(self, notice: Notice) -> dict[str, Any]:
        """This workspace's content, under the lock: whatever else is in the file's place is put aside."""
        try:
            content = parse(self.path)
        except FileNotFoundError:
            content = None
        except ValueError:
            kept = files.set_aside(self.path, f"damaged-{files.timestamp()}")
            notice(
                _("{path} was damaged; it is kept as {kept}, and the steps start from scratch").format(
                    path=self.path, kept=kept.name
                )
            )
            content = None
        other = None
        if content is not None and files.canonical(content["workspace"]) != self._workspace:
            other, content = content["workspace"], None
            kept = self._put_aside_foreign(other)
        if content is None and (content := self._take_back()) is None and other is not None:
            notice(
                _(
                    "{path} is about {workspace}; it is kept as {kept}, and the steps start from scratch"
                    " (was this directory moved? flower adopt)"
                ).format(path=self.path, workspace=other, kept=kept.name)
            )
        return content or {"workspace": self._workspace, "woke": 0, "steps": {}}

    def _put_aside_foreign(self, workspace: str) -> Path:
        # Imported here: the SDK takes most of a second to load, and this is the only place that needs its
        # key.
        from claude_agent_sdk import project_key_for_directory

        return files.set_aside(self.path, f"foreign-{project_key_for_directory(workspace)}")

    def _take_back(self) -> dict[str, Any] | None:
        found = find_put_aside(self._run_dir, self._workspace)
        if found is None:
            return None
        files.ops.replace(str(found[0]), str(self.path))
        files.sync_directory(str(self._run_dir))
        return found[1]


def may_replace(
    current: str | None, new: str, exists: Callable[[str], bool], held: Callable[[str], bool]
) -> bool:
    """May a step's entry become this session? Not if a session somebody could go on with got lost."""
    if current is None or current == new or not exists(current):
        return True
    return exists(new) and not held(current)


def parse(path: Path) -> dict[str, Any]:
    """The content of a lineage file, unknown keys included.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is not a lineage.
        OSError: it cannot be read.
    """
    content = files.read_json(path)
    if not isinstance(content, dict):
        raise ValueError("not an object")
    woke, steps = content.setdefault("woke", 0), content.setdefault("steps", {})
    whole = isinstance(content.get("workspace"), str) and isinstance(woke, int) and isinstance(steps, dict)
    if not whole or not all(isinstance(session, str) for session in steps.values()):
        raise ValueError("not a lineage")
    return content


def find_put_aside(run_dir: Path, workspace: str) -> tuple[Path, dict[str, Any]] | None:
    """The newest file put aside that is about this workspace (a canonical path). Writes nothing."""
    for path in sorted(run_dir.glob(f"{NAME}.foreign-*"), key=_mtime, reverse=True):
        try:
            content = parse(path)
        except (OSError, ValueError):
            continue  # Whatever it is, it is not what we look for.
        if files.canonical(content["workspace"]) == workspace:
            return path, content
    return None


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0  # Gone meanwhile.
