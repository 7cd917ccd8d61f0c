"""What the rewriting does to a transcript, and what it must never do."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from flower.transcript.chain import check_chain
from flower.transcript.expire import EphemeralPolicy, boundary
from flower.transcript.messages import wire_messages
from flower.transcript.prune import INTERRUPTED, ORPHANED, PrunePolicy
from flower.transcript.rewrite import Rules, rewrite_entries
from flower.transcript.trim import TrimPolicy
from flower.transcript.wire import check_messages
from tests.data.build import SESSION, Entry, Transcript

LARGE = "x" * 3000


def fed(t: Transcript, rules: Rules | None = None, thread: str | None = None, **spill: Any) -> list[Entry]:
    """What is fed back, checked for what must always hold."""
    before = copy.deepcopy(t.entries)
    entries, _ = rewrite_entries(t.entries, rules, SESSION, **spill)
    assert t.entries == before, "the given entries are not to be touched"
    assert check_chain(entries) == []
    assert check_messages(wire_messages(entries, thread=thread)) == []
    again, report = rewrite_entries(entries, rules, SESSION, **spill)
    assert again == entries, "rewriting twice must change nothing more"
    assert report.chars_before == 0 or report.denials
    return entries


def text_of(entries: list[Entry]) -> str:
    return json.dumps(wire_messages(entries), ensure_ascii=False)


class Shelf:
    """A spill in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def __call__(self, data: bytes, suffix: str) -> str:
        name = f"spill/{len(self.kept)}{suffix}" if data not in self.kept.values() else ""
        if not name:
            return next(n for n, d in self.kept.items() if d == data)
        self.kept[name] = data
        return name


def test_what_needs_nothing_is_the_very_same() -> None:
    t = Transcript()
    t.user("hello")
    t.run("make", "built")
    t.say("done")
    assert all(a is b for a, b in zip(fed(t), t.entries, strict=True))


def test_old_looks_expire_in_blocks_and_the_last_ones_stay() -> None:
    t = Transcript()
    t.user("go")
    for n in range(18):
        t.run("git status", f"clean {n}")
    t.run("rm x", "removed")
    entries = fed(t)
    bodies = [b["content"] for e in entries if e["type"] == "user" for b in blocks(e)]
    assert [b.startswith("[The result of `git status` has expired") for b in bodies[:-1]] == [True] * 12 + [
        False
    ] * 6
    assert bodies[-1] == "removed"
    assert "toolUseResult" not in entries[2]


def test_what_was_replaced_stays_replaced_with_the_same_bytes() -> None:
    t = Transcript()
    t.user("go")
    shelf = Shelf()
    seen: list[str] = []
    shared = 0
    for n in range(60):
        t.run(f"ls {n}", f"names {n}")
        t.run("make", f"{n} {LARGE}")
        wire = [json.dumps(m) for m in wire_messages(rewrite_entries(t.entries, None, SESSION, shelf)[0])]
        for old, new in zip(seen, wire, strict=False):
            if "has expired" in old or "moved to" in old:
                assert old == new
        shared += wire[: len(seen)] == seen
        seen = wire
    assert shared >= 50, "most loads must begin with all that the load before them sent"


def test_the_boundary_moves_in_blocks_and_keeps_enough() -> None:
    counts = [boundary(n, 20, 20) for n in range(200)]
    assert all(count % 20 == 0 and n - count >= min(n, 20) for n, count in enumerate(counts))
    assert counts == sorted(counts) and counts[-1] == 160


def test_a_long_look_is_left_to_the_trimming() -> None:
    t = Transcript()
    t.user("go")
    for _ in range(12):
        t.run("cat big.txt", LARGE)
    assert "has expired" not in text_of(fed(t, spill=Shelf()))


@pytest.mark.parametrize("command", ["make test", "git commit -m x", "ls > out"])
def test_results_of_work_never_expire(command: str) -> None:
    t = Transcript()
    t.user("go")
    for _ in range(30):
        t.run(command, "short")
    assert "expired" not in text_of(fed(t))


def test_reads_never_expire() -> None:
    t = Transcript()
    t.user("go")
    for _ in range(30):
        t.run("a.py", "short", tool="Read")
    assert "expired" not in text_of(fed(t))


def test_old_large_results_move_and_the_moved_text_is_what_stood_there() -> None:
    t = Transcript()
    t.user("go")
    for n in range(40):
        t.run("make", f"{n}\u00e9 {LARGE}")
    shelf = Shelf()
    wire = text_of(fed(t, spill=shelf))
    assert sorted(shelf.kept.values()) == sorted(f"{n}\u00e9 {LARGE}".encode() for n in range(20))
    assert all(name in wire for name in shelf.kept)
    assert wire.count(LARGE) == 20


