"""Errors become exit statuses here and nowhere else."""

from __future__ import annotations

from flower.locale import _
from flower.model import FlowerError
from flower.values import NamedTuple

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130


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
            error.exit_code, _status_word(error), "\n".join(filter(None, (error.message, error.hint)))
        )
    if isinstance(error, KeyboardInterrupt):
        return Ending(INTERRUPTED, "human-interrupt")
    if isinstance(error, OSError):
        return Ending(FAILED, "os-error", _os_error(error))
    return Ending(FAILED, "internal-error", _internal(error))


def _innermost(error: BaseException) -> BaseException:
    while inner := getattr(error, "exceptions", None):
        error = next((e for e in inner if isinstance(e, FlowerError)), inner[0])
    return error


def _status_word(error: FlowerError) -> str:
    """``GoalNotReached`` → ``goal-not-reached``."""
    name = type(error).__name__
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
