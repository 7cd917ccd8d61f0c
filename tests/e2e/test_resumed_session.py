"""What a resumed session is fed, as it arrives at the endpoint, and what of it the agent can read again."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from flower import AgentSpec, Event, Runtime
from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse

CALLS = 45
POINTER = re.compile(r"\.flower/spill/[0-9a-f]{16}\.txt")


def command(n: int) -> str:
    return f"python3 build.py {n}"


def script(request: Request) -> Reply | str:
    """First run: large results one after another. Second run: read the file that the first pointer names."""
    if "and now" in request.all_text:
        return "nothing more"
    if "read it again" in request.all_text:
        if found := request.last_tool_results.by_name.get("Read"):
            return "read: " + found[0]
        pointer = next(m[0] for call in request.calls if (m := POINTER.search(call.result or "")))
        return Reply(blocks=[ToolUse("Read", {"file_path": os.path.join(os.environ["WS"], pointer)})])
    if (n := len(request.calls)) == CALLS:
        return "built"
    return Reply(blocks=[ToolUse("Bash", {"command": command(n), "description": "build"})])


def test_old_large_results_are_pointers_that_the_agent_can_follow(tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    ws.mkdir()
    (ws / "build.py").write_text(
        "import sys\nfor i in range(240): print('step', i, 'of build', sys.argv[1])\n"
    )
    spec = AgentSpec("x", allowed_tools=["Bash", "Read"])
    notices: list[Event] = []
    with ScriptedEndpoint(script) as endpoint:
        os.environ.update(endpoint.env(), WS=str(ws))

        def run(prompt: str, resume: str | None, trim: bool) -> str:
            with Runtime(workspace=ws, run_dir=tmp_path / "runs", trim=trim, spill_threshold=0) as rt:
                row = asyncio.run(rt.run(spec, prompt, step_name="s", resume=resume, on_event=notices.append))
                assert row.ok, row
                return row.session_id + "\n" + row.text

        session = run("build", None, True).splitlines()[0]
        whole = [call.result for call in endpoint.requests[-1].request.calls]
        notices.clear()
        text = run("read it again", session, True)
        fed = [call.result or "" for call in endpoint.requests[CALLS + 1].request.calls]
        pointers = [POINTER.search(result) for result in fed]
        # The last twenty stay, and the boundary moves in blocks of twenty.
        assert [bool(p) for p in pointers] == [n < 20 for n in range(CALLS)]
        assert fed[20:] == whole[20:]
        for n, found in enumerate(pointers[:20]):
            assert found is not None
            assert (ws / found[0]).read_text() == whole[n]
        assert "step 0 of build 0" in text and "step 239 of build 0" in text
        assert any("20 large results" in e.text for e in notices if e.kind == "notice")
        # What is in the books has not changed: without trimming all of it comes back.
        run("and now", session, False)
        later = [call.result for call in endpoint.requests[-1].request.calls if call.name == "Bash"]
        assert later == whole
        endpoint.check()
