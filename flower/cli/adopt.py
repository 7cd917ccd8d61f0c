"""``flower adopt``: the books follow a directory that was moved."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flower.cli import paper
from flower.cli.options import Settings, agent_flags, global_options, refuse_flags, settings_of
from flower.cli.terminal import shown_path
from flower.locale import _, ngettext
from flower.model import RunIsLive, UsageError

if TYPE_CHECKING:
    from flower.books.locks import RunLease
    from flower.inspect.adopt import Plan


@click.command("adopt", help=_("After a directory was moved: go on at the new path."))
@click.argument("old_path", metavar="[OLD_PATH]", required=False)
@click.option("--dry-run", is_flag=True, help=_("only show what would be done"))
@click.option("-y", "--yes", is_flag=True, help=_("do not ask"))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, old_path: str | None, dry_run: bool, yes: bool, **_said: Any) -> None:
    from flower.books.adoption import adopt
    from flower.inspect.adopt import plan_adoption

    settings = settings_of(ctx)
    refuse_flags(settings, "adopt")
    if not settings.run_dir.is_dir():
        raise UsageError(
            _("there are no books in {path}.").format(path=settings.run_dir), hint=_("Name them with -r.")
        )
    if dry_run:
        _show(plan_adoption(settings.workspace, settings.run_dir, old_path), settings, carried_out=False)
        return
    with _alone(settings.run_dir):
        if _finished(settings):
            return
        import asyncio

        asyncio.run(_settle(settings.run_dir))
        plan = plan_adoption(settings.workspace, settings.run_dir, old_path)
        if settings.json is None:
            paper.write(_lines(plan))
            if settings.interactive and not yes and not click.confirm(_("go ahead?"), default=True, err=True):
                print(_("nothing was changed"))
                return
        adopt(settings.run_dir, plan.adoption)
        _mark(settings.workspace, plan.adoption.project)
    if settings.json is not None:
        _show(plan, settings, carried_out=True)
    else:
        print(_("done: the next `flower` here goes on where {path} left off").format(path=plan.adoption.old))


def _alone(run_dir: Path) -> RunLease:
    from flower.books.locks import Holder, RunLease

    lease = RunLease.acquire(run_dir, f"adopt-{time.time_ns()}", alone=True)
    if isinstance(lease, Holder):
        raise RunIsLive(
            _("another run is live here: {holder}").format(holder=lease),
            hint=_("adopt would move its conversations; end it first."),
        )
    return lease


def _finished(settings: Settings) -> bool:
    """Complete an adoption that was cut off; True if it was the one that is asked for."""
    from flower.books import files
    from flower.books.adoption import complete_adoption, pending_adoption

    pending = pending_adoption(settings.run_dir)
    with files.locked(settings.run_dir / "lineage.lock"):
        complete_adoption(settings.run_dir)
    if pending is None or pending["new"] != files.canonical(settings.workspace):
        return False
    _mark(settings.workspace, pending["project"])
    text = _("done: an adoption of {path} that was cut off is complete").format(path=pending["old"])
    if settings.json is not None:
        fields = {
            "old": pending["old"],
            "new": pending["new"],
            "steps": (pending["lineage"] or {}).get("steps", {}),
        }
        sessions = [session for _key, session in pending["sessions"]]
        settings.json.write({"type": "adopt", **fields, "sessions": sessions, "carried_out": True})
        settings.json.end("ok", 0)
    else:
        print(text)
    return True


async def _settle(run_dir: Path) -> None:
    """Read back first what a killed run left: it would come in under the old path later."""
    from flower.books.salvage import reconcile
    from flower.books.sqlite import SqliteSessionStore
    from flower.supervise import end_strays

    if not (run_dir / "sessions.db").exists() or not (run_dir / "live").is_dir():
        return
    store = SqliteSessionStore(run_dir / "sessions.db")
    try:
        await reconcile(
            run_dir, store, notice=_tell, end_strays=lambda sid: end_strays(f"{sid}@{run_dir.resolve()}")
        )
    finally:
        store.close()


def _mark(workspace: Path, ident: str) -> None:
    """A workspace without an id (a fresh checkout) takes the project's."""
    from flower.books.files import create_atomic, dump_json
    from flower.books.project import NAME, project_id

    mark = workspace / ".flower" / NAME
    if ident and project_id(workspace) is None and not mark.exists():
        mark.parent.mkdir(parents=True, exist_ok=True)
        create_atomic(mark, dump_json({"id": ident}))


def _show(plan: Plan, settings: Settings, *, carried_out: bool) -> None:
    if settings.json is None:
        paper.write(_lines(plan))
        return
    adoption = plan.adoption
    fields = {"old": adoption.old, "new": adoption.new, "steps": plan.steps, "replaced": plan.replaced}
    sessions = [session for _key, session in adoption.sessions]
    settings.json.write(
        {"type": "adopt", **fields, "sessions": sessions, "left": plan.left, "carried_out": carried_out}
    )
    settings.json.end("ok", 0)


def _lines(plan: Plan) -> Iterator[str]:
    adoption = plan.adoption
    yield _("from  {path}").format(path=shown_path(adoption.old))
    yield _("to    {path}").format(path=shown_path(adoption.new))
    for step, session in plan.steps.items():
        yield f"  {step}  {session}"
    if not plan.steps:
        yield _("  no lineage: only conversations")
    count = len(adoption.sessions)
    text = ngettext("  {n} conversation gets the new path", "  {n} conversations get the new path", count)
    yield text.format(n=count) if count else _("  the conversations are found under the new path as they are")
    if plan.left:
        text = ngettext(
            "  {n} conversation stays: it is another directory's",
            "  {n} conversations stay: they are another directory's",
            plan.left,
        )
        yield text.format(n=plan.left)
    if plan.replaced:
        names = ", ".join(plan.replaced)
        yield _("  put aside: what has been begun at the new path ({steps})").format(steps=names)


def _tell(line: str) -> None:
    print(f"-- {line}", file=sys.stderr)
