"""Options that every command understands, before and after its name, and the settings they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from flower import __version__, locale
from flower.cli.deadline import Moment
from flower.cli.jsonl import JsonLines
from flower.cli.settings import Settings, settings_from
from flower.locale import _
from flower.model import UsageError

F = TypeVar("F", bound=Callable[..., Any])
__all__ = [
    "Invocation",
    "Settings",
    "agent_flags",
    "global_options",
    "refuse_flags",
    "run_options",
    "settings_of",
]

NAMES = ("workspace", "run_dir", "verbose", "json", "lang", "workbench", "trim")


@dataclass
class Invocation:
    """One command line: click's context object."""

    sink: JsonLines | None
    verbose: bool = False


class Language(click.ParamType[str]):
    """``en``, ``zh``, ``ko``, or a locale's name that begins with one (``zh_CN.UTF-8``)."""

    name = "en|zh|ko"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        short = locale.normalise(value)
        if short == "en" and not str(value).lower().startswith("en"):
            self.fail(_("{value!r} is not one of en, zh, ko").format(value=value), param, ctx)
        return short


def directory(*names: str, help: str) -> Callable[[F], F]:
    """An option that takes a directory, and completes one in a shell."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        return [CompletionItem(incomplete, type="dir")]

    return click.option(*names, metavar="DIR", shell_complete=complete, help=help)


def global_options(command: F) -> F:
    """Adds the global options to a command or to the group."""
    for option in reversed(
        (
            directory("-w", "--workspace", help=_("where the agents work (default: here)")),
            directory("-r", "--run-dir", help=_("where the books are kept (default: runs)")),
            click.option("-v", "--verbose", is_flag=True, default=None, help=_("show more; tracebacks too")),
            click.option(
                "--json", is_flag=True, default=None, help=_("JSON lines on stdout, one event each")
            ),
            click.option(
                "--lang", type=Language(), metavar="LANG", help=_("language of messages: en, zh or ko")
            ),
            click.version_option(
                __version__, "--version", message="flower %(version)s", help=_("show the version")
            ),
        )
    ):
        command = option(command)
    return command


def run_options(command: F) -> F:
    """Adds what is said about a run as a whole: ``--notify`` and ``--deadline``."""
    deadline = click.option(
        "--deadline", type=Moment(), help=_("when it must end: 18:30, 2h, 1h30m (status 3)")
    )
    notify = click.option("--notify", metavar="CMD", help=_("run this when a question waits and at the end"))
    return notify(deadline(command))


def agent_flags(hidden: bool) -> Callable[[F], F]:
    """Adds ``-W`` and ``-T``. Commands they do not apply to take them hidden, to refuse them in words."""

    def add(command: F) -> F:
        bench = _("a workbench in <run_dir>/workbench, if there is no other")
        trim = _("feed old large tool results as pointers")
        command = click.option("-T", "--trim", is_flag=True, default=None, hidden=hidden, help=trim)(command)
        return click.option("-W", "--workbench", is_flag=True, default=None, hidden=hidden, help=bench)(
            command
        )

    return add


def settings_of(ctx: click.Context) -> Settings:
    """The settings of a command: its own options win over those said before its name."""
    said: dict[str, Any] = {}
    for context in filter(None, (ctx.parent, ctx)):
        said.update({name: v for name in NAMES if (v := context.params.get(name)) is not None})
    invocation: Invocation = ctx.find_root().obj
    invocation.verbose = bool(said.get("verbose"))
    return settings_from(said, invocation.sink)


def refuse_flags(settings: Settings, command: str) -> None:
    """``-W`` and ``-T`` mean nothing where workbench and trimming are fixed.

    Raises:
        UsageError: one of them was given.
    """
    for flag, given in (("-W", settings.workbench), ("-T", settings.trim)):
        if given:
            raise UsageError(
                _(
                    "{flag} does not apply to `flower {command}`: its workbench is fixed and trimming is on."
                ).format(flag=flag, command=command)
            )