def test_images_stay_when_the_text_beside_them_moves() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    t = Transcript()
    t.user("go")
    for _ in range(40):
        t.run("shot", [{"type": "text", "text": LARGE}, image, {"type": "text", "text": "tail"}])
    shelf = Shelf()
    first = blocks(fed(t, spill=shelf)[2])[0]["content"]
    assert [b["type"] for b in first] == ["text", "image"]
    assert f"{LARGE}\ntail".encode() in shelf.kept.values()


def test_a_body_that_no_file_takes_stays() -> None:
    t = Transcript()
    t.user("go")
    for _ in range(40):
        t.run("make", LARGE)
    assert text_of(fed(t)).count(LARGE) == 40


def test_trim_off_switches_off_only_the_trimming() -> None:
    t = Transcript()
    t.user("go")
    for _ in range(40):
        t.run("make", LARGE)
        t.run("ls", "names")
    t.api_error()
    wire = text_of(fed(t, Rules(trim=TrimPolicy(enabled=False)), spill=Shelf()))
    assert wire.count(LARGE) == 40 and "has expired" in wire and "API Error" not in wire


def test_api_errors_go_and_their_children_keep_their_history() -> None:
    t = Transcript()
    t.user("first")
    t.api_error()
    t.api_error("API Error: connection reset")
    t.user("go on")
    t.say("fine")
    t.assistant({"type": "text", "text": "No response requested."})[0]["message"]["model"] = "<synthetic>"
    t.housekeeping()
    entries = fed(t)
    assert [e["type"] for e in entries] == ["user", "user", "assistant", "last-prompt"]
    assert entries[1]["parentUuid"] == entries[0]["uuid"]
    assert entries[3]["leafUuid"] == entries[2]["uuid"]


def test_an_interrupted_tool_is_said_to_be_one() -> None:
    t = Transcript()
    t.user("go")
    t.interrupt("make deploy")
    t.user("now something else")
    wire = text_of(fed(t))
    assert INTERRUPTED in wire and "make deploy" in wire
    assert (
        "doesn't want to proceed" not in wire and "interrupted by user" not in wire and "is_error" not in wire
    )


def test_a_persons_refusal_keeps_its_words() -> None:
    t = Transcript()
    t.user("go")
    for n in range(3):
        t.deny(f"rm {n}", source="user_reject", words=f"please not {n}")
    wire = text_of(fed(t))
    assert all(f"please not {n}" in wire for n in range(3))


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_only_the_last_refusals_stay(keep: int) -> None:
    t = Transcript()
    t.user("go")
    for n in range(3):
        t.deny(f"rm {n}", source="config" if n == 1 else "hook", words=f"refused {n}")
    t.say("I see")
    wire = text_of(fed(t, Rules(prune=PrunePolicy(keep_denials=keep))))
    assert [f"rm {n}" in wire and f"refused {n}" in wire for n in range(3)] == [
        n >= 3 - keep for n in range(3)
    ]


def test_a_refused_call_goes_alone_and_takes_along_thinking_with_nothing_behind_it() -> None:
    t = Transcript()
    t.user("go")
    good, bad = t.call("make", "rm x", think="both")
    t.result(good, "built")
    t.result(bad, "no", is_error=True, toolDenialKind="permission-rule", permissionDecision=REJECT)
    t.call("rm y", think="alone")
    t.result(last_use(t), "no", is_error=True, toolDenialKind="permission-rule", permissionDecision=REJECT)
    t.say("ok")
    wire = text_of(fed(t, Rules(prune=PrunePolicy(keep_denials=0))))
    assert "built" in wire and "both" in wire
    assert "rm x" not in wire and "rm y" not in wire and "alone" not in wire


REJECT = {"decision": "reject", "source": "hook"}


def last_use(t: Transcript) -> str:
    return str(t.entries[-1]["message"]["content"][0]["id"])


def blocks(entry: Entry) -> list[dict[str, Any]]:
    content = entry["message"]["content"]
    return content if isinstance(content, list) else []


def test_cut_off_calls_get_one_entry_with_the_results_they_lack() -> None:
    t = Transcript()
    t.user("go")
    first, second, third = t.call("a", "b", "c", think="three at once")
    t.result(second, "b is done")
    t.user("go on")
    entries = fed(t)
    made = [e for e in entries if ORPHANED in json.dumps(e)]
    assert len(made) == 1
    assert [b["tool_use_id"] for b in blocks(made[0])] == [first, third]
    assert sum(second in json.dumps(e) for e in entries) == 2
    assert made[0]["uuid"] == next(e for e in fed(t) if ORPHANED in json.dumps(e))["uuid"]


def test_what_followed_a_cut_off_call_follows_its_result() -> None:
    t = Transcript()
    t.user("go")
    t.call("sleep 100")
    t.housekeeping()
    t.user("go on")
    _, call, made, mark, after = fed(t)
    assert made["parentUuid"] == call["uuid"]
    assert after["parentUuid"] == mark["leafUuid"] == made["uuid"]


