"""Errors become exit statuses here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

from flower.locale import _
from flower.model import FlowerError
from flower.values import NamedTuple

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130

MEANINGS = {
    0: "goal verified, or accepted by the person, or the run finished (`--no-goal`, `--clarify-only`, `once`, `run`)",
    1: "a step failed, or a file could not be read or written; `doctor`: something needs attention",
    2: "a value that cannot be, or books of another project",
    3: "goal not reached: rounds used up, deadline passed, or unreachable with nobody to ask",
    4: "budget spent",
    5: "credentials, billing or configuration refused",
    6: "refused because another run is live (`--new`, `adopt`)",
    75: "gave up waiting for the network",
    130: "Ctrl-C at the prompt, or twice in a run; once without a terminal",
}
"""Every exit status but 128+n, which a process has that signal n ended."""


class Ending(NamedTuple):
    """How the process ends: its status, the word for it in ``--json``, and what the person reads."""

    exit_code: int
    status: str
    message: str = ""


def ending_of(error: BaseException) -> Ending:
    """The ending an error means.

    A group with one error inside is that error; among several the first one meant for a person counts.
    """
    error = _innermost(error)
    if isinstance(error, FlowerError):
        return Ending(
            error.exit_code, _status_word(type(error)), "\n".join(filter(None, (error.message, error.hint)))
        )
    if isinstance(error, KeyboardInterrupt):
        return Ending(INTERRUPTED, "human-interrupt")
    if isinstance(error, OSError):
        return Ending(FAILED, "os-error", _os_error(error))
    return Ending(FAILED, "internal-error", _internal(error))


def words_of(exit_code: int) -> list[str]:
    """The words that ``--json`` has for an exit status."""
    found = ["ok"] if exit_code == OK else []
    found += ["os-error", "internal-error"] if exit_code == FAILED else []
    found += [_status_word(kind) for kind in _errors(FlowerError) if kind.exit_code == exit_code]
    return found


def _errors(kind: type[FlowerError]) -> Iterator[type[FlowerError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _errors(child)


def _innermost(error: BaseException) -> BaseException:
    while inner := getattr(error, "exceptions", None):
        error = next((e for e in inner if isinstance(e, FlowerError)), inner[0])
    return error


def _status_word(kind: type[FlowerError]) -> str:
    """``GoalNotReached`` → ``goal-not-reached``."""
    name = kind.__name__
    return "".join(f"-{c.lower()}" if c.isupper() and at else c.lower() for at, c in enumerate(name))


def _os_error(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what


def _internal(error: BaseException) -> str:
    import traceback  # Only a failure of flower's own needs it.

    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = f"{where[0].filename}:{where[0].lineno}" if where else "?"
    return _("flower itself failed: {kind}: {error} ({place}); -v shows the traceback").format(
        kind=type(error).__name__, error=error, place=place
    )
