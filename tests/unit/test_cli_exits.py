"""Every error has one exit status."""

from __future__ import annotations

import pytest

from flower.cli.exits import ending_of
from flower.model import (
    BooksForeign,
    BudgetSpent,
    ConfigurationError,
    CredentialsMissing,
    FlowerError,
    GoalNotReached,
    HumanInterrupt,
    NetworkGaveUp,
    RunIsLive,
    StepAbort,
    StepFailed,
    UsageError,
)

TABLE = [
    (FlowerError("x"), 1, "flower-error"),
    (StepFailed("x"), 1, "step-failed"),
    (StepAbort("x"), 1, "step-abort"),
    (UsageError("x"), 2, "usage-error"),
    (BooksForeign("x"), 2, "books-foreign"),
    (GoalNotReached("x"), 3, "goal-not-reached"),
    (BudgetSpent("x"), 4, "budget-spent"),
    (ConfigurationError("x"), 5, "configuration-error"),
    (CredentialsMissing("x"), 5, "credentials-missing"),
    (RunIsLive("x"), 6, "run-is-live"),
    (NetworkGaveUp("x"), 75, "network-gave-up"),
    (HumanInterrupt("x"), 130, "human-interrupt"),
    (KeyboardInterrupt(), 130, "human-interrupt"),
    (PermissionError(13, "Permission denied", "/books"), 1, "os-error"),
    (RuntimeError("x"), 1, "internal-error"),
]


@pytest.mark.parametrize(("error", "code", "word"), TABLE, ids=lambda value: str(value))
def test_status(error: BaseException, code: int, word: str) -> None:
    ending = ending_of(error)
    assert (ending.exit_code, ending.status) == (code, word)


def test_a_group_is_the_error_inside_that_is_meant_for_a_person() -> None:
    class Group(Exception):
        exceptions = (ValueError("noise"), BudgetSpent("spent"))

    assert ending_of(Group()).exit_code == 4


def test_the_hint_stands_on_a_line_of_its_own() -> None:
    assert ending_of(UsageError("what", hint="do this")).message == "what\ndo this"


def test_a_file_error_names_the_file() -> None:
    assert (
        ending_of(PermissionError(13, "Permission denied", "/books")).message == "/books: Permission denied"
    )
