"""What hooks stop and change, seen with the real CLI: at the endpoint and on the disk."""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, ResultMessage

from flower.agents import roles
from flower.agents.access import Access
from flower.agents.argv import SessionArgs
from flower.agents.channel import HumanChannel, Question
from flower.agents.options import build_options
from flower.agents.spec import AgentSpec
from flower.agents.workbench import Workbench, isolated_root
from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse

SECRET = "the-books-say-this"


def use(name: str, **arguments: Any) -> ToolUse:
    return ToolUse(name, arguments)


@dataclass
class Seen:
    """What became of a turn: the result of each tool call of the main thread and of subagents, in order."""

    results: list[str] = field(default_factory=list)
    sub_results: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    final: ResultMessage | None = None


@dataclass
class Stage:
    """A workspace with books, a real CLI and a model that makes the calls it is told to make."""

    base: Path
    workbench: bool = False

    def __post_init__(self) -> None:
        self.workspace = self.base / "ws"
        self.run_dir = self.workspace / "runs"
        self.run_dir.mkdir(parents=True)
        (self.run_dir / ".ignore").write_text("*\n")
        (self.run_dir / "manifest.json").write_text(SECRET)
        (self.workspace / "data.json").write_text("public data\n")
        bench = (
            Workbench(self.workspace / ".flower", workspace=self.workspace).create()
            if self.workbench
            else None
        )
        self.recorded: list[str] = []
        self.access = Access(self.workspace, self.run_dir, bench, record=self.recorded.append)

    def play(
        self,
        spec: AgentSpec,
        *calls: ToolUse,
        sub: tuple[ToolUse, ...] = (),
        session: SessionArgs | None = None,
        store: Any = None,
        prompt: str = "go",
        report: str = "SUB-REPORT",
    ) -> Seen:
        """One turn: the main thread makes its calls one by one, each subagent makes those of ``sub``."""

        def script(request: Request) -> Reply:
            todo = sub if request.agent_id else calls
            done = _results_since(None if request.agent_id else prompt, request)
            if done < len(todo):
                return Reply(blocks=[todo[done]])
            return Reply(report if request.agent_id else "FINISHED")

        def options(endpoint: ScriptedEndpoint) -> ClaudeAgentOptions:
            scratch = self.base / "scratch"
            scratch.mkdir(exist_ok=True)
            places = {"CLAUDE_CONFIG_DIR": str(self.base / "config"), "CLAUDE_CODE_TMPDIR": str(scratch)}
            return build_options(
                spec,
                cwd=self.workspace,
                access=self.access,
                session=session or SessionArgs(new_id=str(uuid.uuid4())),
                store=store,
                env={**endpoint.env(), **places},
            )

        with ScriptedEndpoint(script) as endpoint:
            final = asyncio.run(_turn(options(endpoint), prompt))
            endpoint.check()
            requests = [Request(r.body or {}, r.headers) for r in endpoint.requests]
        return Seen(_results(requests, sub=False), _results(requests, sub=True), requests, final)


async def _turn(options: ClaudeAgentOptions, prompt: str) -> ResultMessage:
    async with ClaudeSDKClient(options) as client:
        await client.query(prompt)
        async for message in client.receive_response():
            if isinstance(message, ResultMessage):
                return message
    raise AssertionError("no result")


def _results_since(prompt: str | None, request: Request) -> int:
    """Tool results that came after the last time the prompt was given; all of them without one."""
    count = 0
    for message in request.messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if prompt and message.get("role") == "user" and any(b.get("text") == prompt for b in blocks):
            count = 0
        count += sum(1 for b in blocks if b.get("type") == "tool_result")
    return count


def _results(requests: list[Request], *, sub: bool) -> list[str]:
    mine = [r for r in requests if bool(r.agent_id) == sub]
    out: list[str] = []
    if not mine:
        return out
    for message in mine[-1].messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                inner = block.get("content")
                out.append(
                    inner if isinstance(inner, str) else "".join(b.get("text", "") for b in inner or [])
                )
    return out


