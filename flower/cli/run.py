"""``flower run``: a workflow the person wrote."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from flower.cli.options import agent_flags, global_options, run_options, settings_of
from flower.cli.start import prepare
from flower.cli.target import load
from flower.locale import _
from flower.model import UsageError

if TYPE_CHECKING:
    from flower.cli.driving import Emit
    from flower.runtime.runtime import Runtime


@click.command("run", help=_("Run a workflow of your own: flows.py:main or package:name."))
@click.argument("target")
@run_options
@global_options
@agent_flags(hidden=False)
@click.pass_context
def command(ctx: click.Context, /, target: str, **said: Any) -> None:
    from flower.cli.driving import Drive, result_of

    settings = settings_of(ctx)
    settings.make_workspace()
    found = load(target)
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
            notice=notice,
        )

    async def body(runtime: Runtime, emit: Emit) -> str:
        made = await _call(found, runtime)
        if not hasattr(made, "steps"):
            return made if isinstance(made, str) else ""
        if made.channel is not None:
            drive.use_channel(made.channel)
            runtime.channel = made.channel
        if made.workbench is not None:
            runtime.workbench = made.workbench
        ctx = await made.run(runtime, on_event=emit)
        return result_of(ctx, made.steps[-1].name)

    drive.run(open_runtime, body)


async def _call(found: Any, runtime: Runtime) -> Any:
    """The workflow itself, what a function without parameters returns, or what one does with the runtime."""
    if hasattr(found, "steps"):
        return found
    if not callable(found):
        raise UsageError(
            _("{name} is neither a Workflow nor a function that makes one.").format(name=type(found).__name__)
        )
    needed = [
        p
        for p in inspect.signature(found).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) > 1:
        raise UsageError(_("the function may take the runtime, and nothing else that has no default."))
    made = found(runtime) if needed else found()
    return await made if inspect.isawaitable(made) else made
