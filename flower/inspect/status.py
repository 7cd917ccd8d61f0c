"""What a directory remembers, and who is at work in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from flower.books.adoption import pending_adoption
from flower.books.locks import Holder, holder_of, live_runs
from flower.books.wake import wake_state
from flower.inspect.books import DATABASE, Books, Problem
from flower.locale import _
from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

    from flower.inspect.database import Database, Transcript


class RememberedStep(NamedTuple):
    """A step of the lineage.

    Attributes:
        stored: its session is in the database, so the next run continues it.
        entries: how many entries that session has.
        context: tokens the model read at its last turn, 0 if unknown.
        modified: last change, ms since the epoch; 0 without a session.
        driven_by: the live run that works in it, empty if none does.
    """

    step: str
    session_id: str
    stored: bool = False
    entries: int = 0
    context: int = 0
    modified: int = 0
    driven_by: str = ""


class Status(NamedTuple):
    """The answer to "what does this directory remember?".

    Attributes:
        waking: the brief is frozen, so a run carries on.
        checks: how many checks the goal has.
        woke: how often a run began here.
        live: holders of live runs.
        runs, rows, cost_usd: runs in the manifest, their rows, what they cost together.
        sessions: main transcripts in the database.
        last_run: id of the last run in the manifest, empty without one.
        problems: what is damaged or does not fit.
    """

    workspace: str
    run_dir: str
    waking: bool
    brief: str | None
    goal: str | None
    checks: int
    woke: int
    steps: list[RememberedStep]
    live: list[Holder]
    runs: int
    rows: int
    cost_usd: float
    sessions: int
    last_run: str
    problems: list[Problem]

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        nested = {
            name: [one._asdict() for one in getattr(self, name)] for name in ("steps", "live", "problems")
        }
        return {**self._asdict(), **nested}


def status_of(workspace: Path, run_dir: Path) -> Status:
    """Look at the books of a directory. Writes nothing, works while a run is live."""
    books = Books.read(run_dir, workspace)
    woken = _wake_state(workspace, run_dir)
    steps, sessions = None, 0
    with books.database() as database:
        transcripts = database.transcripts() if database else []
        steps = [_remembered(database, transcripts, books, *step) for step in books.steps.items()]
        sessions = len(transcripts)
    if steps is None:  # Damage that showed only while reading.
        steps = [_remembered(None, [], books, *step) for step in books.steps.items()]
    return Status(
        workspace=books.workspace,
        run_dir=str(run_dir),
        waking=woken["waking"],
        brief=_text(woken["brief"]),
        goal=_text(woken["goal"]),
        checks=woken["checks"],
        woke=books.woke,
        steps=steps,
        live=live_runs(run_dir),
        runs=len({row.get("run") for row in books.rows}),
        rows=len(books.rows),
        cost_usd=round(sum(cost_of(row) for row in books.rows), 6),
        sessions=sessions,
        last_run=str(books.rows[-1].get("run") or "") if books.rows else "",
        problems=books.problems + list(_mismatches(books, steps)),
    )


def cost_of(row: dict[str, Any]) -> float:
    """US dollars of a row; 0.0 where a stranger wrote something else there."""
    cost = row.get("cost_usd")
    return float(cost) if isinstance(cost, (int, float)) else 0.0


def _wake_state(workspace: Path, run_dir: Path) -> dict[str, Any]:
    """Brief and goal; where each worker has a worktree they stand beside the workspace."""
    plain = wake_state(workspace, run_dir=run_dir)
    return plain if plain["brief"] or plain["goal"] else wake_state(workspace, run_dir=run_dir, isolate=True)


def _text(path: os.PathLike[str] | None) -> str | None:
    return os.fspath(path) if path is not None else None


def _remembered(
    database: Database | None, transcripts: list[Transcript], books: Books, step: str, session: str
) -> RememberedStep:
    holder = holder_of(books.run_dir, session) if session and "/" not in session else None
    driven_by = (holder.run or "?") if holder else ""
    found = next((t for t in transcripts if t.session_id == session), None)
    if database is None or found is None:
        return RememberedStep(step, session, driven_by=driven_by)
    entries, context = database.count(found.key), database.context(found.key)
    return RememberedStep(step, session, True, entries, context, found.modified, driven_by)


def _mismatches(books: Books, steps: list[RememberedStep]) -> Iterator[Problem]:
    place = str(books.run_dir / "lineage.json")
    if pending_adoption(books.run_dir):
        todo = _("The next run, or `flower adopt`, completes it.")
        yield Problem(place, _("an adoption was cut off"), todo)
    elif books.other and not books.steps:
        what = _("it is about {workspace}").format(workspace=books.other)
        yield Problem(place, what, _("If this directory was moved: flower adopt"))
    if any(problem.file.endswith(DATABASE) for problem in books.problems):
        return
    for step in steps:
        if not step.stored and not step.driven_by:
            what = _("the session of {step} is not in the database").format(step=step.step)
            yield Problem(place, what, _("The step starts from scratch at the next run."))
