"""The human channel: how questions end, and what survives a kill."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from flower.agents.channel import SENTENCES, HumanChannel, Outcome, Question
from flower.documents.brief import Brief, amendments
from flower.workflow.documents import freeze_brief


def ask(channel: HumanChannel, *arguments: object) -> Outcome:
    return asyncio.run(channel.ask(*arguments))  # type: ignore[arg-type]


def answering(text: str, **options: object) -> HumanChannel:
    """A channel whose person answers from another thread."""
    channel = HumanChannel(**options)  # type: ignore[arg-type]
    channel.on_question = lambda q: threading.Thread(target=channel.answer, args=(q.id, text)).start()
    return channel


def test_an_answer_from_another_thread() -> None:
    outcome = ask(answering("blue, please"), "Which colour?", ["red", "green"])
    assert outcome == Outcome("answered", "blue, please")
    assert outcome.sentence() == "The person answered: blue, please"


@pytest.mark.parametrize(
    ("typed", "state", "answer"), [("2", "answered", "green"), ("3", "answered", "3"), (" ", "declined", "")]
)
def test_digits_pick_and_nothing_skips(typed: str, state: str, answer: str) -> None:
    outcome = ask(answering(typed), "Which colour?", ["red", "green"])
    assert (outcome.state, outcome.answer) == (state, answer)


def test_nobody_there_resolves_at_once() -> None:
    called: list[Question] = []
    channel = HumanChannel(timeout_s=0, on_question=called.append)
    assert ask(channel, "q?").state == "timeout" and called == [] and not channel.attended


def test_time_runs_out_and_the_question_leaves_the_screen() -> None:
    channel = HumanChannel(timeout_s=0.05)
    assert ask(channel, "q?").state == "timeout"
    assert channel.pending() is None and channel.answer(1, "late") is False


@pytest.mark.parametrize(
    ("limit", "states"),
    [
        (0, ["over_budget"] * 2),
        (1, ["answered", "over_budget"]),
        (-1, ["answered"] * 2),
        (None, ["answered"] * 2),
    ],
)
def test_how_many_questions(limit: int | None, states: list[str]) -> None:
    channel = answering("yes", max_asks=limit)
    assert [ask(channel, q).state for q in ("one?", "two?")] == states


@pytest.mark.parametrize("bad", [("",), ("  ",), (None,), ("q?", "not a list"), ("q?", [1, 2])])
def test_an_improper_question_costs_nothing(bad: tuple[object, ...]) -> None:
    channel = answering("yes", max_asks=1)
    assert ask(channel, *bad).state == "invalid"
    assert ask(channel, "proper?").state == "answered"


def test_every_state_has_its_sentence() -> None:
    assert all(Outcome(state, "a").sentence() for state in SENTENCES)
    assert Outcome("answered", "{braces} {answer}").sentence().endswith("{braces} {answer}")


def test_a_cancelled_ask_is_taken_back_and_a_late_answer_is_harmless() -> None:
    channel = HumanChannel()

    async def run() -> None:
        task = asyncio.create_task(channel.ask("q?"))
        await asyncio.sleep(0.01)
        question = channel.pending()
        assert question is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert channel.pending() is None
        assert channel.answer(question.id, "late") is False

    asyncio.run(run())


def test_parallel_questions_are_answered_by_id() -> None:
    channel = HumanChannel()

    async def run() -> list[Outcome]:
        tasks = [asyncio.create_task(channel.ask(q)) for q in ("one?", "two?")]
        await asyncio.sleep(0.01)
        assert channel.pending() is not None and channel.pending().text == "one?"  # type: ignore[union-attr]
        assert channel.answer(2, "second") and channel.answer(1, "first")
        return await asyncio.gather(*tasks)

    assert [o.answer for o in asyncio.run(run())] == ["first", "second"]


def test_after_a_kill_an_answered_question_is_not_asked_again(tmp_path: Path) -> None:
    log = tmp_path / "notes" / "log.md"
    long = "Which one?\nA: is not an answer\n### nor is this a heading"
    ask(answering("first line\nsecond line", log_path=log), long, ["a", "b"], "the layout\nchanges")
    ask(answering(" ", log_path=log), "Skipped?")
    called: list[Question] = []
    again = HumanChannel(log_path=log, on_question=called.append, timeout_s=0.05, max_asks=0)
    outcome = ask(again, long.replace("\n", "  "))
    assert outcome == Outcome("answered", "first line\nsecond line", known=True) and called == []
    assert "answered this before" in outcome.sentence()
    assert again.answered("Skipped?") is None, "what was not answered may be asked again"


def test_the_answer_is_on_disk_before_the_model_has_it(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    channel = HumanChannel(log_path=log)

    async def run() -> str:
        task = asyncio.create_task(channel.ask("q?"))
        await asyncio.sleep(0.01)
        channel.answer(1, "yes")
        text = log.read_text()  # The asking task has not run since.
        await task
        return text

    assert "A: yes" in asyncio.run(run())


def test_an_unwritable_log_does_not_stop_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert ask(answering("yes", log_path=tmp_path / "file" / "log.md"), "q?").answer == "yes"


def test_added_words_are_delivered_once_and_passed_on() -> None:
    said: list[str] = []
    channel = HumanChannel(on_wish=said.append)
    assert channel.take_wishes() is None
    channel.say("also in blue")
    channel.say("  ")
    channel.say("and large")
    told = channel.take_wishes()
    assert told is not None and "- also in blue\n- and large" in told
    assert channel.take_wishes() is None and said == ["also in blue", "and large"]


def test_added_words_reach_the_brief(tmp_path: Path) -> None:
    brief = tmp_path / "brief.md"
    brief.write_text("## Goal\ng\n## Acceptance\na\n## Boundaries\nb\n## Unknowns and assumptions\nnone\n")
    HumanChannel(amend_path=brief).say("also in blue")
    assert "also in blue" in brief.read_text()


def test_words_said_before_there_is_a_brief_are_in_it_once_it_is_frozen(tmp_path: Path) -> None:
    brief = tmp_path / "notes" / "brief.md"
    HumanChannel(amend_path=brief).say("also in blue")
    sections = "## Goal\na\n\n## Acceptance\nb\n\n## Boundaries\nc\n\n## Unknowns and assumptions\nd\n"
    freeze_brief(brief, sections)
    assert Brief.parse(brief.read_text()).complete
    assert amendments(brief.read_text()) == ["also in blue"]


def test_a_confirmation_costs_no_question() -> None:
    channel = answering("1", max_asks=0)
    assert asyncio.run(channel.confirm("really?", ["yes", "no"])) == "yes"
    assert asyncio.run(HumanChannel(timeout_s=0).confirm("really?", ["yes", "no"])) is None
