"""Which file a setting comes from, and what a line in it means."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flower.config import dotenv
from flower.config.credentials import describe, load_dotenv
from flower.config.grammar import parse, parse_line

GRAMMAR = [
    ("A=b", "b"),
    ("  A = b  ", "b"),
    ("export A=b", "b"),
    ("A=", ""),
    ("A=   ", ""),
    ("A= # comment", ""),
    ("A=b # comment", "b"),
    ("A=b#c", "b#c"),
    ("A=#c", "#c"),
    ("A=b=c==", "b=c=="),
    ('A="b c"', "b c"),
    ("A='b c'", "b c"),
    ('A="b # c" # d', "b # c"),
    ("A='b # c' # d", "b # c"),
    ('A="b\\nc"', "b\nc"),
    (r'A="b\\c"', r"b\c"),
    (r"A=C:\new\table", r"C:\new\table"),
    (r"A='C:\new\\table'", r"C:\new\\table"),
    ("A=$HOME/${X}", "$HOME/${X}"),
    ('A="$HOME"', "$HOME"),
    ("A=it's", "it's"),
    ('A=b"', 'b"'),
    ("A=密钥", "密钥"),
    ("'A'=b", "b"),
]

GUESSED = [
    ('A="b', "b"),
    ("A='b", "b"),
    ("A='b\\'", "b\\"),
    ('A="b" c', 'b" c'),
    ('A="b" "c"', 'b" "c'),
    ('export A="b', "b"),
]


@pytest.mark.parametrize(("line", "value"), GRAMMAR)
def test_what_a_line_means(line: str, value: str) -> None:
    for ending in ("\n", "\r\n", ""):
        parsed = parse(f"\ufeff{line}{ending}", "x")
        assert (parsed.values, parsed.warnings) == ({"A": value}, [])


@pytest.mark.parametrize("line", ["", "   ", "# A=b", "  # A=b", "A", "export A", "nothing to see"])
def test_lines_that_say_nothing(line: str) -> None:
    assert parse_line(line) is None
    assert parse(f"{line}\nB=c\n", "x").warnings == []


@pytest.mark.parametrize(("line", "value"), GUESSED)
def test_a_guessed_line_is_named_and_costs_nothing_after_it(line: str, value: str) -> None:
    parsed = parse(f"# first\n{line}\nB=after\n", "~/p/.env")
    assert parsed.values == {"A": value, "B": "after"}
    assert len(parsed.warnings) == 1 and parsed.warnings[0].startswith("~/p/.env:2: ")


@pytest.mark.parametrize("line", ["=b", "A\0=b", "A=b\0"])
def test_a_line_that_is_no_setting_is_skipped_and_named(line: str) -> None:
    parsed = parse(f"{line}\nB=after", ".env")
    assert parsed.values == {"B": "after"}
    assert parsed.warnings and parsed.warnings[0].startswith(".env:1: ")


def test_the_first_value_of_a_key_in_a_file_stays() -> None:
    parsed = parse("A=\nA=2\nB=1\nB=2", "x")
    assert parsed.values == {"A": "", "B": "1"} and parsed.lines == {"A": 1, "B": 3}


class Places:
    """Every place a setting can come from, in the order of precedence."""

    def __init__(self, home: Path, cwd: Path) -> None:
        self.named = home / "named.env"
        self.project = cwd / ".env"
        self.user = home / ".config/flower/.env"
        self.claude = home / ".claude/settings.json"
        self.local = home / ".claude/settings.local.json"

    def write(self, place: str, key: str, value: str) -> None:
        file: Path = getattr(self, place)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"env": {key: value}}) if file.suffix == ".json" else f"{key}={value}\n"
        file.write_text(text)


@pytest.fixture
def places(empty_environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.chdir(tmp_path)
    return Places(empty_environment, tmp_path)


ORDER = ["environment", "named", "project", "user", "claude", "local"]


@pytest.mark.parametrize("winner", range(len(ORDER)))
@pytest.mark.parametrize("value", ["v", ""])
def test_the_first_place_that_has_a_key_wins_even_with_nothing(
    places: Places, winner: int, value: str
) -> None:
    os.environ["FLOWER_ENV"] = str(places.named)
    places.named.write_text("")
    for place in ORDER[winner:]:
        given = value if place == ORDER[winner] else f"from-{place}"
        if place == "environment":
            os.environ["ANTHROPIC_MODEL"] = given
        else:
            places.write(place, "ANTHROPIC_MODEL", given)
    assert load_dotenv() == []
    assert os.environ["ANTHROPIC_MODEL"] == value
    source = next(s.source for s in describe() if s.key == "ANTHROPIC_MODEL")
    expected = {
        "environment": "environment",
        "named": "~/named.env:1",
        "project": f"{places.project}:1",
        "user": "~/.config/flower/.env:1",
        "claude": "~/.claude/settings.json",
        "local": "~/.claude/settings.local.json",
    }
    assert source == expected[ORDER[winner]]


def test_precedence_is_by_key_and_not_by_file(places: Places) -> None:
    places.write("project", "ANTHROPIC_BASE_URL", "http://gateway")
    places.write("user", "ANTHROPIC_AUTH_TOKEN", "token")
    load_dotenv()
    assert (os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_AUTH_TOKEN"]) == (
        "http://gateway",
        "token",
    )


def test_every_key_of_a_dotenv_file_but_only_nine_of_claude_code(places: Places) -> None:
    places.write("project", "ANYTHING", "x")
    block = {key: "c" for key in dotenv.BORROWED} | {"OTHER": "c", "CLAUDE_CODE_OAUTH_TOKEN": "c"}
    places.claude.parent.mkdir()
    places.claude.write_text(json.dumps({"env": block, "hooks": {"x": 1}}))
    before = set(os.environ)
    load_dotenv()
    assert set(os.environ) - before == {"ANYTHING", *dotenv.BORROWED}
    assert len(dotenv.BORROWED) == 9


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"env": 3}', '{"env": {"ANTHROPIC_MODEL": 3}}', "[" * 9999, "null"]
)
def test_claude_code_files_that_are_broken_are_ignored(places: Places, text: str) -> None:
    places.claude.parent.mkdir()
    places.claude.write_text(text)
    places.write("local", "ANTHROPIC_MODEL", "m")
    assert load_dotenv() == []
    assert os.environ["ANTHROPIC_MODEL"] == "m"


def test_a_named_file_that_is_not_there_is_said_in_one_line(places: Places) -> None:
    os.environ["FLOWER_ENV"] = str(places.named)
    places.write("project", "A", "1")
    notices = load_dotenv()
    assert len(notices) == 1 and str(places.named) in notices[0] and "\n" not in notices[0]
    assert os.environ["A"] == "1"


def test_a_path_given_is_the_only_file_read(places: Places) -> None:
    places.write("named", "A", "1")
    for place in ("project", "user"):
        places.write(place, "B", "2")
    places.write("claude", "ANTHROPIC_MODEL", "m")
    os.environ["FLOWER_ENV"] = str(places.project)
    assert load_dotenv(places.named) == []
    assert os.environ["A"] == "1" and "B" not in os.environ and "ANTHROPIC_MODEL" not in os.environ
    assert len(load_dotenv(places.named.with_name("absent"))) == 1


def test_xdg_config_home_moves_the_users_file(places: Places, tmp_path: Path) -> None:
    (tmp_path / "xdg/flower").mkdir(parents=True)
    (tmp_path / "xdg/flower/.env").write_text("A=xdg")
    places.write("user", "A", "home")
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    load_dotenv()
    assert os.environ["A"] == "xdg"


def test_bytes_that_are_not_utf8_and_utf16_files_are_read(places: Places) -> None:
    places.project.write_bytes(b"A=\xff\xfe1\nB=2\n")
    places.user.parent.mkdir(parents=True)
    places.user.write_bytes("C=3\r\n".encode("utf-16"))
    load_dotenv()
    assert os.environb[b"A"] == b"\xff\xfe1" and os.environ["B"] == "2" and os.environ["C"] == "3"


def test_a_directory_called_dotenv_is_no_file(places: Places) -> None:
    places.project.mkdir()
    assert load_dotenv() == []


def test_warnings_of_a_file_reach_the_caller(places: Places) -> None:
    places.project.write_text("A=1\nB='2\nC=3\n")
    notices = load_dotenv()
    assert len(notices) == 1 and f"{places.project}:2" in notices[0]
    assert os.environ["C"] == "3"


def test_the_checkouts_own_file_counts_when_run_from_one(tmp_path: Path, empty_environment: Path) -> None:
    """A copy of the package beside a ``.git`` is a checkout, the same copy without it an installation."""
    root = tmp_path / "checkout"
    package = Path(dotenv.__file__).parents[1]
    shutil.copytree(package, root / "flower", ignore=shutil.ignore_patterns("__pycache__"))
    (root / ".env").write_text("FROM_ROOT=yes\n")
    load = "from flower.config.dotenv import load_dotenv; load_dotenv()"
    code = f"import os; {load}; print(os.getenv('FROM_ROOT'))"
    (tmp_path / "elsewhere").mkdir()

    def run() -> str:
        env = {"HOME": str(empty_environment), "PYTHONPATH": str(root), "PATH": os.defpath}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=env,
            cwd=tmp_path / "elsewhere",
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert run() == "None"
    (root / ".git").mkdir()
    assert run() == "yes"
