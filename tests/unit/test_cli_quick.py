"""Commands that only look: what they load, and which command lines are left to click."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from flower.cli import looking
from flower.cli.quick import FORMS, quick
from flower.values import NamedTuple
from tests.recorded import fill, row, write_books

HEAVY = (
    "claude_agent_sdk",
    "click",
    "dataclasses",
    "inspect",
    "typing",
    "asyncio",
    "psutil",
    "msgspec",
    "dotenv",
)


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["-w", "somewhere", "status", "--json"],
        ["--lang=zh", "steps", "--run", "last", "-r", "books"],
        ["show", "--full", "status", "--raw"],
        ["show", "--json", "--workspace=x", "干活"],
    ],
)
def test_plain_forms_are_answered_without_click(words: list[str]) -> None:
    assert quick(words) is not None


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["go", "status"],
        ["fix", "status"],
        ["status", "-h"],
        ["status", "please"],
        ["steps", "--run"],
        ["show"],
        ["show", "a", "b"],
        ["show", "--", "-x"],
        ["show", "-x"],
        ["status", "--lang", "fr"],
        ["-W", "status"],
        ["-w", "status"],
        ["status", "-w"],
        ["-vw", "x", "status"],
        ["doctor"],
    ],
)
def test_the_rest_is_for_click(words: list[str]) -> None:
    assert quick(words) is None


def test_both_ways_know_the_same_options() -> None:
    for name, form in FORMS.items():
        command = getattr(looking, name)
        own = [p for p in command.params if p.name not in ("workbench", "trim", "lang", "version")]
        flags = {o for p in own if isinstance(p, click.Option) and p.is_flag for o in p.opts}
        values = {o for p in own if isinstance(p, click.Option) and not p.is_flag for o in p.opts}
        assert flags == {*form.flags, "-v", "--verbose", "--json"}, name
        assert values == {*form.values, "-w", "--workspace", "-r", "--run-dir"}, name
        assert [p.name for p in own if isinstance(p, click.Argument)] == (
            [form.argument] if form.argument else []
        )


def test_a_look_loads_what_it_needs_and_no_more(tmp_path: Path) -> None:
    """The settings of the person's own file are read too: the tokens in it are to be masked."""
    [session] = fill(tmp_path / "runs", tmp_path, ["tools"]).values()
    write_books(tmp_path / "runs", tmp_path, {"work": session}, [row("work", session, started_at=1.0)])
    (tmp_path / ".env").write_text("ANTHROPIC_AUTH_TOKEN=tok-0123456789abcdef\n")
    code = (
        "import sys\nfrom flower.cli.main import run\n"
        "for words in (['status'], ['steps'], ['sessions'], ['show', 'work'], ['cache']):\n    assert run(words) == 0\n"
        f"print(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr.split() == [], "loaded by commands that only look"


def test_named_tuples_are_like_those_of_typing() -> None:
    class Point(NamedTuple):
        """A point."""

        x: int
        y: int = 2

        @property
        def sum(self) -> int:
            return self.x + self.y

    assert Point(1) == (1, 2) and Point(1).sum == 3 and repr(Point(1)).endswith("Point(x=1, y=2)")
    assert Point.__doc__ == "A point." and Point(1)._replace(y=5) == Point(x=1, y=5)
    with pytest.raises(AttributeError):
        Point(1).z = 3  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]
