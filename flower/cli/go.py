"""``flower "…"``: the whole chain in a directory, and the same conversation at the next call."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flower.cli.options import Settings, agent_flags, global_options, refuse_flags, run_options, settings_of
from flower.cli.phrases import banner
from flower.cli.request import Wish, ask_for_request
from flower.cli.start import prepare
from flower.cli.terminal import shown_path
from flower.locale import _
from flower.model import BudgetSpent, Event, RunIsLive, UsageError

if TYPE_CHECKING:
    from flower.agents.channel import HumanChannel
    from flower.cli.driving import Drive, Emit
    from flower.runtime.handoff import HandoffPolicy
    from flower.runtime.runtime import Runtime
    from flower.workflow.workflow import Workflow

PATIENCE_SECONDS = 1800.0
"""How long a question waits for the person on a terminal, unless ``--timeout`` says otherwise."""


@click.command("go", help=_("Clarify, set a goal, work, judge (the default); later: go on."))
@click.argument("request", nargs=-1)
@click.option("--new", is_flag=True, help=_("archive what this directory remembers, then start afresh"))
@click.option("--asks", type=int, metavar="N", help=_("questions at most; negative: no limit, 0: none"))
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help=_("work rounds at most"),
)
@click.option("--no-goal", is_flag=True, help=_("no goal and no judge"))
@click.option("--judge-can-run", is_flag=True, help=_("the judge may run commands"))
@click.option("--clarify-only", is_flag=True, help=_("stop once the brief is frozen"))
@click.option(
    "--timeout",
    type=float,
    metavar="S",
    help=_("seconds to wait for an answer (1800; no terminal: 0)"),
)
@click.option("--isolate", is_flag=True, help=_("every worker in a git worktree of its own"))
@click.option(
    "--window",
    type=click.IntRange(min=1),
    metavar="N",
    help=_("tokens the context holds, if the CLI is wrong"),
)
@click.option("--no-handoff", is_flag=True, help=_("never hand a full session off to a new one"))
@click.option("--no-trim", is_flag=True, help=_("feed old large tool results again in full"))
@click.option("--wait", is_flag=True, help=_("wait for a session that is in use, do not branch off"))
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="USD",
    help=_("most it may cost: every step, until it is done"),
)
@run_options
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, request: tuple[str, ...], **said: Any) -> None:
    from flower.cli.driving import Drive, result_of

    settings = settings_of(ctx)
    refuse_flags(settings, "go")
    settings.check_workspace()
    handoff = _handoff(said)
    if said["isolate"]:
        _check_repository(settings.workspace)
    keyboard = settings.open_keyboard()
    wish = ask_for_request(
        Wish(" ".join(request).strip(), said["new"]), settings, keyboard, isolate=said["isolate"]
    )
    prepare(settings)
    settings.make_workspace()
    drive = Drive(settings, keyboard=keyboard, notify=said["notify"], deadline=said["deadline"])
    channel = _channel(settings, said)
    drive.use_channel(channel)
    flow = _flow(wish.words, settings, said, channel, drive)

    def open_runtime(notice: Any) -> Runtime:
        if wish.new:
            archive(settings, drive, isolate=said["isolate"])
        return _runtime(settings, said, channel, flow, handoff, notice)

    async def body(runtime: Runtime, emit: Emit) -> str:
        begun: list[str] = []

        def hear(event: Event) -> None:
            if event.kind == "step":
                begun.append(event.step)
            emit(event)

        try:
            return result_of(await flow.run(runtime, on_event=hear), flow.steps[-1].name)
        except BudgetSpent as spent:
            raise _what_is_left(spent, flow, begun) from spent

    drive.run(open_runtime, body)


def _what_is_left(spent: BudgetSpent, flow: Workflow, begun: list[str]) -> BudgetSpent:
    """The same error, saying which steps are not done and how to go on."""
    names = [step.name for step in flow.steps]
    current = begun[-1].partition("#")[0] if begun else names[0]
    left = names[names.index(current) :] if current in names else names[-1:]
    hint = _("Left to do: {steps}. A larger limit goes on where it stopped: flower --budget USD")
    return BudgetSpent(spent.message, hint=hint.format(steps=", ".join(left)))


def _check_repository(workspace: Path) -> None:
    if not any((place / ".git").exists() for place in (workspace, *workspace.parents)):
        raise UsageError(_("--isolate needs a git repository; {path} is in none.").format(path=workspace))


def _channel(settings: Settings, said: dict[str, Any]) -> HumanChannel:
    from flower.agents.channel import HumanChannel
    from flower.workflow.starter import ChainPaths

    paths = ChainPaths.of(settings.workspace, isolate=said["isolate"])
    patience = PATIENCE_SECONDS if said["timeout"] is None else said["timeout"]
    asks = said["asks"]
    return HumanChannel(
        None if asks is None or asks < 0 else asks,
        patience if settings.interactive else 0.0,
        paths.asks,
        paths.brief,
    )


def _flow(words: str, settings: Settings, said: dict[str, Any], channel: Any, drive: Drive) -> Workflow:
    from flower.workflow.starter import starter_flow

    flow = starter_flow(
        words,
        channel=channel,
        workspace=settings.workspace,
        rounds=said["rounds"],
        goal=not said["no_goal"],
        judge_can_run=said["judge_can_run"],
        isolate=said["isolate"],
        clarify_only=said["clarify_only"],
    )
    announce_wake(flow, settings, drive)
    return flow


def announce_wake(flow: Workflow, settings: Settings, drive: Drive) -> None:
    """Let the flow say where it picks up, once it has decided and before its first step."""
    decide = flow.opening

    def open_and_tell(ctx: dict[str, Any]) -> None:
        if decide is not None:
            decide(ctx)
        if facts := ctx["_plan"].banner:
            line = banner(
                shown_path(settings.workspace),
                clarifying=facts.clarifying,
                checks=facts.checks,
                context=facts.context,
                wake=facts.wake,
            )
            drive.banner(line)

    flow.opening = open_and_tell


def _handoff(said: dict[str, Any]) -> bool | HandoffPolicy:
    from flower.runtime.handoff import HandoffPolicy

    if said["window"] is None:
        return not said["no_handoff"]
    return HandoffPolicy(enabled=not said["no_handoff"], window=said["window"])


def _runtime(
    settings: Settings,
    said: dict[str, Any],
    channel: Any,
    flow: Workflow,
    handoff: bool | HandoffPolicy,
    notice: Any,
) -> Runtime:
    from flower.runtime.runtime import Runtime

    return Runtime(
        workspace=settings.workspace,
        run_dir=settings.run_dir,
        trim=not said["no_trim"],
        workbench=flow.workbench,
        isolate=said["isolate"],
        channel=channel,
        budget_usd=said["budget"],
        handoff=handoff,
        wait=said["wait"],
        notice=notice,
    )


def archive(settings: Settings, drive: Drive, *, isolate: bool) -> None:
    """Move lineage, brief, goal and answers into the archive; nothing is deleted.

    Raises:
        RunIsLive: another run uses these books: its lineage must not be moved away under it.
        BooksForeign: they belong to another project.
    """
    from flower.books.ledger import Ledger
    from flower.books.lineage import Lineage
    from flower.books.locks import Holder, RunLease
    from flower.books.project import bind_project
    from flower.workflow.starter import ChainPaths

    bind_project(settings.workspace, settings.run_dir)
    lease = RunLease.acquire(settings.run_dir, f"new-{time.time_ns()}", alone=True)
    if isinstance(lease, Holder):
        raise RunIsLive(
            _("another run is live here: {holder}").format(holder=lease),
            hint=_("--new would archive what it works on; end it first."),
        )
    with lease:
        paths = ChainPaths.of(settings.workspace, isolate=isolate)
        lineage = Lineage.open(settings.run_dir, settings.workspace, notice=drive.notice)
        Ledger(settings.run_dir, notice=drive.notice).close()
        place = lineage.archive(paths.archive, [paths.brief, paths.goal, paths.asks, paths.request])
    drive.notice(_("archived to {path}").format(path=shown_path(place)))