def test_what_is_stored_after_a_healed_load_stays_linked() -> None:
    t = Transcript()
    t.user("go")
    t.call("sleep 100")
    t.leaf = fed(t)[-1]["uuid"]
    t.user("go on")
    t.say("fine")
    wire = text_of(fed(t))
    assert wire.index("go") < wire.index(ORPHANED) < wire.index("go on") < wire.index("fine")


def test_summaries_and_meta_entries_keep_their_content() -> None:
    t = Transcript()
    t.user("old")
    t.add("system", subtype="compact_boundary", logicalParentUuid=t.leaf)["parentUuid"] = None
    t.user("API Error [Request interrupted by user] the story so far", isCompactSummary=True)
    t.user([{"type": "text", "text": "[Request interrupted by user]"}], isMeta=True)
    t.say("go on")
    assert fed(t) == t.entries


def test_what_no_request_may_hold_goes() -> None:
    t = Transcript()
    t.user("go")
    t.user([{"type": "text", "text": ""}, {"type": "text", "text": "kept"}])
    t.user("")
    t.assistant({"type": "text", "text": "  "})
    ident = t.call("make")[0]
    t.result(ident, "one")
    t.result(ident, "two")
    t.user([{"type": "tool_result", "tool_use_id": "toolu_nobody", "content": "lost"}])
    t.run("make", [{"type": "text", "text": ""}])
    t.entries.append(copy.deepcopy(t.entries[0]))
    t.say("end")
    wire = text_of(fed(t))
    assert "kept" in wire and "one" in wire and "two" not in wire and "lost" not in wire


def test_half_characters_and_nuls_never_brick_a_session() -> None:
    t = Transcript()
    t.user("broken \ud83d here")
    t.run("cat x", "a\x00b \udc00")
    t.user("whole \U0001f600")
    wire = text_of(fed(t))
    wire.encode()
    assert "\\u0000" not in wire and "broken \ufffd here" in wire and "whole \U0001f600" in wire


def test_a_recorded_system_prompt_goes() -> None:
    t = Transcript()
    t.user("go")
    t.add("attachment", attachment={"type": "prompt_snapshot", "systemPrompt": ["old"]})
    t.say("fine")
    assert [e["type"] for e in fed(t)] == ["user", "assistant"]


def test_broken_chains_are_mended() -> None:
    t = Transcript()
    t.user("one")
    t.say("two")
    t.leaf = "nowhere"
    t.user("three")
    t.say("four")
    t.leaf = None
    t.user("five")
    t.say("six")
    t.entries[-2]["parentUuid"] = t.entries[-1]["uuid"]
    assert len(check_chain(t.entries)) >= 2
    wire = text_of(fed(t))
    assert all(word in wire for word in ("one", "two", "three", "four", "five", "six"))


def test_images_beyond_what_a_request_holds_become_notes() -> None:
    t = Transcript()
    for n in range(130):
        source = {"type": "base64", "media_type": "image/png", "data": "aGk" + "ABCD"[n % 4] + "0000"}
        t.user([{"type": "image", "source": source}, {"type": "text", "text": "look"}])
        t.run("shot", [{"type": "image", "source": source}])
    shelf = Shelf()
    wire = text_of(fed(t, spill=shelf))
    assert 60 <= wire.count('"type": "image"') < 80
    assert wire.count("look") == 130 and all(name.endswith(".png") for name in shelf.kept)


def test_subagents_are_rewritten_by_the_same_rules() -> None:
    t = Transcript(thread="a1")
    t.user("task")
    for n in range(18):
        t.run("ls", f"{n}")
    t.api_error()
    t.call("make")
    wire = json.dumps(wire_messages(fed(t, thread="a1"), thread="a1"))
    assert "has expired" in wire and "API Error" not in wire and ORPHANED in wire


def test_thinking_of_the_last_message_keeps_its_bytes() -> None:
    t = Transcript()
    t.user("go")
    t.deny("rm x")
    t.deny("rm y")
    t.call("make", think="  exactly\n this ")
    assert any(
        b.get("thinking") == "  exactly\n this "
        for e in fed(t)
        if e["type"] == "assistant"
        for b in blocks(e)
    )


@pytest.mark.parametrize("policy", [EphemeralPolicy(keep_recent=0, block=1), EphemeralPolicy(enabled=False)])
def test_the_expiry_can_be_set(policy: EphemeralPolicy) -> None:
    t = Transcript()
    t.user("go")
    for _ in range(20):
        t.run("ls", "names")
    assert text_of(fed(t, Rules(ephemeral=policy))).count("has expired") == (20 if policy.enabled else 0)


def test_everything_is_linear() -> None:
    """Five thousand of everything in one message, or in a chain of dropped ones, must not take minutes."""
    t = Transcript()
    t.user("go")
    for _ in range(5000):
        t.api_error()
    t.call(*["ls"] * 2000)
    t.user("go on")
    assert text_of(fed(t)).count(ORPHANED) == 2000
