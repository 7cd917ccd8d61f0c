"""``flower once``: one agent, no workflow, no lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from flower.cli.options import agent_flags, global_options, run_options, settings_of
from flower.cli.start import prepare
from flower.locale import _
from flower.model import Event, StepFailed, UsageError

if TYPE_CHECKING:
    from flower.agents.spec import AgentSpec
    from flower.cli.driving import Emit
    from flower.runtime.budget import Budget
    from flower.runtime.runtime import Runtime

STEP = "ad-hoc"
MODES = ("default", "acceptEdits", "plan", "bypassPermissions")


@click.command("once", help=_("Run one agent on one request: no workflow, nothing is continued."))
@click.argument("request", nargs=-1)
@click.option("-i", "--instructions", default="", metavar="TEXT", help=_("who the agent is"))
@click.option(
    "-t",
    "--tools",
    default="Read,Glob,Grep",
    metavar="NAMES",
    show_default=True,
    help=_("the tools it may use"),
)
@click.option(
    "-p",
    "--permission-mode",
    type=click.Choice(MODES),
    default="default",
    metavar="MODE",
    help=_("default, acceptEdits, plan or bypassPermissions"),
)
@click.option(
    "-b", "--budget", type=click.FloatRange(min=0, min_open=True), metavar="USD", help=_("most it may cost")
)
@click.option("--resume", metavar="ID", help=_("go on with this session"))
@click.option("--fork", is_flag=True, help=_("with --resume: work on a branch of it"))
@run_options
@global_options
@agent_flags(hidden=False)
@click.pass_context
def command(
    ctx: click.Context, /, request: tuple[str, ...], resume: str | None, fork: bool, **said: Any
) -> None:
    from flower.cli.driving import Drive

    settings = settings_of(ctx)
    prompt = " ".join(request).strip()
    if not prompt:
        raise UsageError(_('once needs a request: flower once "read this repo"'))
    if fork and not resume:
        raise UsageError(_("--fork needs --resume ID: there is nothing to branch off."))
    settings.make_workspace()
    prepare(settings)
    drive = Drive(
        settings, keyboard=settings.open_keyboard(), notify=said["notify"], deadline=said["deadline"]
    )

    def open_runtime(notice: Any) -> Runtime:
        from flower.runtime.runtime import Runtime

        return Runtime(
            workspace=settings.workspace,
            run_dir=settings.run_dir,
            workbench=settings.workbench,
            trim=settings.trim,
            budget_usd=_budget(said["budget"]),
            notice=notice,
        )

    async def body(runtime: Runtime, emit: Emit) -> str:
        if resume and not runtime.has_session(resume):
            raise UsageError(
                _("--resume {id}: no such session in {place}").format(id=resume, place=runtime.run_dir)
            )
        context = runtime.context_of(resume) if resume else 0
        facts = {"index": 1, "total": 1, "resumed": bool(resume), "woke": 0, "context": context}
        emit(Event("step", step=STEP, data=facts))
        spec = _spec(said, settings.workbench)
        row = await runtime.run(spec, prompt, step_name=STEP, resume=resume, fork=fork, on_event=emit)
        emit(Event("step_end", step=STEP, session_id=row.session_id, data=row.as_row(runtime.run_id)))
        if not row.ok:
            raise StepFailed(row.error)
        return row.text

    drive.run(open_runtime, body)


def _budget(limit: float | None) -> Budget:
    """A limit of its own: what this costs is no part of the account of the chain in these books."""
    from flower.runtime.budget import Budget

    return Budget(float("inf") if limit is None else limit)


def _spec(said: dict[str, Any], workbench: bool) -> AgentSpec:
    from flower.agents.spec import AgentSpec

    tools = [name.strip() for name in said["tools"].split(",") if name.strip()]
    return AgentSpec(
        name=STEP,
        instructions=said["instructions"],
        allowed_tools=tools,
        permission_mode=said["permission_mode"],
        max_budget_usd=said["budget"],
        workbench=workbench,
    )
