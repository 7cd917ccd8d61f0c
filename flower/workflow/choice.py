"""Which session a step goes on with: a pure function, so that a table of cases can prove it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flower.locale import _
from flower.model import UsageError


@dataclass(frozen=True)
class Choice:
    """What a step's first attempt starts from.

    Attributes:
        session: the session to resume, ``None`` for a new one.
        fork: go on in a branch of it.
        continued: the session was told this step's prompt by an earlier process, so ``resume_prompt`` is due.
        lost: a session the lineage names, but the database does not hold.
    """

    session: str | None = None
    fork: bool = False
    continued: bool = False
    lost: str | None = None


def choose_session(
    name: str,
    resume_from: str | None,
    fork: bool,
    *,
    sessions: Mapping[str, str],
    lineage: Mapping[str, str],
    exists: Callable[[str], bool],
) -> Choice:
    """Decide what the step called ``name`` starts from.

    Args:
        name, resume_from, fork: the step's own.
        sessions: step → session of this very run.
        lineage: step → session of earlier runs; empty for a workflow that is not continuous.
        exists: whether the session database holds a session.

    Raises:
        UsageError: ``resume_from`` names a step with no session in this run or before.
    """
    remembered = lineage.get(name)
    if resume_from is None:
        if remembered is None:
            return Choice()
        return Choice(remembered, continued=True) if exists(remembered) else Choice(lost=remembered)
    source = sessions.get(resume_from)
    if source is None and (earlier := lineage.get(resume_from)) is not None and exists(earlier):
        source = earlier
    if source is None:
        problem = _("step {name!r} resumes from {source!r}, which has no session, in this run or before")
        raise UsageError(problem.format(name=name, source=resume_from))
    return Choice(source, fork=fork, continued=not fork and remembered == source)
