"""``flower completion SHELL``: a script with which the Tab key completes commands, options and their values."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from flower.cli.arguments import first_word, with_command
from flower.cli.options import agent_flags, global_options, refuse_flags, settings_of
from flower.locale import _

VARIABLE = "_FLOWER_COMPLETE"
"""In the environment of a flower that the shell's script asks for completions."""


class _WithDefault(ShellComplete):
    """Knows that ``go`` is meant where no command is named."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        named = first_word(args) < len(args)
        # `flower --ro<Tab>` may go on with an option of `go`; `flower st<Tab>` with a command.
        return (with_command(args) if named or incomplete.startswith("-") else args), incomplete


class _Bash(_WithDefault, BashComplete):
    pass


class _Zsh(_WithDefault, ZshComplete):
    pass


class _Fish(_WithDefault, FishComplete):
    pass


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def register() -> None:
    """Let click use these classes: called in the process that answers a Tab."""
    for name, kind in SHELLS.items():
        add_completion_class(kind, name)


@click.command("completion", help=_("Print what lets the Tab key of bash, zsh or fish complete."))
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, shell: str, **_said: Any) -> None:
    settings = settings_of(ctx)
    refuse_flags(settings, "completion")
    kind = SHELLS[shell]
    # Not `source()`, which starts a bash only to look at its version.
    script = ShellComplete.source(kind(ctx.find_root().command, {}, "flower", VARIABLE))
    if settings.json is not None:
        settings.json.write({"type": "completion", "shell": shell, "script": script})
        settings.json.end("ok", 0)
    else:
        click.echo(script)
