"""What ``--help`` looks like: options in groups, what is the same everywhere in one line, examples at the end."""

from __future__ import annotations

import click

from flower.locale import _

EVERYWHERE = ("--workspace", "--run-dir", "--verbose", "--json", "--lang", "--version", "--help")
"""Options that are explained once, in the help of ``flower`` itself."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        'flower "make a md -> html script"',
        'flower "also highlight code"',
        "flower",
    ),
    "go": (
        'flower --budget 5 --deadline 2h "make a md -> html script"',
        'flower --new "something else"',
        'flower go --rounds 5 --notify \'notify-send "$FLOWER_TEXT"\' "run"',
    ),
    "once": ('flower once "read this repo"', 'flower once -t Read,Bash -b 0.50 "why does make test fail?"'),
    "run": ("flower run flows.py:main", "flower --json run package.module:name"),
    "setup": ("flower setup",),
    "demo": ("flower demo", "flower demo elsewhere"),
    "status": ("flower status", "flower -w ~/project status --json"),
    "steps": ("flower steps", "flower steps --run last"),
    "sessions": ("flower sessions",),
    "show": ("flower show 干活", "flower show --full 5f0c2f1e"),
    "report": ("flower report", "flower report -o - >report.html"),
    "export": ("flower export 干活 -o work.jsonl", "flower export 5f0c2f1e >work.jsonl"),
    "import": ("flower import ~/.claude/projects/-home-me-project/5f0c2f1e.jsonl",),
    "adopt": ("flower adopt --dry-run", "flower adopt ~/old/place"),
    "doctor": ("flower doctor",),
    "cache": ("flower cache", "flower cache --clear"),
    "completion": (
        "flower completion bash >~/.local/share/bash-completion/completions/flower",
        'flower completion zsh >"${fpath[1]}/_flower"',
        "flower completion fish >~/.config/fish/completions/flower.fish",
    ),
}
"""For each command what one types; a test parses every line."""


def command_groups() -> list[tuple[str, tuple[str, ...]]]:
    """The commands as ``flower --help`` shows them."""
    return [
        (_("Work"), ("go", "once", "run", "demo")),
        (_("Look"), ("status", "steps", "sessions", "show", "report", "export", "doctor")),
        (_("Move, set up"), ("adopt", "import", "setup", "completion", "cache")),
    ]


def option_groups() -> list[tuple[str, tuple[str, ...]]]:
    """Options that stand together; those of a command that are in none of the groups come first."""
    return [
        (
            _("What is done"),
            ("new", "asks", "rounds", "no_goal", "judge_can_run", "clarify_only", "isolate", "wait"),
        ),
        (_("How long, how much"), ("timeout", "budget", "deadline", "notify")),
        (_("How much a session holds"), ("window", "no_handoff", "no_trim")),
    ]


def _is_everywhere(param: click.Parameter) -> bool:
    return any(name in EVERYWHERE for name in param.opts)


class _ShortHelp(click.Command):
    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = _("show this message")
        return option


class Told(_ShortHelp):
    """A command whose help fits a screen."""

    @classmethod
    def of(cls, command: click.Command) -> Told:
        """The same command with this help."""
        return cls(
            command.name,
            callback=command.callback,
            params=command.params,
            help=command.help,
            context_settings=command.context_settings,
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {
            str(p.name): record
            for p in self.get_params(ctx)
            if not _is_everywhere(p) and isinstance(p, click.Option) and (record := p.get_help_record(ctx))
        }
        groups = [(title, [n for n in names if n in records]) for title, names in option_groups()]
        if not groups[0][1]:
            groups = []  # only `go` has so many
        own = [n for n in records if not any(n in names for _title, names in groups)]
        for title, names in ((_("Options"), own), *groups):
            if names:
                with formatter.section(title):
                    formatter.write_dl([records[name] for name in names])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = " ".join(min(p.opts, key=len) for p in self.get_params(ctx) if _is_everywhere(p))
        formatter.write_paragraph()
        everywhere = _("Everywhere, see flower --help:")
        formatter.write_text(f"{everywhere} {names}")
        write_examples(str(self.name), formatter)


class ToldGroup(_ShortHelp, click.Group):
    """Commands in groups, then the options that are the same everywhere."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        room = formatter.width - 2 - 2 - max(len(name) for name in self.list_commands(ctx))
        for title, names in command_groups():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl([(n, c.get_short_help_str(room)) for n, c in commands if c is not None])
        click.Command.format_options(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples("", formatter)


def write_examples(name: str, formatter: click.HelpFormatter) -> None:
    """The lines as one would type them, never wrapped: they are there to be copied."""
    if lines := EXAMPLES.get(name):
        formatter.write_paragraph()
        formatter.write_heading(_("Examples"))
        for line in lines:
            formatter.write(f"  {line}\n")
