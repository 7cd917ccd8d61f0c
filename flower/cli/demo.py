"""``flower demo``: the whole chain with the real CLI and real tools, and a model that follows a script."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flower.cli.go import announce_wake
from flower.cli.options import Settings, agent_flags, global_options, refuse_flags, settings_of
from flower.cli.request import can_carry_on
from flower.cli.terminal import shown_path
from flower.locale import _
from flower.model import UsageError

if TYPE_CHECKING:
    from flower.cli.driving import Emit
    from flower.runtime.runtime import Runtime

REQUEST = "make a md -> html script"
PATIENCE_SECONDS = 1800.0

KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
)
KEPT_OF_FLOWER = ("FLOWER_CLAUDE", "FLOWER_LANG")


@click.command("demo", help=_("The whole chain with a scripted model: no key, no network."))
@click.argument("directory", metavar="[DIR]", default="demo", type=click.Path(file_okay=False))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, directory: str, **_said: Any) -> None:
    settings = settings_of(ctx)
    refuse_flags(settings, "demo")
    if settings.workspace_given:
        raise UsageError(_("demo takes its directory as an argument: flower demo DIR"))
    place = Path(directory).absolute()
    run_dir = settings.run_dir if settings.run_dir_given else place / "runs"
    settings = settings._replace(workspace=place.resolve(), workspace_given=True, run_dir=run_dir)
    settings.make_workspace()
    run_demo(settings, directory)


def run_demo(settings: Settings, directory: str) -> None:
    """One run of the demo; the next one in the same directory continues it."""
    from flower.agents.channel import HumanChannel
    from flower.cli.driving import Drive, result_of
    from flower.scripted.demo import demo_script
    from flower.testing import ScriptedEndpoint
    from flower.workflow.starter import ChainPaths, starter_flow

    again = can_carry_on(settings, isolate=False)
    drive = Drive(settings, keyboard=settings.open_keyboard())
    drive.notice(_("The model of this demo is a script: it plays its part, it does not think."))
    drive.notice(_("All the rest is real: the Claude CLI, its tools, the files, the judge's look at them."))
    paths = ChainPaths.of(settings.workspace)
    channel = HumanChannel(None, PATIENCE_SECONDS, paths.asks, paths.brief)
    drive.use_channel(channel, unattended=lambda question: channel.answer(question.id, "1"))
    flow = starter_flow(None if again else REQUEST, channel=channel, workspace=settings.workspace)
    announce_wake(flow, settings, drive)

    def open_runtime(notice: Any) -> Runtime:
        from flower.runtime.runtime import Runtime

        return Runtime(
            workspace=settings.workspace,
            run_dir=settings.run_dir,
            trim=True,
            workbench=flow.workbench,
            channel=channel,
            notice=notice,
        )

    async def body(runtime: Runtime, emit: Emit) -> str:
        text = result_of(await flow.run(runtime, on_event=emit), flow.steps[-1].name)
        drive.notice(_("It is all in {place}.").format(place=shown_path(settings.workspace)))
        more = _("Run `flower demo{directory}` again: it goes on with this very conversation.")
        drive.notice(more.format(directory="" if directory == "demo" else f" {directory}"))
        return text

    settings.run_dir.mkdir(parents=True, exist_ok=True)
    with ScriptedEndpoint(demo_script) as endpoint:
        isolate_environment(settings.run_dir / "home", endpoint.env())
        drive.run(open_runtime, body)


def isolate_environment(home: Path, wanted: dict[str, str]) -> None:
    """Leave nothing in this process's environment that could hold or lead to a person's credentials.

    The settings flower would borrow are claimed with empty values, so that no `.env` file can fill them.
    """
    from flower.config.credentials import KNOWN

    kept = {name: os.environ[name] for name in (*KEPT, *KEPT_OF_FLOWER) if name in os.environ}
    home.mkdir(mode=0o700, exist_ok=True)
    os.environ.clear()
    os.environ.update(dict.fromkeys(KNOWN, ""))
    os.environ.update(kept | wanted | {"HOME": str(home), "NO_PROXY": "127.0.0.1", "FLOWER_NO_UPDATE": "1"})
