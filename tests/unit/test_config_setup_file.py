"""What setup writes, and what it leaves alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.config.grammar import parse
from flower.config.setup_file import edit, write_setup
from flower.model import ConfigurationError, UsageError


def values(path: Path) -> dict[str, str]:
    parsed = parse(path.read_text(), "x")
    assert parsed.warnings == []
    return parsed.values


def test_a_new_file_is_private_and_holds_what_was_said(empty_environment: Path) -> None:
    path = write_setup(" sk-ant-abc ", "https://gw ", "m[1m]")
    assert path == empty_environment / ".config/flower/.env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert values(path) == {
        "ANTHROPIC_API_KEY": "sk-ant-abc",
        "ANTHROPIC_BASE_URL": "https://gw",
        "ANTHROPIC_MODEL": "m[1m]",
        "ANTHROPIC_DEFAULT_OPUS_MODEL": "m[1m]",
        "ANTHROPIC_DEFAULT_SONNET_MODEL": "m[1m]",
    }
    assert [p.name for p in path.parent.iterdir()] == [".env"]


def test_any_other_token_is_an_auth_token_and_replaces_the_key() -> None:
    write_setup("sk-ant-old")
    assert values(write_setup("sk-other")) == {"ANTHROPIC_AUTH_TOKEN": "sk-other"}
    assert values(write_setup("sk-ant-new")) == {"ANTHROPIC_API_KEY": "sk-ant-new"}


def test_other_lines_stay_as_they_are(empty_environment: Path) -> None:
    path = empty_environment / ".config/flower/.env"
    path.parent.mkdir(parents=True)
    path.write_bytes(
        b"# my own file \xff\nexport OTHER='a b' # why\r\nANTHROPIC_MODEL=old # note\n\n"
        b"ANTHROPIC_AUTH_TOKEN=old\nANTHROPIC_AUTH_TOKEN=older\nBROKEN='x\nODD=\xe2\x80\xa8ANTHROPIC_MODEL=\nLAST=1"
    )
    path.chmod(0o644)
    write_setup("new", None, "m")
    assert path.read_bytes() == (
        b"# my own file \xff\nexport OTHER='a b' # why\r\nANTHROPIC_MODEL=m\n\n"
        b"ANTHROPIC_AUTH_TOKEN=new\nBROKEN='x\nODD=\xe2\x80\xa8ANTHROPIC_MODEL=\nLAST=1\n"
        b"ANTHROPIC_DEFAULT_OPUS_MODEL=m\nANTHROPIC_DEFAULT_SONNET_MODEL=m\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_none_leaves_and_empty_removes() -> None:
    write_setup("t", "http://gw", "m")
    assert values(write_setup("t"))["ANTHROPIC_BASE_URL"] == "http://gw"
    assert values(write_setup("t", "", "")) == {"ANTHROPIC_AUTH_TOKEN": "t"}


def test_a_linked_file_is_written_through(empty_environment: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.env"
    real.write_text("A=1\n")
    link = empty_environment / ".config/flower/.env"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    write_setup("t")
    assert link.is_symlink() and values(real) == {"A": "1", "ANTHROPIC_AUTH_TOKEN": "t"}


@pytest.mark.parametrize("args", [("",), ("  ",), ("a\nb",), ("t", "http://a\rb"), ("t", None, "m\0")])
def test_values_that_cannot_be_are_refused(empty_environment: Path, args: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        write_setup(*args)
    assert not (empty_environment / ".config").exists()


def test_a_place_that_cannot_be_written_is_an_error_with_its_path(empty_environment: Path) -> None:
    (empty_environment / ".config").write_text("a file")
    with pytest.raises(ConfigurationError, match=r"\.config/flower/\.env"):
        write_setup("t")


def test_a_failed_write_leaves_the_old_file(empty_environment: Path) -> None:
    path = write_setup("sk-ant-abc")
    path.unlink()
    path.mkdir()
    (path / "x").write_text("")
    with pytest.raises(ConfigurationError):
        write_setup("other")
    assert os.listdir(path.parent) == [".env"]


_value = (
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1).map(str.strip).filter(bool)
)


@given(_value, _value)
def test_any_value_comes_back_as_it_was_written(token: str, gateway: str) -> None:
    text = edit("# kept\n", {"ANTHROPIC_AUTH_TOKEN": token, "ANTHROPIC_BASE_URL": gateway})
    parsed = parse(text, "x")
    assert parsed.values == {"ANTHROPIC_AUTH_TOKEN": token, "ANTHROPIC_BASE_URL": gateway}
    assert parsed.warnings == []