@pytest.fixture(params=[False, True], ids=["plain", "workbench"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return Stage(tmp_path, workbench=request.param)


MAKE_SPECS: dict[str, Callable[[], AgentSpec]] = {
    "clarifier": roles.clarify,
    "judge": roles.judge,
    "judge that may run": lambda: roles.judge(can_run=True),
    "oracle": roles.oracle,
    "coordinator": roles.coordinator,
}


@pytest.mark.parametrize("role", MAKE_SPECS)
def test_a_role_that_makes_nothing_cannot_write(role: str, stage: Stage) -> None:
    # The whole tool set is offered to the CLI by a subagent, so that only hooks stand in the way.
    spec = MAKE_SPECS[role]()
    spec.agents = spec.agents or {"worker": roles.worker()}
    hand = stage.workspace / "made.txt"
    calls = [
        use("Write", file_path=str(hand), content="x"),
        use("Read", file_path=str(stage.workspace / "data.json")),
        use("Edit", file_path=str(stage.workspace / "data.json"), old_string="public", new_string="spoilt"),
    ]
    if role != "judge that may run":
        calls.append(use("Bash", command=f"touch {hand}"))
    seen = stage.play(spec, *calls)
    assert seen.final is not None and seen.final.result == "FINISHED"
    assert not hand.exists()
    assert (stage.workspace / "data.json").read_text() == "public data\n"
    assert "public data" in seen.results[1]
    assert all("hook error" in seen.results[n] for n in range(len(calls)) if n != 1), seen.results


def test_a_worker_works_and_keeps_to_its_tools(stage: Stage) -> None:
    made = stage.workspace / "made.txt"
    seen = stage.play(
        roles.coordinator(),
        use("Agent", description="d", prompt="write it", subagent_type="worker"),
        use("Bash", command="ls"),
        sub=(
            use("Write", file_path=str(made), content="made\n"),
            use("Bash", command="cat made.txt && echo more >> made.txt"),
            use("Agent", description="d", prompt="deeper", subagent_type="worker"),
            use("mcp__human__ask", question="may I?"),
        ),
    )
    assert made.read_text() == "made\nmore\n", seen.sub_results
    assert "SUB-REPORT" in seen.results[0]
    assert "made.txt" in seen.results[1], "a glance is the coordinator's own"
    assert "No such tool" in seen.sub_results[2] or "not among this agent's tools" in seen.sub_results[2]
    assert len([r for r in seen.requests if r.agent_id]) == 5, "a subagent called a subagent"


@pytest.mark.parametrize("kind", ["general-purpose", "Explore", "claude"])
def test_builtin_agent_types_are_refused(kind: str, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    seen = stage.play(roles.coordinator(), use("Agent", description="d", prompt="p", subagent_type=kind))
    assert "no agent type" in seen.results[0]
    assert not [r for r in seen.requests if r.agent_id]


def test_a_hook_that_raises_stops_the_tool(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def broken(_data: Any, _id: Any, _context: Any) -> Any:
        raise RuntimeError("the guard itself fell over")

    spec = AgentSpec("hands", allowed_tools=["Write"], hooks={"PreToolUse": [HookMatcher(hooks=[broken])]})
    stage.play(spec, use("Write", file_path=str(stage.workspace / "made.txt"), content="x"))
    assert not (stage.workspace / "made.txt").exists()


def test_our_own_hook_that_raises_stops_the_tool(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    spec = AgentSpec("hands", allowed_tools=["Write"])
    # Broken from outside: a whitelist that cannot be searched raises in the middle of the hook.
    spec.disallowed_tools = Unsearchable()
    stage.play(spec, use("Write", file_path=str(stage.workspace / "made.txt"), content="x"))
    assert not (stage.workspace / "made.txt").exists()


class Unsearchable(list[str]):
    def __contains__(self, item: object) -> bool:
        if item == "Write" and self.armed():
            raise RuntimeError("broken list")
        return False

    def armed(self) -> bool:
        # tools_of asks too, while the options are built; only the hook's question comes from a running loop.
        try:
            return asyncio.get_running_loop() is not None and bool(asyncio.current_task())
        except RuntimeError:
            return False


def test_the_books_cannot_be_read_or_written(stage: Stage) -> None:
    link = stage.workspace / "innocent.json"
    link.symlink_to(stage.run_dir / "manifest.json")
    spec = AgentSpec("hands", allowed_tools=["Read", "Glob", "Grep", "Write", "Bash"])
    seen = stage.play(
        spec,
        use("Read", file_path=str(stage.run_dir / "manifest.json")),
        use("Read", file_path=str(link)),
        use("Grep", pattern=".", path="runs", output_mode="content"),
        use("Grep", pattern=SECRET, output_mode="content"),
        use("Grep", pattern=SECRET, glob="*.json", output_mode="content"),
        use(
            "Grep", pattern="public|books", glob="**/*.{json,md}", path=str(stage.base), output_mode="content"
        ),
        use("Glob", pattern="**/*.json"),
        use("Glob", pattern="runs/*"),
        use("Write", file_path=str(stage.run_dir / "lineage.json"), content="x"),
        use("Bash", command="cat runs/manifest.json; rm -rf runs"),
        use("Bash", command=f"python3 -c 'print(open(\"{stage.run_dir}/manifest.json\").read())'"),
    )
    assert SECRET not in "".join(seen.results[i] for i in (0, 1, 2, 3, 4, 5, 9)), seen.results
    assert "public data" in seen.results[5], "the search itself went on"
    assert "data.json" in seen.results[6] and "manifest.json" not in seen.results[6]
    assert not (stage.run_dir / "lineage.json").exists()
    assert (stage.run_dir / "manifest.json").read_text() == SECRET


def test_a_workbench_inside_the_books_is_reachable(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.access.workbench = Workbench(stage.run_dir / "workbench", workspace=stage.workspace).create()
    note = stage.run_dir / "workbench" / "notes" / "n.md"
    seen = stage.play(
        AgentSpec("hands", allowed_tools=["Read", "Write"]),
        use("Write", file_path=str(note), content="# A decision\n"),
        use("Read", file_path=str(note)),
    )
    assert "A decision" in seen.results[1]
    assert "A decision" in stage.access.workbench.index.read_text(), "a write refreshes the index"


def test_large_results_are_spilled_and_their_file_can_be_read(stage: Stage) -> None:
    reader = AgentSpec("reader", allowed_tools=["Read", "Bash", "Grep"])
    big = "\n".join(f"line {n}" for n in range(1500))
    (stage.workspace / "big.txt").write_text(big)
    seen = stage.play(
        reader,
        use("Bash", command="cat big.txt"),
        use("Read", file_path="big.txt"),
        use("Grep", pattern="line", path="big.txt", output_mode="content", head_limit=0),
        use("Bash", command="echo short"),
    )
    spilled = sorted((stage.workspace / ".flower" / "spill").glob("*.txt"))
    assert any(p.read_text() == big for p in spilled), "the whole text is on the disk"
    for result in seen.results[:3]:
        assert ".flower/spill/" in result and "line 0" in result and "line 1400" not in result
        assert len(result) < 1000
    assert seen.results[3] == "short"
    path = next(p for p in spilled if p.read_text() == big)
    again = stage.play(reader, use("Read", file_path=str(path), allow_large=True))
    assert "line 1400" in again.results[0]


def test_a_subagents_long_report_is_spilled(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    call = use("Agent", description="d", prompt="p", subagent_type="worker")
    seen = stage.play(roles.coordinator(), call, report="DONE. " + "y" * 6000)
    assert "DONE." in seen.results[0] and "y" * 1000 not in seen.results[0]
    assert [p.read_text() for p in stage.access.spill_dir.glob("*.txt")] == ["DONE. " + "y" * 6000]


PROTECTED = [".npmrc", ".husky/pre-commit", ".vscode/tasks.json"]


def test_without_a_person_protected_edits_inside_are_allowed_and_recorded(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    subprocess.run(["git", "init", "-q", str(stage.workspace)], check=True)
    outside = tmp_path / "outside.txt"
    (stage.workspace / "way-out").symlink_to(tmp_path)
    git_config = (stage.workspace / ".git" / "config").read_text()
    writes = [use("Write", file_path=str(stage.workspace / p), content="x\n") for p in PROTECTED]
    seen = stage.play(
        roles.coordinator(),
        use("Agent", description="d", prompt="p", subagent_type="worker"),
        sub=(
            *writes,
            use("Write", file_path=str(stage.workspace / ".git" / "hooks" / "pre-commit"), content="x"),
            use("Write", file_path=str(outside), content="x"),
            use("Write", file_path=str(stage.workspace / "way-out" / "outside.txt"), content="x"),
            use("Bash", command="rm -rf *"),
        ),
    )
    assert [(stage.workspace / p).read_text() for p in PROTECTED] == ["x\n"] * 3, seen.sub_results
    assert len(stage.recorded) == 3 and ".npmrc" in stage.recorded[0]
    assert not (stage.workspace / ".git" / "hooks" / "pre-commit").exists()
    assert (stage.workspace / ".git" / "config").read_text() == git_config
    assert not outside.exists()
    assert (stage.workspace / "data.json").exists(), "nothing was swept away"
    assert ".git" in seen.sub_results[3] and "outside of the workspace" in seen.sub_results[4]


@pytest.mark.parametrize(
    ("answer", "written"), [("allow", True), ("refuse", False), ("not that file", False)]
)
def test_with_a_person_the_person_decides(answer: str, written: bool, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    asked: list[str] = []

    async def ask(question: str, options: list[str]) -> str:
        asked.append(question)
        assert options == ["allow", "refuse"]
        return answer

    stage.access.ask_person = ask
    path = stage.workspace / ".npmrc"
    seen = stage.play(
        roles.coordinator(),
        use("Agent", description="d", prompt="p", subagent_type="worker"),
        sub=(use("Write", file_path=str(path), content="x"),),
    )
    assert path.exists() is written, seen.sub_results
    assert len(asked) == 1 and ".npmrc" in asked[0]
    assert stage.recorded == []


def test_isolated_workers_get_worktrees_and_share_the_workbench(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    git = ["git", "-C", str(stage.workspace), "-c", "user.name=n", "-c", "user.email=e@x"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "data.json"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    stage.access.isolate = True
    bench = Workbench(isolated_root(stage.workspace), workspace=stage.workspace).create()
    stage.access.workbench = bench
    seen = stage.play(
        roles.coordinator(),
        use("Agent", description="d", prompt="p", subagent_type="worker"),
        sub=(
            use("Bash", command="pwd; echo changed > data.json"),
            use("Write", file_path=str(bench.notes / "n.md"), content="# Shared\n"),
        ),
    )
    assert (stage.workspace / "data.json").read_text() == "public data\n", seen.sub_results
    assert (bench.notes / "n.md").read_text() == "# Shared\n", seen.sub_results
    assert str(bench.root) in seen.requests[0].system_text


def test_changes_on_the_workbench_reach_the_next_prompt(tmp_path: Path) -> None:
    stage = Stage(tmp_path, workbench=True)
    bench = stage.access.workbench
    assert bench is not None
    (bench.notes / "old.md").write_text("# Known at the start\n")
    session = str(uuid.uuid4())
    spec = AgentSpec("x")
    first = stage.play(spec, session=SessionArgs(new_id=session))
    (bench.notes / "new.md").write_text("# Found out later\n")
    second = stage.play(spec, session=SessionArgs(resume=session), prompt="again")
    third = stage.play(spec, session=SessionArgs(resume=session), prompt="and again")
    assert "Changes on the workbench" not in str(first.requests[-1].body)
    told = str(second.requests[-1].messages)
    assert "Found out later" in told and "Known at the start" not in told
    assert str(third.requests[-1].messages).count("Found out later") == 1, "told once"
    assert first.requests[-1].system_text == third.requests[-1].system_text


def test_recording_goes_on_whatever_the_shell_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from claude_agent_sdk import InMemorySessionStore

    monkeypatch.setenv("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1")
    store = InMemorySessionStore()
    stage = Stage(tmp_path)
    session = str(uuid.uuid4())
    stage.play(AgentSpec("x"), session=SessionArgs(new_id=session), store=store)
    keys = [key for key in store._store if session in str(key)]
    assert keys, "the transcript was not mirrored"


def test_asking_the_person_and_words_said_meanwhile(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    channel = HumanChannel(log_path=tmp_path / "log.md")

    def person(question: Question) -> None:
        channel.say("also in blue")
        channel.answer(question.id, "2")

    channel.on_question = person
    stage.access.channel = channel
    seen = stage.play(
        roles.clarify(),
        use("mcp__human__ask", question="Which colour?", options=["red", "green"]),
        use("mcp__human__ask", question="Which  colour?"),
        use("mcp__human__inbox"),
    )
    assert seen.results[0] == "The person answered: green"
    assert seen.results[1] == "The person answered this before: green"
    assert str(seen.requests[1].messages).count("also in blue") == 1, "told at the next checkpoint"
    assert seen.results[2] == "Nothing new from the person."
    assert HumanChannel(log_path=tmp_path / "log.md").answered("Which colour?") == "green"


def test_words_said_meanwhile_reach_the_model_after_a_failed_call_too(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.access.channel = channel = HumanChannel()
    channel.say("also in blue")
    seen = stage.play(roles.coordinator(), use("Bash", command="ls missing-file"))
    assert "also in blue" in str(seen.requests[1].messages)


def test_a_prompt_is_text_and_nothing_else(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    seen = stage.play(AgentSpec("x"), prompt="/help me with @runs/manifest.json")
    assert seen.requests[0].last_user_text.endswith("/help me with @runs/manifest.json")
    assert SECRET not in str(seen.requests[0].body)


def test_the_model_is_told_of_its_own_agents_only(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    seen = stage.play(roles.coordinator())
    told = str(seen.requests[0].body)
    assert "- worker: Does one piece" in told
    assert "- general-purpose:" not in told and "- Explore:" not in told


def test_bypassing_permissions_works_for_root_and_past_safety_checks(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    spec = AgentSpec("x", allowed_tools=["Write"], permission_mode="bypassPermissions")
    outside = tmp_path / "outside.txt"
    stage.play(
        spec,
        use("Write", file_path=str(stage.workspace / ".npmrc"), content="x"),
        use("Write", file_path=str(outside), content="x"),
        use("Write", file_path=str(stage.run_dir / "manifest.json"), content="x"),
    )
    assert (stage.workspace / ".npmrc").exists() and outside.exists()
    assert (stage.run_dir / "manifest.json").read_text() == SECRET


def test_the_system_prompt_stays_while_repository_and_workbench_change(tmp_path: Path) -> None:
    stage = Stage(tmp_path, workbench=True)
    git = ["git", "-C", str(stage.workspace), "-c", "user.name=n", "-c", "user.email=e@x"]
    subprocess.run([*git, "init", "-q"], check=True)
    session = str(uuid.uuid4())
    first = stage.play(roles.coordinator(), session=SessionArgs(new_id=session))
    subprocess.run([*git, "add", "data.json"], check=True)
    subprocess.run([*git, "commit", "-qm", "later"], check=True)
    again = stage.play(roles.coordinator(), session=SessionArgs(resume=session), prompt="on")
    one, two = first.requests[-1].body, again.requests[-1].body
    assert one["system"] == two["system"] and one["tools"] == two["tools"]
