"""A stand-in for the CLI that lives through a very long session at once: run by itself, never imported.

It speaks the CLI's protocol on stdin and stdout: each turn is an assistant's tool call, the hook after it, its result
and the transcript entries of both, as the real one writes them. FLOWER_BENCH_TURNS says how many.
"""

import json
import os
import sys
import uuid

TURNS = int(os.environ.get("FLOWER_BENCH_TURNS", "1000"))
OUTPUT = "line of output\n" * 20
USAGE = {
    "input_tokens": 10,
    "cache_read_input_tokens": 50_000,
    "cache_creation_input_tokens": 100,
    "output_tokens": 40,
}


def send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, object]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def option(name: str) -> str:
    return next((word.partition("=")[2] for word in sys.argv if word.startswith(f"{name}=")), "")


class Session:
    def __init__(self) -> None:
        self.id = option("--session-id") or option("--resume")
        key = "".join(c if c.isalnum() else "-" for c in os.path.realpath(os.getcwd()))
        self.file = os.path.join(os.environ["CLAUDE_CONFIG_DIR"], "projects", key, f"{self.id}.jsonl")
        self.parent: str | None = None
        self.hook = ""

    def begin(self) -> None:
        """Answer requests of the SDK until there is a prompt."""
        while (message := receive())["type"] != "user":
            request = message["request"]
            if request["subtype"] == "initialize":
                hooks = (request.get("hooks") or {}).get("PostToolBatch") or []
                self.hook = hooks[-1]["hookCallbackIds"][0] if hooks else ""
            promise = {"hook_on_failure_supported": True, "hooks_applied": True}
            answer = {"subtype": "success", "request_id": message["request_id"], "response": promise}
            send({"type": "control_response", "response": answer})
        send({"type": "system", "subtype": "init", "session_id": self.id, "cwd": os.getcwd(), "tools": []})
        self.entry("user", {"role": "user", "content": message["message"]["content"]})

    def entry(self, kind: str, message: dict[str, object]) -> str:
        new = str(uuid.uuid4())
        entry = {
            "type": kind,
            "uuid": new,
            "parentUuid": self.parent,
            "sessionId": self.id,
            "message": message,
        }
        self.parent = new
        send({"type": "transcript_mirror", "filePath": self.file, "entries": [entry]})
        return new

    def turn(self, number: int) -> None:
        call = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "Bash",
            "input": {"command": f"step {number}"},
        }
        self.answer(number, [{"type": "text", "text": f"Now step {number}."}, call])
        if self.hook:
            self.call_hook(number)
        result = [{"type": "tool_result", "tool_use_id": call["id"], "content": OUTPUT, "is_error": False}]
        body = {"role": "user", "content": result}
        new = self.entry("user", body)
        send(
            {"type": "user", "message": body, "uuid": new, "session_id": self.id, "parent_tool_use_id": None}
        )

    def answer(self, number: int, content: list[dict[str, object]]) -> None:
        body = {"id": f"msg_{number}", "role": "assistant", "model": "claude-opus-5-5", "content": content}
        body["usage"] = USAGE
        new = self.entry("assistant", body)
        send(
            {
                "type": "assistant",
                "message": body,
                "uuid": new,
                "session_id": self.id,
                "parent_tool_use_id": None,
            }
        )

    def call_hook(self, number: int) -> None:
        data = {"hook_event_name": "PostToolBatch", "session_id": self.id, "tool_calls": []}
        request = {"subtype": "hook_callback", "callback_id": self.hook, "input": data, "tool_use_id": None}
        send({"type": "control_request", "request_id": f"r{number}", "request": request})
        while receive().get("type") != "control_response":
            pass

    def end(self) -> None:
        self.answer(TURNS, [{"type": "text", "text": "done"}])
        send({
            "type": "result", "subtype": "success", "is_error": False, "duration_ms": 1, "duration_api_ms": 1,
            "num_turns": TURNS, "session_id": self.id, "total_cost_usd": 1.0, "result": "done", "usage": USAGE,
        })  # fmt: skip
        while True:  # until stdin is closed
            message = receive()
            if message["type"] == "control_request":
                answer = {"subtype": "success", "request_id": message["request_id"], "response": {}}
                send({"type": "control_response", "response": answer})


if "-v" in sys.argv or "--version" in sys.argv:
    print("2.1.332 (Claude Code)")
else:
    session = Session()
    session.begin()
    for turn in range(TURNS):
        session.turn(turn)
    session.end()
