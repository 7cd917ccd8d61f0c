"""The table of resume_from: inside one run and across runs."""

from __future__ import annotations

import pytest

from flower.model import UsageError
from flower.workflow.choice import Choice, choose_session


def choose(name, resume_from=None, fork=False, *, now=None, lineage=None, stored="abcx"):
    return choose_session(
        name, resume_from, fork, sessions=now or {}, lineage=lineage or {}, exists=lambda s: s in set(stored)
    )


def test_none_is_a_new_session_in_a_first_run_and_the_same_named_one_later():
    assert choose("A") == Choice()
    assert choose("A", lineage={"A": "a"}) == Choice("a", continued=True)
    assert choose("A", lineage={"B": "b"}) == Choice()


def test_none_does_not_take_a_session_of_this_run():
    assert choose("B", now={"A": "a"}) == Choice()


def test_a_session_that_the_database_lost_begins_anew():
    assert choose("A", lineage={"A": "gone"}) == Choice(lost="gone")


def test_a_named_step_is_continued_in_this_run_and_across_runs():
    assert choose("B", "A", now={"A": "a"}) == Choice("a")
    assert choose("B", "A", lineage={"A": "a"}) == Choice("a")
    assert choose("B", "A", now={"A": "a"}, lineage={"A": "x", "B": "a"}) == Choice("a", continued=True)


def test_a_fork_branches_off_every_time():
    assert choose("B", "A", True, now={"A": "a"}) == Choice("a", fork=True)
    assert choose("B", "A", True, now={"A": "a"}, lineage={"B": "b"}) == Choice("a", fork=True)
    assert choose("B", "A", True, now={"A": "a"}, lineage={"B": "a"}) == Choice("a", fork=True)


@pytest.mark.parametrize("lineage", [{}, {"A": "gone"}])
def test_a_source_without_a_session_anywhere_is_an_error(lineage):
    with pytest.raises(UsageError, match="'A', which has no session"):
        choose("B", "A", lineage=lineage)
