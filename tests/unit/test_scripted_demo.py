"""What the demo's model decides, shown with requests made by hand: nothing but the request decides."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from flower.agents import rules
from flower.documents import Brief, Goal, Verdict
from flower.scripted import product, verdict
from flower.scripted.demo import ASK, FRAGMENT, PAGE, demo_script, role_of
from flower.scripted.request import Request
from flower.scripted.script import Reply, Text, ToolUse
from flower.transcript.wire import check_messages
from flower.workflow.judging import SENT_BACK
from flower.workflow.told import CLARIFY_REQUEST, CLARIFY_RESUME, GO_ON, WORDS, WORK

REMINDER = "<system-reminder>\nprimary working directory: /ws\n</system-reminder>"


class Conversation:
    """Plays the CLI: keeps the messages, asks the script, hands it results."""

    def __init__(self, role: str, *, agent: str | None = None, tools: tuple[str, ...] = ("Read",)) -> None:
        self.messages: list[dict[str, Any]] = []
        self.role, self.tools = role, tools
        self.headers = {"x-claude-code-agent-id": agent} if agent else {}

    def say(self, text: str) -> Reply:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": REMINDER + text}]})
        return self._ask()

    def results(self, *results: str, errors: bool = False, then: str = "") -> Reply:
        """Answers the open tool calls, in their order; ``then`` is said in the same message."""
        calls = [b for b in self.messages[-1]["content"] if b["type"] == "tool_use"]
        content: list[dict[str, Any]] = [
            {"type": "tool_result", "tool_use_id": c["id"], "content": r, "is_error": errors}
            for c, r in zip(calls, results, strict=True)
        ]
        if then:
            content.append({"type": "text", "text": then})
        self.messages.append({"role": "user", "content": content})
        return self._ask()

    def _ask(self) -> Reply:
        assert check_messages(self.messages) == []
        system = [{"type": "text", "text": "preset"}, {"type": "text", "text": rules.text(self.role)}]
        body = {"system": system, "messages": self.messages, "tools": [{"name": t} for t in self.tools]}
        reply = demo_script(Request(body, self.headers))
        content: list[dict[str, Any]] = []
        for block in reply.content():
            if isinstance(block, Text):
                content.append({"type": "text", "text": block.text})
            elif isinstance(block, ToolUse):
                ident = f"t{len(self.messages)}_{len(content)}"
                content.append({"type": "tool_use", "id": ident, "name": block.name, "input": block.input})
        self.messages.append({"role": "assistant", "content": content})
        return reply


def calls(reply: Reply) -> list[ToolUse]:
    return [b for b in reply.blocks if isinstance(b, ToolUse)]


def text(reply: Reply) -> str:
    return "\n".join(b.text for b in reply.content() if isinstance(b, Text))


def worker() -> Conversation:
    return Conversation("worker", agent="a1", tools=("Read", "Write", "Edit", "Bash"))


@pytest.mark.parametrize("role", ["clarify", "coordinator", "worker", "judge", "oracle"])
def test_roles_are_known_by_their_first_line(role: str) -> None:
    known = role_of(Request({"system": rules.text(role)}))
    assert known == {"clarify": "clarifier"}.get(role, role)
    assert (
        role_of(Request({"system": rules.text("coordinator")}, {"x-claude-code-agent-id": "a"})) == "worker"
    )


def test_whoever_asks_gets_an_answer() -> None:
    assert "scripted" in text(demo_script(Request({"messages": [{"role": "user", "content": "hi"}]})))


REQUEST = CLARIFY_REQUEST.format(request="make a md→html script", language="English")


@pytest.mark.parametrize(
    ("answer", "page", "source"),
    [
        (f"The person answered: {PAGE}", True, "as answered"),
        (f"The person answered: {FRAGMENT}", False, "as answered"),
        ("Nobody answered in time. Decide yourself.", True, "assumed, nobody answered"),
    ],
)
def test_the_clarifier_asks_once_and_the_answer_shapes_everything(
    answer: str, page: bool, source: str
) -> None:
    talk = Conversation("clarify")
    [ask] = calls(talk.say(REQUEST))
    assert ask.name == ASK and ask.input["options"] == [PAGE, FRAGMENT]
    reply = talk.results(answer)
    brief = Brief.parse(text(reply))
    assert brief.complete and not calls(reply)
    assert ("complete HTML page" in brief.goal) is page
    assert source in brief.unknowns
    goal_text = text(Conversation("judge").say(rules.text("set_goal").replace("{brief}", brief.render())))
    goal = Goal.parse(goal_text)
    assert goal.complete and len(goal.checks) == 3
    assert ("a complete page" in goal.checks[0].text) is page
    sent = Conversation("coordinator").say(WORK.format(brief_path="b", brief=brief.render(), goal=goal_text))
    [task] = calls(sent)
    [script, _sample] = calls(worker().say(task.input["prompt"]))
    assert ("<!DOCTYPE html>" in script.input["content"]) is page


@pytest.mark.parametrize("errors", [True, False])
def test_a_question_cut_off_by_a_kill_is_asked_again_and_an_answered_one_is_not(errors: bool) -> None:
    talk = Conversation("clarify")
    talk.say(REQUEST)
    [again] = calls(
        talk.results("[Tool call interrupted: outcome unknown]", errors=errors, then=CLARIFY_RESUME)
    )
    assert again.name == ASK
    talk.results(f"The person answered: {FRAGMENT}")
    reply = talk.say(CLARIFY_RESUME)
    assert not calls(reply) and "fragment without" in Brief.parse(text(reply)).goal


def test_the_coordinator_sends_writes_passes_on_what_is_missing_and_goes_on_at_a_wake() -> None:
    talk = Conversation("coordinator")
    [first] = calls(talk.say(WORK.format(brief_path="b", brief="a brief", goal="")))
    assert first.name == "Agent" and first.input["subagent_type"] == "worker"
    assert first.input["run_in_background"] is False
    assert first.input["prompt"].startswith("Task: write")
    done = talk.results("[Subagent hand-back]\n  Conclusion: done\n")
    assert not calls(done) and product.SCRIPT in text(done)
    [fix] = calls(talk.say(SENT_BACK.format(reason="no", missing="2. fail: `<` is not escaped")))
    assert fix.input["prompt"].startswith("Task: fix") and "`<` is not escaped" in fix.input["prompt"]
    talk.results("Conclusion: done")
    wake = talk.say(GO_ON.format(brief_path="b", goal_note=""))
    assert calls(wake)[0].input["prompt"].startswith("Task: check")
    assert "Continuing where we left off: this conversation has sent out 2 task(s)" in text(wake)
    failed = talk.results("Conclusion: not done, the last command failed")
    assert "could not finish" in text(failed)
    added = talk.say(WORDS.format(words="add tables", brief_path="b", goal_note=""))
    assert "scripted model" in text(added) and calls(added)


def test_a_delegation_cut_off_by_a_kill_is_checked_and_not_reported_as_done() -> None:
    talk = Conversation("coordinator")
    talk.say(WORK.format(brief_path="b", brief="a brief", goal=""))
    reply = talk.results(
        "[Tool call interrupted]", errors=True, then=GO_ON.format(brief_path="b", goal_note="")
    )
    assert calls(reply)[0].input["prompt"].startswith("Task: check")


def test_a_worker_writes_runs_and_reports() -> None:
    talk = worker()
    written = calls(talk.say("Task: write"))
    assert [(c.name, c.input["file_path"]) for c in written] == [
        ("Write", "/ws/md2html.sh"),
        ("Write", "/ws/sample.md"),
    ]
    [run] = calls(talk.results("ok", "ok"))
    assert run.input["command"] == product.RUN
    report = text(talk.results("<html>\n"))
    assert [line.partition(":")[0] for line in report.splitlines()] == [
        "Conclusion", "Evidence", "Output", "Unverified",
    ]  # fmt: skip
    assert report.startswith("Conclusion: done")


def numbered(content: str) -> str:
    return "".join(f"{n:>6}\t{line}\n" for n, line in enumerate(content.splitlines(), 1))


FLAWED = product.script_text(page=True, escaping=False)
SOUND = product.script_text(page=True, escaping=True)


def test_a_worker_repairs_what_it_has_read() -> None:
    talk = worker()
    assert [c.name for c in calls(talk.say("Task: fix"))] == ["Read", "Read"]
    [edit] = calls(talk.results(numbered(FLAWED), numbered(product.SAMPLE_TEXT)))
    assert FLAWED.count(edit.input["old_string"]) == 1
    assert FLAWED.replace(edit.input["old_string"], edit.input["new_string"]) == SOUND


def test_a_worker_rewrites_what_it_does_not_recognise_and_leaves_what_is_sound() -> None:
    talk = worker()
    talk.say("Task: fix")
    [write] = calls(talk.results(numbered(SOUND.replace("&lt;", "&LT;")), numbered("# mine")))
    assert (write.name, write.input["content"]) == ("Write", SOUND)
    talk = worker()
    talk.say("Task: fix")
    assert [c.name for c in calls(talk.results(numbered(SOUND), numbered("# mine")))] == ["Bash"]


def test_a_worker_whose_files_are_gone_makes_them_again() -> None:
    talk = worker()
    assert [c.name for c in calls(talk.say("Task: check"))] == ["Bash"]
    assert [c.name for c in calls(talk.results("No such file", errors=True))] == ["Read", "Read"]
    made = calls(talk.results("File does not exist.", "File does not exist.", errors=True))
    assert [c.input["content"] for c in made] == [SOUND, product.SAMPLE_TEXT]
    talk.results("ok", "ok")
    assert text(talk.results("sh: broken", errors=True)).startswith("Conclusion: not done")


def test_a_worker_that_may_not_overwrite_reads_first() -> None:
    talk = worker()
    talk.say("Task: write")
    read = calls(talk.results("not been read yet", "not been read yet", errors=True))
    assert [c.name for c in read] == ["Read", "Read"]


def convert(tmp_path: Path, script: str, markdown: str) -> str:
    (tmp_path / product.SCRIPT).write_text(script)
    (tmp_path / product.SAMPLE).write_text(markdown)
    done = subprocess.run(
        ["sh", product.SCRIPT, product.SAMPLE], cwd=tmp_path, capture_output=True, check=True
    )
    return done.stdout.decode()


def judged(
    tmp_path: Path, script: str, *, markdown: str = product.SAMPLE_TEXT, html: str | None = None
) -> Verdict:
    """The verdict on a script, and on the output it really has unless ``html`` is given."""
    html = convert(tmp_path, script, markdown) if html is None else html
    goal = Goal.parse(verdict.goal(page=True))
    talk = Conversation("judge", tools=("Read", "Glob", "Grep"))
    looks = calls(talk.say(rules.text("judge_goal").replace("{goal}", goal.render())))
    assert [(c.name, c.input["file_path"]) for c in looks] == [
        ("Read", "/ws/md2html.sh"), ("Read", "/ws/sample.md"), ("Read", "/ws/sample.html"),
    ]  # fmt: skip
    said = text(talk.results(*[numbered(t) for t in (script, markdown, html)]))
    return Verdict.parse(said, goal.checks)


def failing(found: Verdict) -> list[int]:
    return [n for n, (status, _) in found.checks.items() if status == "fail"]


def test_the_flawed_program_fails_exactly_what_is_wrong_with_it(tmp_path: Path) -> None:
    found = judged(tmp_path, FLAWED)
    assert (found.conclusion, failing(found)) == ("not_yet", [2])
    assert "1 &lt; 2" in found.missing


def test_the_sound_program_passes_also_with_another_sample(tmp_path: Path) -> None:
    assert judged(tmp_path, SOUND).achieved
    mine = "# Mine & yours\n\nwords\n\n- a < b\n\n```\nx & y\n```\n"
    assert judged(tmp_path, SOUND, markdown=mine).achieved


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ('gsub(/</, "\\\\&lt;", s)', "", 2),
        ('print "</code></pre>"', 'print "</code>"', 3),
        ('"<h" level ">"', '"<b>"', 1),
        ('print "<li>" escape(substr($0, 3)) "</li>"', "", 1),
        ("code { print escape($0); next }", "code { next }", 3),
        ('"<!DOCTYPE html>', '"', 1),
    ],
)
def test_a_program_broken_by_hand_is_rejected(tmp_path: Path, old: str, new: str, check: int) -> None:
    assert SOUND.count(old) == 1
    found = judged(tmp_path, SOUND.replace(old, new))
    assert found.conclusion == "not_yet" and check in failing(found)


@pytest.mark.parametrize("html", ["", "<h1>A sample</h1>", "something else"])
def test_an_output_broken_by_hand_is_rejected(tmp_path: Path, html: str) -> None:
    assert judged(tmp_path, SOUND, html=html).conclusion == "not_yet"


def test_a_judge_that_could_read_nothing_rejects_and_one_that_may_run_believes_the_run() -> None:
    prompt = rules.text("judge_goal").replace("{goal}", Goal.parse(verdict.goal(page=True)).render())
    talk = Conversation("judge")
    talk.say(prompt)
    said = text(talk.results("File does not exist.", "no", "no", errors=True))
    assert failing(Verdict.parse(said, 3)) == [1, 2, 3]
    talk = Conversation("judge", tools=("Read", "Bash"))
    assert [c.name for c in calls(talk.say(prompt))] == ["Read", "Read", "Bash"]
    said = text(talk.results(numbered(SOUND), numbered(product.SAMPLE_TEXT), "command failed"))
    assert not Verdict.parse(said, 3).achieved


def test_a_judge_that_may_run_passes_what_it_saw_running(tmp_path: Path) -> None:
    talk = Conversation("judge", tools=("Read", "Bash"))
    talk.say(rules.text("judge_goal").replace("{goal}", verdict.goal(page=True)))
    html = convert(tmp_path, SOUND, product.SAMPLE_TEXT)
    said = text(talk.results(numbered(SOUND), numbered(product.SAMPLE_TEXT), html))
    assert Verdict.parse(said, 3).achieved


def test_an_old_output_does_not_hide_a_broken_program_nor_an_empty_sample_a_missing_one(
    tmp_path: Path,
) -> None:
    html = convert(tmp_path, SOUND, product.SAMPLE_TEXT)
    assert failing(judged(tmp_path, FLAWED, html=html)) == [2]
    assert failing(judged(tmp_path, SOUND, markdown="", html=html)) == [1, 2, 3]


def test_a_check_the_judge_does_not_know_cannot_be_passed(tmp_path: Path) -> None:
    goal = verdict.goal(page=True) + "4. tables work\n"
    talk = Conversation("judge")
    talk.say(rules.text("judge_goal").replace("{goal}", goal))
    html = convert(tmp_path, SOUND, product.SAMPLE_TEXT)
    said = text(talk.results(*[numbered(t) for t in (SOUND, product.SAMPLE_TEXT, html)]))
    found = Verdict.parse(said, 4)
    assert found.conclusion == "unreachable" and found.checks[4][0] == "cannot"
