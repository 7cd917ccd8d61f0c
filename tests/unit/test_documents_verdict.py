"""A verdict passes only when the judge says so clearly and completely."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.documents.goal import Check
from flower.documents.outcomes import OUTCOMES
from flower.documents.verdict import Verdict

TWO = "1. pass: ran it, exit 0\n2. pass: the file is there"

ACHIEVED = [
    f"## Conclusion\nachieved\n\n## Reason\nEverything holds.\n\n{TWO}",
    f"Conclusion: achieved\nReason: fine\n{TWO}",
    f"**Conclusion**: Achieved.\n\n{TWO}",
    f"**Conclusion:** `achieved`\n\n{TWO}",
    f"1. Conclusion\nachieved\n\n{TWO}",
    f"## Verdict\n✅ **Achieved** — all 2 checks pass\n\n{TWO}",
    f"## Conclusion\nachieved (2/2)\n\n{TWO}",
    f"## Conclusion\nThe goal is achieved.\n\n{TWO}",
    f"## Conclusion\nmet\n\n{TWO}",
    f"## Conclusion\nachieved\n> the brief says: not achieved without a README\n\n{TWO}",
    "## 结论\n达成\n\n## 理由\n都好。\n\n1. 通过:跑过\n2. 通过：看过",
    "结论：已达成。\n1. pass：跑过\n2. 通过——看过",
    "**结论**：目标达成\n\n1、通过:跑过\n2、通过:看过",
    "## 결론\n달성\n\n## 이유\n모두 확인\n\n1. 통과: 실행함\n2. 통과: 확인함",
    "결론: 달성됨\n1. 충족: 실행함\n2. 통과: 확인함",
    f"## Conclusion\nachieved\n\n## Checks\n- 1. **pass**: x\n- **2.** pass - y\n\n```\n{TWO}\n```",
    "\ufeff## Conclusion\r\nachieved\r\n\r\n1. PASS: x\r\n2. Pass: y\r\n",
    "## Conclusion\nachieved\n\n1. ✅ pass: x\n2. ✔️ **pass**: y",
    "## Conclusion\nachieved\n\n2. pass: order does not matter\n1. pass (seen)",
]

NEVER = [
    "",
    "true",
    "True.",
    "DONE",
    "done ✅",
    "yes",
    "100%",
    "achieved",
    f"achieved\n{TWO}",
    "I looked at everything and the goal is achieved.",
    f"The goal is achieved, well done!\n\n{TWO}",
    TWO,
    f"Conclusion:\n{TWO}",
    f"## Conclusion\n\n## Reason\nachieved\n\n{TWO}",
    f"## Conclusion\ntrue\n{TWO}",
    f"## Conclusion\nDONE\n{TWO}",
    f"## Conclusion\nok\n{TWO}",
    f"## Conclusion\npartially achieved\n{TWO}",
    f"## Conclusion\nalmost achieved\n{TWO}",
    f"## Conclusion\nachieved: no\n{TWO}",
    f"## Conclusion\nachieved: false\n{TWO}",
    f"## Conclusion\nachieved - not really\n{TWO}",
    f"## Conclusion\nachieved?\n{TWO}",
    f"## Conclusion\nachieved if the server is started\n{TWO}",
    f"## Conclusion\nachieved, if the server is started\n{TWO}",
    f"## Conclusion\nachieved, except for check 2\n{TWO}",
    f"## Conclusion\nachieved (1/2)\n{TWO}",
    f"## Conclusion\nachieved, 1 of 2\n{TWO}",
    f"## Conclusion\nachieved — 90%\n{TWO}",
    f"## Conclusion\nachieved nothing\n{TWO}",
    f"## Conclusion\nachieved | not yet | unreachable\n{TWO}",
    f"## Conclusion\nachieved / not yet / unreachable\n{TWO}",
    f"## Conclusion\nachieved or not yet\n{TWO}",
    f"## Conclusion\n~~achieved~~\n{TWO}",
    f"## Conclusion\n[x] achieved [ ] not yet\n{TWO}",
    f"## Conclusion\nwould be achieved if the port were open\n{TWO}",
    f"## Conclusion\nnot achieved\n{TWO}",
    f"## Conclusion\nnot yet achieved\n{TWO}",
    f"## Conclusion\nunachieved\n{TWO}",
    f"## Conclusion\nachieved\nNo: not yet achieved.\n{TWO}",
    f"## Conclusion\nachieved\n\n## Conclusion\nnot yet\n\n{TWO}",
    f"## Conclusion\nnot yet\n\n{TWO}\n\nConclusion: achieved",
    f"## Conclusion\nunreachable\n\n{TWO}",
    f"## Conclusion (if the server ran)\nachieved\n{TWO}",
    f"Conclusion if all goes well: achieved\n{TWO}",
    f"> ## Conclusion\n> achieved\n\n{TWO}",
    f"```\n## Conclusion\nachieved\n{TWO}\n```",
    f"```\n## Conclusion\nachieved\n{TWO}",
    f"~~~markdown\nConclusion: achieved\n{TWO}\n~~~",
    f"    Conclusion: achieved\n{TWO}",
    f"## Conclusion\nachieved\n\n```\n{TWO}\n```",
    "## Conclusion\nachieved\n\n> 1. pass: x\n> 2. pass: y",
    "## Conclusion\nachieved\n\n    1. pass: x\n    2. pass: y",
    "## Conclusion\nachieved",
    "## Conclusion\nachieved\n1. pass: x",
    "## Conclusion\nachieved\n2. pass: y",
    "## Conclusion\nachieved\n1. pass: x\n1. pass: y",
    "## Conclusion\nachieved\n1. pass: x\n2. pass: y\n2. pass: again",
    "## Conclusion\nachieved\n1. pass: x\n2. pass: y\n2. fail: after all",
    "## Conclusion\nachieved\n1. pass: x\n2. pass: y\n3. pass: z",
    "## Conclusion\nachieved\n0. pass: x\n1. pass: x\n2. pass: y",
    "## Conclusion\nachieved\n1. pass: x\n2. fail: y",
    "## Conclusion\nachieved\n1. pass: x\n2. partially: y",
    "## Conclusion\nachieved\n1. pass: x\n2. ❌ pass: y",
    "## Conclusion\nachieved\n1. pass: x\n2. pass | fail | cannot: evidence",
    "## Conclusion\nachieved\n1. pass: x\n2. pass-through is documented",
    "## Conclusion\nachieved\n1. pass: x\n2. passable: y",
    "## Conclusion\nachieved\n1. pass: x\n2. pass the file to the program: done",
    "## Conclusion\nachieved\n1. pass: x\n2. pass if the server runs",
    "## Conclusion\nachieved\n1. pass: x\n2. not passed: y",
    "## Conclusion\nachieved\n1. pass: x\n2. pass: fail",
    "## Conclusion\nachieved\n1. pass: x\n2 passed, 0 failed",
    "## Conclusion\nachieved\n1-2. pass: x",
    "## Conclusion\nachieved\nAll checks pass: 1, 2",
    "## Conclusion\nachieved\n\n| 1 | pass | x |\n| 2 | pass | y |",
    "## 结论\n未达成\n1. 通过:a\n2. 通过:b",
    "## 结论\n尚未达成\n1. 通过:a\n2. 通过:b",
    "## 结论\n达成率 50%\n1. 通过:a\n2. 通过:b",
    "## 结论\n达成,但第二条没跑\n1. 通过:a\n2. 通过:b",
    "## 结论\n基本达成\n1. 通过:a\n2. 通过:b",
    "## 结论\n达成？\n1. 通过:a\n2. 通过:b",
    "## 结论\n达成:否\n1. 通过:a\n2. 通过:b",
    "## 结论\n如果服务在就达成\n1. 通过:a\n2. 通过:b",
    "## 结论\n达成\n1. 通过:a\n2. 未通过:b",
    "## 결론\n달성되지 않음\n1. 통과: a\n2. 통과: b",
    "## 결론\n달성 안 됨\n1. 통과: a\n2. 통과: b",
    "## 결론\n달성 실패\n1. 통과: a\n2. 통과: b",
    "## 결론\n달성하지 못했다\n1. 통과: a\n2. 통과: b",
    "## 결론\n미달성\n1. 통과: a\n2. 통과: b",
    "## 결론\n달성, 다만 2번은 제외\n1. 통과: a\n2. 통과: b",
    "## 결론\n거의 달성\n1. 통과: a\n2. 통과: b",
    "## 결론\n달성률 100\n1. 통과: a\n2. 통과: b",
    "## 결론\n달성\n1. 통과: a\n2. 불통과: b",
]


@pytest.mark.parametrize("text", ACHIEVED)
def test_a_clear_and_complete_answer_is_achieved(text: str) -> None:
    verdict = Verdict.parse(text, checks=2)
    assert (verdict.conclusion, verdict.problem, verdict.missing) == ("achieved", "", "")
    assert {n: status for n, (status, _evidence) in verdict.checks.items()} == {1: "pass", 2: "pass"}
    assert Verdict.parse(text).conclusion == "achieved"


@pytest.mark.parametrize("text", NEVER)
def test_anything_else_never_passes(text: str) -> None:
    verdict = Verdict.parse(text, checks=2)
    assert verdict.conclusion == "not_yet"
    assert verdict.missing


UNREACHABLE = [
    "## Conclusion\nunreachable\n1. pass: x\n2. cannot: no GPU here",
    "## Conclusion\ncannot be verified here\n1. cannot: no GPU\n2. cannot: no network",
    "## Conclusion\nachieved\n1. pass: x\n2. cannot: no GPU",
    "## Conclusion\nnot yet\n1. pass: x\n2. cannot be verified here: no GPU",
    "## Conclusion\nachieved\n1. pass: x\n2. pass: not verified, there is no GPU",
    "## 结论\n无法达成\n1. 通过:a\n2. 此环境无法验证:没有显卡",
    "## 결론\n달성 불가\n1. 통과: a\n2. 검증 불가: GPU 없음",
]


@pytest.mark.parametrize("text", UNREACHABLE)
def test_a_check_that_cannot_be_verified_makes_it_unreachable(text: str) -> None:
    assert Verdict.parse(text, checks=2).conclusion == "unreachable"


@pytest.mark.parametrize(
    "text",
    [
        "## Conclusion\nunreachable\n1. fail: x\n2. cannot: y",  # what fails can be worked on first
        "## Conclusion\nunreachable\n2. cannot: y",
        "## Conclusion\nunreachable",
        "1. pass: x\n2. cannot: y",  # no conclusion at all
    ],
)
def test_an_incomplete_or_failing_answer_is_not_yet_even_if_it_says_unreachable(text: str) -> None:
    assert Verdict.parse(text, checks=2).conclusion == "not_yet"


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_word_means_its_outcome(outcome: str) -> None:
    for word in OUTCOMES[outcome]:  # type: ignore[index]
        assert Verdict.parse(f"## Conclusion\n{word}").conclusion == outcome, word
        assert Verdict.parse(f"结论：**{word.upper()}**。").conclusion == outcome, word


def test_long_lines_are_read_in_linear_time() -> None:
    for line in ("# a", "1. pass", "Conclusion: achieved", "**Conclusion**", "- x ["):
        for filler in (" ", "#", "# ", "*", ":", "(", "[", "achieved "):
            Verdict.parse(f"{line}{filler * 100_000}x", checks=1)


def test_a_goal_without_checks_is_never_achieved() -> None:
    assert Verdict.parse("## Conclusion\nachieved", checks=0).conclusion == "not_yet"
    assert Verdict.parse("## Conclusion\nachieved", checks=[]).conclusion == "not_yet"


def test_nobody_passes_what_nobody_looked_at() -> None:
    verdict = Verdict.parse(ACHIEVED[0], checks=2)
    assert verdict.decide(looked=True) == verdict
    blind = verdict.decide(looked=False)
    assert blind.conclusion == "not_yet" and blind.problem and blind.missing
    failed = Verdict.parse("## Conclusion\nnot yet\n1. fail: x", checks=1)
    assert failed.decide(looked=False) == failed


def test_what_is_missing_names_the_checks_and_what_the_judge_wrote() -> None:
    text = (
        "## Conclusion\nnot yet\n## Reason\nno help\n## Not passed\nThe --help text.\n\n"
        "1. pass: x\n2. fail: no output"
    )
    verdict = Verdict.parse(text, checks=[Check("runs"), Check("has --help")])
    assert verdict.reason == "no help"
    assert verdict.checks == {1: ("pass", "x"), 2: ("fail", "no output")}
    assert "2. fail (has --help): no output" in verdict.missing
    assert "The --help text." in verdict.missing
    assert "runs" not in verdict.missing and "pass" not in verdict.missing


def test_check_lines_are_no_part_of_the_reason() -> None:
    assert Verdict.parse(ACHIEVED[0], checks=2).reason == "Everything holds."


def test_missing_lines_are_named() -> None:
    assert "2, 4" in Verdict.parse("Conclusion: achieved\n1. pass: a\n3. pass: c", checks=4).problem


@given(st.text())
def test_random_text_never_passes(text: str) -> None:
    assert Verdict.parse(text, checks=1).conclusion != "achieved"
    assert Verdict.parse(text).conclusion == "not_yet"


_words = st.lists(
    st.sampled_from([w for ws in OUTCOMES.values() for w in ws] + ["not", "if", "the goal", "未", "안"])
)


@given(_words.map(" ".join), st.sampled_from(["", "> ", "    ", "I think: ", "- "]))
def test_prose_made_of_the_very_words_never_passes_without_a_conclusion(prose: str, lead: str) -> None:
    assert Verdict.parse(f"{lead}{prose}\n{TWO}", checks=2).conclusion == "not_yet"


@given(st.sampled_from(ACHIEVED[:3]), st.integers(0, 400))
def test_an_answer_cut_off_before_its_last_check_never_passes(text: str, cut: int) -> None:
    if cut < text.index("2. pass"):
        assert Verdict.parse(text[:cut], checks=2).conclusion == "not_yet"
