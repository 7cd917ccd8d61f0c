"""``flower setup``: asks for token, gateway and model, writes the user's own `.env`, tries it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from flower.cli.options import agent_flags, global_options, refuse_flags, settings_of
from flower.cli.terminal import columns, is_interactive, shown_path, wrap
from flower.config.setup_file import write_setup
from flower.locale import _
from flower.model import ConfigurationError, UsageError

if TYPE_CHECKING:
    from flower.config.probe import ProbeResult

MODEL_KEYS = ("ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL")


@click.command("setup", help=_("Ask for token, gateway and model; write them to your .env file."))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, **_said: Any) -> None:
    settings = settings_of(ctx)
    refuse_flags(settings, "setup")
    result = ask_and_write()
    if result.state in ("auth", "config"):
        raise ConfigurationError(_("saved, but refused: {detail}").format(detail=result.detail))


def ask_and_write() -> ProbeResult:
    """Ask the person, write the file, put the values into this process, and try them.

    Raises:
        UsageError: nobody can be asked, or nothing was typed.
    """
    from flower.config.probe import probe

    if not is_interactive():
        raise UsageError(
            _("setup asks questions and needs a terminal."),
            hint=_("Without one, set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL)."),
        )
    token = click.prompt(_("API key or token (not shown)"), hide_input=True, err=True, prompt_suffix=": ")
    gateway = _gateway()
    model = _optional(_("Model (Enter: the default)"))
    path = write_setup(token, gateway, model)
    click.echo(_("saved to {path}").format(path=shown_path(path)), err=True)
    _take(token.strip(), gateway, model)
    click.echo(_("trying it ..."), err=True)
    result = probe()
    click.echo(_report(result), err=True)
    return result


def _gateway() -> str:
    explained = _(
        "A gateway is a server that speaks Anthropic's Messages API in its place: a company's, another provider's."
        " Its URL is what comes before /v1/messages."
    )
    for line in wrap(explained, columns()):
        click.echo(line, err=True)
    while url := _optional(_("Gateway URL (Enter: Anthropic's own API)")):
        if url.startswith(("http://", "https://")):
            return url
        click.echo(_("{url} is no URL: it begins with http:// or https://").format(url=url), err=True)
    return ""


def _optional(text: str) -> str:
    return str(click.prompt(text, default="", show_default=False, err=True, prompt_suffix=": ")).strip()


def _take(token: str, gateway: str, model: str) -> None:
    """What was just typed counts for this process, whatever the shell or another file says."""
    key, other = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"
    if not token.startswith("sk-ant-"):
        key, other = other, key
    for name in (key, other):
        if name in os.environ and os.environ[name] != token:
            text = _(
                "note: {name} was set to something else before; where it still is, it wins over this file"
            )
            click.echo(text.format(name=name), err=True)
    os.environ.pop(other, None)
    values = {key: token, "ANTHROPIC_BASE_URL": gateway, **dict.fromkeys(MODEL_KEYS, model)}
    for name, value in values.items():
        if value:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)


def _report(result: ProbeResult) -> str:
    if result.state == "ok":
        return _("it works")
    if result.state == "carry_on":
        return _("could not try it now: {detail}").format(detail=result.detail)
    return _("refused: {detail}").format(detail=result.detail)
