"""``flower demo`` as a stranger types it: the whole chain, then the same conversation again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.e2e.harness import Place

ROWS = ["确认需求", "设定目标", "干活", "干活·判定#1", "干活#round2", "干活·判定#2"]


def html(place: Place) -> str:
    """What the program the demo wrote makes of a text of ours."""
    (place.dir / "mine.md").write_text("# A & B\n\n- one < two\n", encoding="utf-8")
    return subprocess.run(
        ["sh", "md2html.sh", "mine.md"], cwd=place.dir, capture_output=True, text=True, check=True
    ).stdout


def test_the_whole_chain_then_the_same_conversation_then_broken_by_hand(tmp_path: Path) -> None:
    # The person's own endpoint is neither used nor harmed: nothing listens there.
    typed = Place.make(
        tmp_path, ANTHROPIC_API_KEY="sk-ant-of-the-person", ANTHROPIC_BASE_URL="http://127.0.0.1:9"
    )
    home = sorted(typed.home.rglob("*"))
    done = typed.run("demo")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "script" in done.stderr and "flower demo" in done.stderr
    place = Place(typed.dir / "demo", typed.home, typed.env)
    assert [row["step"] for row in place.rows] == ROWS
    judges = [row["session_id"] for row in place.rows if "判定" in row["step"]]
    first = place.lineage
    assert len(set(judges)) == 2 and not set(judges) & set(first["steps"].values())
    assert first["woke"] == 1 and set(first["steps"]) == {"确认需求", "设定目标", "干活"}
    page = html(place)
    assert "<h1>A &amp; B</h1>" in page and "<li>one &lt; two</li>" in page

    again = typed.run("demo")
    assert again.returncode == 0, again.stderr[-2000:]
    assert place.lineage["woke"] == 2 and place.lineage["steps"] == first["steps"]
    assert place.rows[len(ROWS)]["session_id"] == first["steps"]["干活"]
    # Said by the scripted model only if its request holds the first run's history.
    assert "this conversation has sent out 2 task(s) before" in again.stderr

    program = place.dir / "md2html.sh"
    text = program.read_text(encoding="utf-8")
    program.write_text(text.replace('gsub(/&/, "\\\\&amp;", s)', ""), encoding="utf-8")
    assert program.read_text(encoding="utf-8") != text
    broken = typed.run("--json", "demo")
    events = [json.loads(line) for line in broken.stdout.splitlines()]
    verdicts = [event for event in events if event["type"] == "verdict"]
    assert verdicts and "not_yet" in json.dumps(verdicts[0]), broken.stderr[-1500:]
    assert sorted(typed.home.rglob("*")) == home
