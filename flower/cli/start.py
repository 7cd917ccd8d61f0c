"""Before a run: settings from files, the probe on a terminal, the word about a newer version."""

from __future__ import annotations

from flower import __version__
from flower.cli.options import Settings
from flower.cli.setup import ask_and_write, warn
from flower.config.credentials import check_credentials, describe
from flower.config.dotenv import load_dotenv
from flower.config.probe import probe, should_probe
from flower.config.update import check_in_background
from flower.locale import _
from flower.model import ConfigurationError, CredentialsMissing


def prepare(settings: Settings) -> None:
    """Everything that must be right before money is spent.

    Raises:
        CredentialsMissing: nothing to authenticate with.
        ConfigurationError: the endpoint refused it, and once more after it was set up again.
    """
    for line in load_dotenv():
        warn(line)
    if settings.verbose:
        for setting in describe():
            warn(str(setting))
    if problem := check_credentials():
        raise CredentialsMissing(problem)
    if settings.interactive:
        check_in_background(__version__, warn)
        if should_probe():
            _probe_or_set_up()


def _probe_or_set_up() -> None:
    result = probe()
    if result.state not in ("auth", "config"):
        return
    warn(_("the endpoint refused: {detail}").format(detail=result.detail))
    warn(_("let us set it up again"))
    result = ask_and_write()
    if result.state in ("auth", "config"):
        raise ConfigurationError(
            _("the endpoint refused: {detail}").format(detail=result.detail),
            hint=_("Try `flower setup` again."),
        )
