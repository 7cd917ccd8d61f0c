"""Everything a report shows: runs, their steps with the turns in them, and what the judges said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flower.books.lineage import is_judge
from flower.books.manifest import Row
from flower.config.secrets import Masker
from flower.documents.verdict import Verdict
from flower.inspect.books import Books, Problem, sessions_of
from flower.inspect.database import Database
from flower.inspect.status import cost_of
from flower.inspect.turns import Turn, turns_of
from flower.values import NamedTuple


class ReportedStep(NamedTuple):
    """One row of the manifest.

    Attributes:
        started, ended: epoch seconds; a step that never ended ends where it began.
        cost_usd: as billed, or an estimate if ``estimated``.
        text, error: what came of it, tokens masked.
        turns: what the model said in it, subagents included.
        verdict: of a judge's step what its answer says.
    """

    step: str
    session_id: str
    ok: bool
    started: float
    ended: float
    cost_usd: float
    estimated: bool
    context: int
    attempts: int
    handoffs: int
    text: str
    error: str
    turns: tuple[Turn, ...]
    verdict: Verdict | None


class ReportedRun(NamedTuple):
    """The steps that one process made, oldest first."""

    run: str
    steps: tuple[ReportedStep, ...]

    @property
    def started(self) -> float:
        """Epoch seconds; 0 if no row says."""
        return min((s.started for s in self.steps if s.started), default=0.0)

    @property
    def ended(self) -> float:
        """Epoch seconds, never before ``started``."""
        return max((s.ended for s in self.steps), default=0.0)


class Report(NamedTuple):
    """A directory's whole past, oldest run first.

    Attributes:
        problems: what could not be read.
    """

    workspace: str
    runs: tuple[ReportedRun, ...]
    problems: tuple[Problem, ...]

    @property
    def steps(self) -> list[ReportedStep]:
        """Those of all runs."""
        return [step for run in self.runs for step in run.steps]


def report_of(run_dir: Path, workspace: Path, masker: Masker) -> Report:
    """Read the books for a report. Writes nothing; a transcript is read page by page and not kept."""
    books = Books.read(run_dir, workspace)
    turns: dict[str, list[Turn]] = {}
    with books.database() as database:
        if database is not None:
            wanted = {session for row in books.rows for session in sessions_of(row)}
            _read_turns(database, wanted, turns)
    runs: dict[str, list[ReportedStep]] = {}
    for row in books.rows:
        runs.setdefault(str(row.get("run") or ""), []).append(_step(row, turns, masker))
    reported = tuple(ReportedRun(run, tuple(steps)) for run, steps in runs.items())
    return Report(books.workspace, reported, tuple(books.problems))


def _read_turns(database: Database, wanted: set[str], turns: dict[str, list[Turn]]) -> None:
    for transcript in database.transcripts():
        if transcript.session_id in wanted:
            turns[transcript.session_id] = turns_of(database, transcript)


def _step(row: Row, turns: dict[str, list[Turn]], masker: Masker) -> ReportedStep:
    name, text = str(row.get("step") or "?"), str(row.get("text") or "")
    started = _number(row, "started_at")
    ended = max(_number(row, "ended_at"), started)
    retired, attempts = row.get("retired"), row.get("attempts")
    return ReportedStep(
        step=name,
        session_id=str(row.get("session_id") or ""),
        ok=bool(row.get("ok")),
        started=started,
        ended=ended,
        cost_usd=cost_of(row),
        estimated=bool(row.get("cost_estimated")),
        context=int(_number(row, "context")),
        attempts=attempts if isinstance(attempts, int) else 1,
        handoffs=len(retired) if isinstance(retired, list) else 0,
        text=masker(text),
        error=masker(str(row.get("error") or "")),
        turns=tuple(
            turn
            for session in sessions_of(row)
            for turn in turns.get(session, ())
            if started <= turn.at <= ended
        ),
        verdict=Verdict.parse(masker(text)) if is_judge(name) and text else None,
    )


def _number(row: dict[str, Any], name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) else 0.0
