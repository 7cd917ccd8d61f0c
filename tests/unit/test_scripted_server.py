"""The endpoint over plain HTTP: choosing, refusing, recording, delaying, dropping, stopping."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from flower.testing import (
    HttpError,
    Reply,
    Request,
    Rule,
    ScriptedEndpoint,
    Text,
    Thinking,
    ToolUse,
    read_record,
)

Json = Any


def send(
    endpoint: ScriptedEndpoint, body: Json, path: str = "/v1/messages?beta=true", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=20)
    try:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, raw, {k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
    finally:
        connection.close()


def ask(text: str, **more: Json) -> Json:
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}], **more}


def said(answer: tuple[int, dict[str, str], bytes]) -> str:
    return "".join(b["text"] for b in json.loads(answer[2])["content"] if b["type"] == "text")


def test_the_first_rule_that_matches_answers() -> None:
    script = [
        Rule("one shot", "once", times=1),
        Rule(re.compile("^one"), "by pattern"),
        Rule(lambda r: r.model == "other", lambda r: f"to {r.model}"),
        Rule("mine", "session", session="s-1"),
        Rule("mine", "that agent", agent="a-1"),
        Rule("mine", "some agent", agent=True),
        Rule("mine", "nobody's", agent=False),
    ]
    with ScriptedEndpoint(script, default=Reply("otherwise")) as endpoint:
        texts = [
            said(send(endpoint, ask("a one shot"))),
            said(send(endpoint, ask("a one shot"))),
            said(send(endpoint, ask("one more"))),
            said(send(endpoint, ask("x", model="other"))),
            said(send(endpoint, ask("mine"), x_claude_code_session_id="s-1")),
            said(send(endpoint, ask("mine"), x_claude_code_agent_id="a-1")),
            said(send(endpoint, ask("mine"), x_claude_code_agent_id="a-2")),
            said(send(endpoint, ask("mine"))),
        ]
        endpoint.check()
    assert texts == [
        "once", "otherwise", "by pattern", "to other", "session", "that agent", "some agent", "nobody's",
    ]  # fmt: skip


def test_a_one_shot_rule_answers_once_under_many_threads() -> None:
    with ScriptedEndpoint([Rule("x", "first", times=5)], default="rest") as endpoint:
        answers: list[str] = []
        threads = [
            threading.Thread(target=lambda: answers.append(said(send(endpoint, ask("x"))))) for _ in range(24)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(answers) == ["first"] * 5 + ["rest"] * 19
    assert [r.n for r in endpoint.requests] == list(range(1, 25))


def test_a_bad_request_is_refused_as_the_api_does_and_the_script_never_sees_it() -> None:
    seen: list[Request] = []

    def script(request: Request) -> str:
        seen.append(request)
        return "x"

    bad = ask("x")
    bad["messages"].append({"role": "assistant", "content": [{"type": "text", "text": ""}]})
    with ScriptedEndpoint(script) as endpoint:
        status, _, raw = send(endpoint, bad)
        with pytest.raises(AssertionError, match="must be non-empty"):
            endpoint.check()
    assert status == 400
    assert json.loads(raw) == {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "messages: text content blocks must be non-empty",
        },
    }
    assert not seen
    with ScriptedEndpoint(script, strict=False) as endpoint:
        assert send(endpoint, bad)[0] == 200
    assert [p.code for p in endpoint.problems] == ["empty_text", "prefill"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff"])
def test_a_body_that_is_no_json_object_is_refused(raw: bytes) -> None:
    with ScriptedEndpoint(lambda r: "x") as endpoint:
        assert send(endpoint, raw)[0] == 400
    assert endpoint.problems[0].code == "json"


@pytest.mark.parametrize("messages", [3, [], ["x"], [{"role": "user", "content": [None]}], {}])
def test_messages_of_any_shape_get_an_answer(messages: Json) -> None:
    with ScriptedEndpoint(lambda r: "x") as endpoint:
        assert send(endpoint, {"model": "m", "max_tokens": 1, "messages": messages})[0] == 400


def test_thinking_the_endpoint_made_must_come_back() -> None:
    reply = Reply("I run it", blocks=[Thinking("hm"), ToolUse("Bash", {"command": "ls"}, id="toolu_1")])
    with ScriptedEndpoint([Rule(after="Bash", reply="done"), Rule("go", reply)]) as endpoint:
        content = json.loads(send(endpoint, ask("go"))[2])["content"]
        assert [b["type"] for b in content] == ["thinking", "text", "tool_use"]
        body = ask("go")
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}
        body["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
        assert said(send(endpoint, body)) == "done"
        del content[0]
        status, _, raw = send(endpoint, body)
    assert status == 400 and b"Expected `thinking` or `redacted_thinking`, but found `text`" in raw


def test_errors_carry_their_type_and_headers() -> None:
    busy = Reply(error=HttpError(529, message="Overloaded", headers={"retry-after": "7"}))
    with ScriptedEndpoint([Rule("x", busy)]) as endpoint:
        status, headers, raw = send(endpoint, ask("x"))
        assert endpoint.requests[0].status == 529
        endpoint.check()
    assert (status, headers["retry-after"]) == (529, "7")
    assert json.loads(raw)["error"] == {"type": "overloaded_error", "message": "Overloaded"}


def test_a_script_that_raises_is_answered_and_reported() -> None:
    def script(request: Request) -> str:
        raise KeyError("my mistake")

    with ScriptedEndpoint(script) as endpoint:
        status, _, raw = send(endpoint, ask("x"))
        with pytest.raises(AssertionError, match="my mistake"):
            endpoint.check()
    assert status == 500 and b"my mistake" in raw


def test_the_usage_a_script_gives_is_the_size_a_window_limits() -> None:
    script = [
        Rule("big", Reply("x", usage={"input_tokens": 10, "cache_read_input_tokens": 190})),
        Rule("x", "y"),
    ]
    with ScriptedEndpoint(script, window=199) as endpoint:
        status, _, raw = send(endpoint, ask("big"))
        assert status == 400 and b"prompt is too long: 200 tokens > 199 maximum" in raw
        assert send(endpoint, ask("x"))[0] == 200
        assert b"prompt is too long" in send(endpoint, ask("x" * 1000))[2]


def stream(endpoint: ScriptedEndpoint, text: str) -> list[Json]:
    raw = send(endpoint, ask(text, stream=True))[2].decode()
    return [json.loads(line[6:]) for line in raw.split("\n") if line.startswith("data: ")]


def test_a_stream_says_the_same_as_the_message() -> None:
    tool = ToolUse("Write", {"text": "ü\n" * 99})
    reply = Reply(blocks=[Thinking("deep " * 30), Text("long " * 30), tool], usage={"output_tokens": 42})
    with ScriptedEndpoint([Rule("x", reply)]) as endpoint:
        events = stream(endpoint, "x")
        message = endpoint.requests[0].reply
    assert message is not None
    kinds = [e["type"] for e in events]
    assert (kinds[0], kinds[-2:]) == ("message_start", ["message_delta", "message_stop"])
    assert events[-2]["delta"]["stop_reason"] == "tool_use" and events[-2]["usage"]["output_tokens"] == 42

    def joined(field: str) -> str:
        return "".join(e["delta"].get(field, "") for e in events if e["type"] == "content_block_delta")

    assert joined("thinking") == "deep " * 30
    assert joined("text") == "long " * 30
    assert joined("signature") == message["content"][0]["signature"]
    assert json.loads(joined("partial_json")) == tool.input


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_stream_is_cut_after_so_many_events(after: int) -> None:
    with ScriptedEndpoint([Rule("x", Reply("long " * 99, drop_after=after))]) as endpoint:
        connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=20)
        connection.request("POST", "/v1/messages", json.dumps(ask("x", stream=True)).encode())
        with pytest.raises(http.client.IncompleteRead) as cut:
            connection.getresponse().read()
        connection.close()
        with pytest.raises((http.client.BadStatusLine, ConnectionResetError)):
            send(endpoint, ask("x"))
    assert cut.value.partial.count(b"event: ") == after
    assert [r.outcome for r in endpoint.requests] == ["dropped", "dropped"]


def test_tokens_are_counted_and_a_look_at_the_server_is_answered() -> None:
    with ScriptedEndpoint() as endpoint:
        raw = send(endpoint, ask("x" * 400), "/v1/messages/count_tokens?beta=true")[2]
        assert 100 <= json.loads(raw)["input_tokens"] < 130
        for method in ("HEAD", "GET"):
            connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=20)
            connection.request(method, "/")
            assert connection.getresponse().status == 200
            connection.close()
        assert send(endpoint, ask("x"), "/v1/complete")[0] == 404
    assert not endpoint.requests
    assert [r.method for r in endpoint.everything] == ["POST", "HEAD", "GET", "POST"]


def test_one_connection_serves_many_requests() -> None:
    with ScriptedEndpoint(lambda r: "x") as endpoint:
        connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=20)
        for streamed in (True, False, True):
            connection.request("POST", "/v1/messages", json.dumps(ask("x", stream=streamed)).encode())
            assert b"x" in connection.getresponse().read()
        connection.close()
        assert len(endpoint.requests) == 3


def test_a_stopped_endpoint_cuts_what_is_open_and_comes_back_on_its_port() -> None:
    with ScriptedEndpoint([Rule("slow", Reply("x", delay=600), times=1)], default="fast") as endpoint:
        port, failures = endpoint.port, []

        def wait() -> None:
            try:
                send(endpoint, ask("slow"))
            except (OSError, http.client.HTTPException) as error:
                failures.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        while not endpoint.requests:
            time.sleep(0.01)
        endpoint.stop()
        waiting.join(20)
        assert failures and not waiting.is_alive()
        with pytest.raises(ConnectionRefusedError):
            send(endpoint, ask("x"))
        endpoint.start()
        assert endpoint.port == port
        assert said(send(endpoint, ask("x"))) == "fast"


def test_a_client_that_leaves_is_noted_and_harms_nobody() -> None:
    slow = Reply("word " * 4000, chunk_delay=0.01)
    with ScriptedEndpoint([Rule("slow", slow)], default="fast") as endpoint:
        connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=20)
        connection.request("POST", "/v1/messages", json.dumps(ask("slow", stream=True)).encode())
        response = connection.getresponse()
        response.read(10)
        response.close()
        connection.close()
        assert said(send(endpoint, ask("x"))) == "fast"
        while not endpoint.requests[0].outcome:
            time.sleep(0.01)
        assert endpoint.requests[0].outcome == "gone"


def test_the_environment_leads_here() -> None:
    with ScriptedEndpoint() as endpoint:
        env = endpoint.env()
    assert env["ANTHROPIC_BASE_URL"] == endpoint.url == f"http://127.0.0.1:{endpoint.port}"
    assert env["ANTHROPIC_API_KEY"].startswith("sk-test-")


def test_another_process_reads_the_record(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    assert read_record(file) == []
    with ScriptedEndpoint(lambda r: "x", record=file) as endpoint:
        send(endpoint, ask("one\u2028two", stream=True), x_claude_code_session_id="s")
        send(endpoint, ask(""))
        rows = read_record(file)
    assert [r.n for r in rows] == [1, 2]
    assert rows[0].session_id == "s" and rows[0].request.last_user_text == "one\u2028two"
    assert rows[1].problems == endpoint.problems and rows[1].status == 400


SCRIPT = "def script(request):\n    return 'I am ' + request.model\n"


def test_as_a_process_it_serves_and_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "flower.scripted", "--script", f"{tmp_path}/s.py:script"]
    starter = (
        "import subprocess, sys, threading\n"
        f"t = threading.Thread(target=lambda: print(subprocess.Popen({command!r}).pid, flush=True))\n"
        "t.start(); t.join(); sys.stdin.read()\n"
    )
    root = str(Path(__file__).parents[2])
    parent = subprocess.Popen(
        [sys.executable, "-c", starter],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    assert parent.stdout is not None and parent.stdin is not None
    first, second = parent.stdout.readline().strip(), parent.stdout.readline().strip()
    url, pid = (first, second) if first.startswith("http") else (second, first)
    endpoint = ScriptedEndpoint(port=int(url.rpartition(":")[2]))
    # The thread that started it is gone by now; that must not end it.
    assert said(send(endpoint, ask("x", model="m-1"))) == "I am m-1"
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    parent.stdin.close()
    deadline = time.monotonic() + 20
    while _alive(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(int(pid))


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_importing_it_does_not_import_the_sdk() -> None:
    code = (
        "import sys, flower.testing; sys.exit('claude_agent_sdk' in sys.modules or 'asyncio' in sys.modules)"
    )
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": root}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
