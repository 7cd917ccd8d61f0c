"""Before a run: settings from files, the probe on a terminal, the word about a newer version."""

from __future__ import annotations

import sys
from contextlib import suppress

from flower import __version__
from flower.cli.options import Settings
from flower.config.credentials import check_credentials, describe
from flower.config.dotenv import load_dotenv
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
        # What talks to the network is loaded only where it is used.
        from flower.config.probe import should_probe
        from flower.config.update import check_in_background

        if should_probe():
            _probe_or_set_up()
        check_in_background(__version__, warn)  # after the questions of a setup: it speaks when it likes


def _probe_or_set_up() -> None:
    from flower.cli.setup import ask_and_write
    from flower.config.probe import probe

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


def warn(line: str) -> None:
    """One line on stderr, before a run has a screen of its own."""
    with suppress(BrokenPipeError):  # nobody reads it; the run goes on
        print(f"-- {line}", file=sys.stderr)
