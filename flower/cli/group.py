"""The commands, each loaded when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from flower.cli.arguments import COMMANDS
from flower.cli.helping import Told, ToldGroup
from flower.cli.options import agent_flags, global_options
from flower.cli.quick import FORMS
from flower.locale import _

MODULES = {"import": "import_"}
"""Commands whose name is a word of Python's."""


class LazyGroup(ToldGroup):
    """Knows the names; imports ``flower.cli.<name>`` when one is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in FORMS:
            command = getattr(import_module("flower.cli.looking"), cmd_name)
        else:
            command = import_module(f"flower.cli.{MODULES.get(cmd_name, cmd_name)}").command
        assert isinstance(command, click.Command)
        return Told.of(command)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=_("Type one sentence, get finished and judged work; type again, it goes on."),
    subcommand_metavar='["REQUEST" | COMMAND ...]',
    options_metavar="[OPTIONS]",
)
@global_options
@agent_flags(hidden=True)
def flower(**_options: object) -> None:
    """Options said before the command are read by the command itself."""
