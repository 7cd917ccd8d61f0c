"""What an adoption would do, found out without changing anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flower.books import files, lineage, project
from flower.books.adoption import Adoption
from flower.inspect.books import DATABASE
from flower.inspect.database import Database, Transcript
from flower.locale import _
from flower.model import BooksForeign, UsageError


@dataclass(frozen=True)
class Plan:
    """An adoption and what a person wants to know before it.

    Attributes:
        steps: step name to session id of the lineage that is taken over.
        replaced: steps of a lineage of the new path that is put aside for it.
        left: sessions under the old path's key that stay, because another directory shares the key.
    """

    adoption: Adoption
    steps: dict[str, str]
    replaced: dict[str, str]
    left: int


@dataclass(frozen=True)
class _Past:
    """A lineage in the run directory; ``file`` is empty for the one in place."""

    file: str
    content: dict[str, Any]

    @property
    def workspace(self) -> str:
        return str(self.content["workspace"])


def plan_adoption(workspace: Path, run_dir: Path, old: str | None) -> Plan:
    """What `flower adopt` will do. Writes nothing.

    Args:
        workspace: where the directory is now.
        old: where it was; None finds out from the books.

    Raises:
        UsageError: there is nothing to adopt, or it is not clear what.
        BooksForeign: the books say that what is to be adopted is another project's.
    """
    new = files.canonical(workspace)
    pasts = list(_lineages(run_dir))
    current = next((past for past in pasts if not past.file), None)
    known = project.known_paths(run_dir)
    past = _chosen(pasts, known, new, old, workspace, run_dir)
    old_path = past.workspace if past else files.canonical(old or "")
    if old_path == new:
        raise UsageError(_("{path} is where these books say it is: nothing to adopt.").format(path=new))
    sessions, left = _sessions(run_dir, pasts, known, past, old_path, new)
    if past is None and not sessions:
        raise UsageError(
            _("{run_dir} remembers nothing of {path}.").format(run_dir=run_dir, path=old_path),
            hint=_("Other directories it served: {paths}").format(
                paths=", ".join(p for p in _served(pasts, known) if p != new) or "-"
            ),
        )
    ident = _project(workspace, run_dir, known, old_path, new, named=old is not None)
    displaced = _displaced(run_dir, current, past, new)
    content = {**past.content, "workspace": new} if past else None
    adoption = Adoption(
        old=old_path,
        new=new,
        new_key=_key(new),
        sessions=[[transcript.project_key, transcript.session_id] for transcript in sessions],
        lineage=content,
        taken_from=past.file if past else "",
        displaced=displaced,
        project=ident,
    )
    replaced = current.content["steps"] if displaced and current and _is(current, new) else {}
    return Plan(adoption, dict(content["steps"]) if content else {}, dict(replaced), left)


def _lineages(run_dir: Path) -> Iterator[_Past]:
    """The lineage in place, then those put aside, the newest first."""
    aside = sorted(run_dir.glob(f"{lineage.NAME}.foreign-*"), key=_mtime, reverse=True)
    for path in (run_dir / lineage.NAME, *aside):
        try:
            content = lineage.parse(path)
        except (OSError, ValueError):
            continue  # Missing, or damaged: then it names no path that could be adopted.
        yield _Past("" if path.name == lineage.NAME else path.name, content)


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0  # Gone meanwhile.


def _is(past: _Past, path: str) -> bool:
    return path in (past.workspace, files.canonical(past.workspace))


def _served(pasts: list[_Past], known: dict[str, str]) -> list[str]:
    return list(dict.fromkeys([*(past.workspace for past in pasts), *known]))


def _chosen(
    pasts: list[_Past], known: dict[str, str], new: str, old: str | None, workspace: Path, run_dir: Path
) -> _Past | None:
    """The lineage that is meant; None if a path was named that has sessions at most."""
    if old is not None:
        wanted = (old.rstrip("/") or old, files.canonical(old))
        return next((past for past in pasts if past.workspace in wanted or _is(past, wanted[1])), None)
    others = [past for past in pasts if not _is(past, new)]
    mine = project.project_id(workspace)
    # What carries this project's id comes first; then what does not exist any more: that has moved away.
    candidates = [past for past in others if mine and known.get(past.workspace) == mine] or others
    candidates = [past for past in candidates if not os.path.isdir(past.workspace)] or candidates
    paths = list(dict.fromkeys(past.workspace for past in candidates))
    if not paths:
        raise UsageError(
            _("these books are about no other directory: nothing to adopt."),
            hint=_(
                "If they are elsewhere, name them with -r; if you know the old path: flower adopt OLD_PATH"
            ),
        )
    if len(paths) > 1:
        raise UsageError(
            _("several directories could be meant: {paths}.").format(paths=", ".join(paths)),
            hint=_("Name one: flower adopt OLD_PATH"),
        )
    chosen = candidates[0]
    own = files.canonical(run_dir).startswith(new.rstrip("/") + "/")
    if os.path.isdir(chosen.workspace) and not own:
        raise UsageError(
            _("{path} is still there, and these books are its own too.").format(path=chosen.workspace),
            hint=_("If its conversations are to go on here instead: flower adopt {path}").format(
                path=chosen.workspace
            ),
        )
    return chosen


def _sessions(
    run_dir: Path, pasts: list[_Past], known: dict[str, str], past: _Past | None, old: str, new: str
) -> tuple[list[Transcript], int]:
    """The transcripts that move, and how many under the same key stay."""
    if not (run_dir / DATABASE).exists():
        return [], 0
    with Database(run_dir / DATABASE) as database:
        everything = database.transcripts()
        remembered = set(past.content["steps"].values()) if past else set()
        keys = {_key(old)} | {t.project_key for t in everything if t.session_id in remembered}
        # Other paths can have the same key: it keeps of a path only letters and digits.
        shared = {_key(path) for path in _served(pasts, known) if path not in (old, new)}
        moving, left = [], 0
        for transcript in everything:
            if transcript.project_key not in keys or transcript.project_key == _key(new):
                continue
            mine = transcript.project_key not in shared or transcript.session_id in remembered
            if mine or _was_in(database, transcript, old):
                moving.append(transcript)
            else:
                left += 1
    return moving, left


def _was_in(database: Database, transcript: Transcript, path: str) -> bool:
    """Did this conversation take place in a directory?"""
    found = [database.summary(transcript).get("cwd"), *(e.get("cwd") for e in database.head(transcript.key))]
    cwd = next((str(one) for one in found if one), "")
    return cwd == path or cwd.startswith(path.rstrip("/") + "/")


def _project(
    workspace: Path, run_dir: Path, known: dict[str, str], old: str, new: str, *, named: bool
) -> str:
    mine, theirs, here = project.project_id(workspace), known.get(old), known.get(new)
    if mine and here and mine != here:
        raise BooksForeign(
            _("{run_dir} holds the books of another project that was also at {path}.").format(
                run_dir=run_dir, path=new
            ),
            hint=_("Choose another run directory with -r."),
        )
    if mine and theirs and mine != theirs and not named:
        raise BooksForeign(
            _("what {run_dir} remembers of {path} is another project's.").format(run_dir=run_dir, path=old),
            hint=_("If you mean it all the same: flower adopt {path}").format(path=old),
        )
    return mine or theirs or here or ""


def _displaced(run_dir: Path, current: _Past | None, past: _Past | None, new: str) -> str:
    """The name for the lineage in place, if another takes its place."""
    if current is None or past is None or not past.file:
        return ""
    suffix = f"replaced-{files.timestamp()}" if _is(current, new) else f"foreign-{_key(current.workspace)}"
    name, n = f"{lineage.NAME}.{suffix}", 1
    while (run_dir / name).exists():
        n += 1
        name = f"{lineage.NAME}.{suffix}-{n}"
    return name


def _key(path: str) -> str:
    # Imported here: the rule is the SDK's alone, and loading it takes most of a second.
    from claude_agent_sdk import project_key_for_directory

    return project_key_for_directory(path)
