"""What a run goes on with, as a table of everything a directory can hold and a person can type."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flower.documents.brief import Brief, append_amendment, brief_digest
from flower.documents.goal import Check, Goal
from flower.workflow.plan import CLARIFY, SET_GOAL, WORK, WakeBooks, plan_wake

BRIEF = Brief("A converter.", "It prints <h1>.", "No network.", "none").render("zh")
GROWN = append_amendment(BRIEF, "also highlight code")
HALF = "## 目标\nA converter.\n"


def goal_of(brief: str) -> str:
    return Goal("It converts.", [Check("it prints"), Check("it is fast")], brief_digest(brief)).render("zh")


GOAL = goal_of(BRIEF)
ALL = {CLARIFY: "c", SET_GOAL: "g", WORK: "w"}
EMPTY = WakeBooks()
CLARIFYING = WakeBooks(steps={CLARIFY: "c"}, stored={"c"}, woke=1)
GOALLESS = WakeBooks(brief=BRIEF, steps={CLARIFY: "c", SET_GOAL: "g"}, stored={"c", "g"}, woke=1)
WORKING = WakeBooks(brief=BRIEF, goal=GOAL, steps=ALL, stored={"c", "g", "w"}, contexts={"w": 80200}, woke=2)

CASES = [
    # name, books, words, steps as "name action told session"
    ("first run", EMPTY, "make it", ["确认需求 new request -", "设定目标 new set_goal -", "干活 new work -"]),
    (
        "killed inside the clarification",
        CLARIFYING,
        None,
        ["确认需求 continue clarify_on c", "设定目标 new set_goal -", "干活 new work -"],
    ),
    (
        "killed there, half a brief on disk",
        replace(CLARIFYING, brief=HALF),
        " ",
        ["确认需求 continue clarify_on c", "设定目标 new set_goal -", "干活 new work -"],
    ),
    (
        "killed there, new words typed",
        CLARIFYING,
        "in rust",
        ["确认需求 continue clarify_on_with_words c", "设定目标 new set_goal -", "干活 new work -"],
    ),
    (
        "killed there before anything was stored",
        replace(CLARIFYING, stored=frozenset()),
        "make it",
        ["确认需求 new request -", "设定目标 new set_goal -", "干活 new work -"],
    ),
    (
        "killed inside the goal step",
        GOALLESS,
        None,
        ["确认需求 skip nothing -", "设定目标 continue set_goal g", "干活 new work -"],
    ),
    (
        "killed there, new words typed",
        GOALLESS,
        "faster",
        ["确认需求 skip nothing -", "设定目标 continue set_goal g", "干活 new work_with_words -"],
    ),
    (
        "nothing said",
        WORKING,
        None,
        ["确认需求 skip nothing -", "设定目标 skip nothing -", "干活 continue go_on w"],
    ),
    (
        "words at a wake",
        WORKING,
        "also highlight code",
        ["确认需求 skip nothing -", "设定目标 continue set_goal g", "干活 continue words w"],
    ),
    (
        "goal of another brief: words taken down, then killed",
        replace(WORKING, brief=GROWN),
        None,
        ["确认需求 skip nothing -", "设定目标 continue set_goal g", "干活 continue go_on_amended w"],
    ),
    (
        "goal without checks",
        replace(WORKING, goal="## 目标\nIt converts.\n"),
        None,
        ["确认需求 skip nothing -", "设定目标 continue set_goal g", "干活 continue go_on_amended w"],
    ),
    (
        "goal file deleted by hand",
        replace(WORKING, goal=""),
        None,
        ["确认需求 skip nothing -", "设定目标 continue set_goal g", "干活 continue go_on w"],
    ),
    (
        "sessions gone from the database",
        replace(WORKING, stored=frozenset()),
        None,
        ["确认需求 skip nothing -", "设定目标 skip nothing -", "干活 new work -"],
    ),
    (
        "sessions gone, words typed",
        replace(WORKING, stored=frozenset()),
        "more",
        ["确认需求 skip nothing -", "设定目标 new set_goal -", "干活 new work_with_words -"],
    ),
    (
        "a copied directory: documents, but a foreign lineage",
        replace(WORKING, steps={}, stored=frozenset(), woke=0),
        None,
        ["确认需求 skip nothing -", "设定目标 skip nothing -", "干活 new work -"],
    ),
    (
        "something new",
        replace(WORKING, new=True),
        "another",
        ["确认需求 new request -", "设定目标 new set_goal -", "干活 new work -"],
    ),
    (
        "no goal wanted, nothing said",
        replace(WORKING, with_goal=False),
        None,
        ["确认需求 skip nothing -", "干活 continue go_on w"],
    ),
    (
        "no goal wanted, words",
        replace(WORKING, with_goal=False),
        "more",
        ["确认需求 skip nothing -", "干活 continue words w"],
    ),
    ("only the brief, first run", replace(EMPTY, clarify_only=True), "make", ["确认需求 new request -"]),
    ("only the brief, there already", replace(WORKING, clarify_only=True), None, ["确认需求 skip nothing -"]),
    (
        "a judge that got into the lineage is not continued",
        replace(EMPTY, steps={"干活·判定#1": "j", "干活#round2": "r"}, stored={"j", "r"}),
        "make it",
        ["确认需求 new request -", "设定目标 new set_goal -", "干活 new work -"],
    ),
]


@pytest.mark.parametrize(
    ("name", "books", "words", "steps"), CASES, ids=[f"{i}: {c[0]}" for i, c in enumerate(CASES)]
)
def test_which_session_each_step_continues_and_what_it_is_told(name, books, words, steps):
    plan = plan_wake(books, words)
    assert [f"{s.name} {s.action} {s.told} {s.session or '-'}" for s in plan.steps] == steps


@pytest.mark.parametrize(
    ("books", "words", "amend", "derive"),
    [
        (EMPTY, "make it", False, True),
        (CLARIFYING, "in rust", False, True),
        (WORKING, None, False, False),
        (WORKING, "\n ", False, False),
        (WORKING, "more", True, True),
        (replace(WORKING, brief=GROWN), None, False, True),
        (replace(WORKING, brief=GROWN, goal=goal_of(GROWN)), None, False, False),
        (replace(WORKING, with_goal=False), "more", True, False),
        (replace(WORKING, clarify_only=True), "more", True, False),
        (replace(WORKING, new=True), "another", False, True),
    ],
)
def test_words_amend_the_brief_and_derive_the_goal_again_and_silence_costs_nothing(
    books, words, amend, derive
):
    plan = plan_wake(books, words)
    assert (plan.amend, plan.derive_goal) == (amend, derive)


@pytest.mark.parametrize(
    ("books", "words", "needed"),
    [
        (EMPTY, None, True),
        (EMPTY, "x", False),
        (CLARIFYING, None, False),
        (replace(CLARIFYING, stored=frozenset()), None, True),
        (replace(CLARIFYING, stored=frozenset(), request="a tool"), None, False),
        (replace(EMPTY, request=" \n"), None, True),
        (replace(WORKING, new=True, request="the old one"), None, True),
        (WORKING, None, False),
        (replace(WORKING, new=True), None, True),
    ],
)
def test_a_request_is_needed_only_where_nothing_can_be_carried_on(books, words, needed):
    assert plan_wake(books, words).needs_request is needed


@pytest.mark.parametrize(
    ("books", "banner"),
    [
        (EMPTY, None),
        (CLARIFYING, (True, 0, 0, 2)),
        (GOALLESS, (False, 0, 0, 2)),
        (WORKING, (False, 2, 80200, 3)),
        (replace(WORKING, stored=frozenset()), (False, 2, 0, 3)),
        (replace(WORKING, steps={}, stored=frozenset(), woke=0), (False, 2, 0, 1)),
        (replace(WORKING, new=True), None),
    ],
)
def test_the_banner_says_only_what_is_known(books, banner):
    found = plan_wake(books, "x").banner
    assert (found and (found.clarifying, found.checks, found.context, found.wake)) == banner


def test_only_new_archives():
    assert plan_wake(replace(WORKING, new=True), "x").archive
    assert not plan_wake(WORKING, "x").archive
