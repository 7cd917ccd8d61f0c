"""The commands that only look, as click knows them: for help, mistakes and whatever ``quick`` leaves alone."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from flower.cli.options import agent_flags, global_options, refuse_flags, settings_of
from flower.locale import _


def _answer(ctx: click.Context, **said: Any) -> None:
    settings, name = settings_of(ctx), str(ctx.command.name)
    refuse_flags(settings, name)
    import_module(f"flower.cli.{name}").run(settings, **said)


@click.command("status", help=_("What this directory remembers: steps, sessions, cost, live runs."))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def status(ctx: click.Context, /, **_said: Any) -> None:
    _answer(ctx)


@click.command("steps", help=_("Every step of every run: cost, time, context, how it ended."))
@click.option("--run", "only", metavar="ID", help=_("only this run; `last` is the last one"))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def steps(ctx: click.Context, /, only: str | None, **_said: Any) -> None:
    _answer(ctx, only=only)


@click.command("sessions", help=_("Every conversation in the books, the one changed last first."))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def sessions(ctx: click.Context, /, **_said: Any) -> None:
    _answer(ctx)


@click.command("show", help=_("Read a session: an id, its beginning, or the name of a step."))
@click.argument("session", metavar="ID")
@click.option("--full", is_flag=True, help=_("results and thoughts whole"))
@click.option("--raw", is_flag=True, help=_("do not mask tokens"))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def show(ctx: click.Context, /, session: str, full: bool, raw: bool, **_said: Any) -> None:
    _answer(ctx, session=session, full=full, raw=raw)


@click.command("cache", help=_("Show what the one-file flower has unpacked; --clear removes it."))
@click.option("--clear", is_flag=True, help=_("remove everything that no other process is running"))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def cache(ctx: click.Context, /, clear: bool, **_said: Any) -> None:
    _answer(ctx, clear=clear)
