"""What counts as a credential, and what a person without one is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flower.config.credentials import check_credentials, credential, describe, load_dotenv, mask


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "env",
    [
        {"ANTHROPIC_API_KEY": "k"},
        {"ANTHROPIC_AUTH_TOKEN": "t"},
        {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "t"},
        {"CLAUDE_CODE_OAUTH_TOKEN": "o"},
        {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"},
        {"CLAUDE_CODE_USE_VERTEX": "true", "ANTHROPIC_VERTEX_PROJECT_ID": "p", "CLOUD_ML_REGION": "r"},
    ],
)
def test_a_credential(env: dict[str, str]) -> None:
    os.environ.update(env)
    assert check_credentials() is None


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({}, "ANTHROPIC_API_KEY"),
        ({"ANTHROPIC_API_KEY": ""}, "ANTHROPIC_API_KEY (environment)"),
        ({"ANTHROPIC_AUTH_TOKEN": "  "}, "ANTHROPIC_AUTH_TOKEN (environment)"),
        ({"CLAUDE_CODE_USE_BEDROCK": "0"}, "ANTHROPIC_API_KEY"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, "AWS_REGION"),
        ({"CLAUDE_CODE_USE_VERTEX": "1", "CLOUD_ML_REGION": "r"}, "ANTHROPIC_VERTEX_PROJECT_ID"),
    ],
)
def test_no_credential(env: dict[str, str], named: str) -> None:
    os.environ.update(env)
    message = check_credentials()
    assert message is not None and named in message and len(message.splitlines()) <= 4


def test_with_both_the_key_is_sent() -> None:
    assert credential({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}) == "ANTHROPIC_API_KEY"


def test_the_message_names_the_places_that_were_looked_at(tmp_path: Path, empty_environment: Path) -> None:
    (empty_environment / ".claude").mkdir()
    (empty_environment / ".claude/settings.json").write_text("{broken")
    (tmp_path / ".env").write_text("A=1\n")
    load_dotenv()
    message = check_credentials()
    assert message is not None
    for place in (
        f"{tmp_path}/.env (read)",
        "~/.config/flower/.env (not there)",
        "~/.claude/settings.json (nothing usable in it)",
        "~/.claude/settings.local.json (not there)",
    ):
        assert place in message


def test_after_one_named_file_no_other_place_is_claimed(tmp_path: Path) -> None:
    file = tmp_path / "my.env"
    file.write_text("A=1\n")
    load_dotenv(file)
    message = check_credentials()
    assert message is not None and "my.env (read)" in message and ".claude" not in message


def test_an_empty_value_that_hides_a_credential_is_named_with_file_and_line(
    tmp_path: Path, empty_environment: Path
) -> None:
    (tmp_path / ".env").write_text("# mine\n\nANTHROPIC_AUTH_TOKEN=\n")
    user = empty_environment / ".config/flower/.env"
    user.parent.mkdir(parents=True)
    user.write_text("ANTHROPIC_AUTH_TOKEN=secret-token-value\n")
    load_dotenv()
    message = check_credentials()
    assert message is not None and f"ANTHROPIC_AUTH_TOKEN ({tmp_path}/.env:3)" in message
    assert len(message.splitlines()) == 4 and "secret" not in message


def test_secrets_are_masked_to_four_characters(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ANTHROPIC_API_KEY=sk-ant-0123456789abcd\nANTHROPIC_AUTH_TOKEN=short\n")
    os.environ["CLAUDE_CODE_OAUTH_TOKEN"] = ""
    os.environ["ANTHROPIC_BASE_URL"] = "https://me:hunter2@gateway/x"
    load_dotenv()
    shown = {s.key: s.value for s in describe()}
    assert shown == {
        "ANTHROPIC_API_KEY": "…abcd",
        "ANTHROPIC_AUTH_TOKEN": "…",
        "ANTHROPIC_BASE_URL": "https://…@gateway/x",
        "CLAUDE_CODE_OAUTH_TOKEN": "(empty)",
    }
    assert f"ANTHROPIC_API_KEY=…abcd  ({tmp_path}/.env:1)" in map(str, describe())


def test_a_value_changed_after_loading_is_no_longer_the_files(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ANTHROPIC_MODEL=from-file\n")
    load_dotenv()
    os.environ["ANTHROPIC_MODEL"] = "by-hand"
    assert [s.source for s in describe()] == ["environment"]


def test_mask() -> None:
    assert [mask(v) for v in ("", "abc", "abcdefghijk", "abcdefghijkl")] == ["", "…", "…", "…ijkl"]
