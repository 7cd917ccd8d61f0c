"""The error tree. Callers branch on classes; the command line turns each into an exit status.

FlowerError                 1
├── UsageError              2   a value that cannot be
├── StepFailed              1   a step ended without a result
├── StepAbort               1   a gate or a workflow ends the run on purpose
│   └── GoalNotReached      3   rounds used up, or unreachable and nobody to ask
├── BudgetSpent             4
├── ConfigurationError      5   credentials, billing or configuration refused
│   └── CredentialsMissing  5   (also a RuntimeError)
├── RunIsLive               6   refused because another run uses the books
├── NetworkGaveUp          75
├── HumanInterrupt        130   Ctrl-C at the prompt, or twice in a run
└── BooksError              1   the files in run_dir could not be read or written
    ├── BooksDamaged        1
    ├── BooksForeign        2   they belong to another project
    └── BooksNewer          2   a newer flower wrote them
"""

from __future__ import annotations


class FlowerError(Exception):
    """An error meant for a person: one line saying what happened and where, and a hint what to do.

    ``exit_code`` is the process exit status that the command line uses; an instance may override it.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class UsageError(FlowerError, ValueError):
    """A value that cannot be, named together with the values that can."""

    exit_code = 2


class StepFailed(FlowerError):
    """A step ended without a usable result, or its entries could not be saved."""


class StepAbort(FlowerError):
    """Raised by a gate, a reduce or a step's callable: the workflow ends at once, in good order."""


class GoalNotReached(StepAbort):
    """The judge did not pass the product: rounds used up, no progress, or unreachable and nobody answered."""

    exit_code = 3


class BudgetSpent(FlowerError):
    """The money limit of the run is reached."""

    exit_code = 4


class ConfigurationError(FlowerError):
    """Credentials, billing or configuration were refused by the endpoint, or cannot work."""

    exit_code = 5


class CredentialsMissing(ConfigurationError, RuntimeError):
    """No credential was found anywhere flower looks."""


class RunIsLive(FlowerError):
    """Another run uses these books and the requested operation must be alone."""

    exit_code = 6


class NetworkGaveUp(FlowerError):
    """The endpoint stayed out of reach for longer than the run may wait."""

    exit_code = 75


class HumanInterrupt(FlowerError):
    """The person pressed Ctrl-C at a prompt, twice in a run, or once where nothing could be asked."""

    exit_code = 130


class BooksError(FlowerError):
    """The books in run_dir could not be read or written."""


class BooksDamaged(BooksError):
    """A book cannot be parsed; it has been set aside or left untouched, never overwritten."""


class BooksForeign(BooksError):
    """The books belong to another project."""

    exit_code = 2


class BooksNewer(BooksError):
    """The books were written by a newer flower; they are left untouched."""

    exit_code = 2
