"""Tokens do not get into what people paste."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower.agents.asklog import AskLog
from flower.books.manifest import Manifest
from flower.config.secrets import Masker, known_secrets

TOKEN = "tok-0123456789abcdef"


def test_what_is_secret_in_an_environment() -> None:
    env = {
        "ANTHROPIC_AUTH_TOKEN": TOKEN,
        "ANTHROPIC_API_KEY": "short",
        "ANTHROPIC_BASE_URL": "https://me:pass-word-1@gateway.example",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue\nAuthorization: Bearer header-secret-1\nX-Api-Key: key-secret-22",
        "ANTHROPIC_MODEL": "claude-opus-5-5",
    }
    assert set(known_secrets(env)) == {TOKEN, "pass-word-1", "header-secret-1", "key-secret-22"}


def test_they_are_masked_wherever_they_stand() -> None:
    mask = Masker([TOKEN, TOKEN + "-longer"])
    assert mask(f"a {TOKEN}-longer b {TOKEN}") == "a …nger b …cdef"
    assert mask("sk-ant-api03-abcdefgh12345678") == "…5678"
    assert mask.value({"x": [TOKEN, 1, None], TOKEN: {"y": TOKEN}}) == {
        "x": ["…cdef", 1, None],
        "…cdef": {"y": "…cdef"},
    }
    assert Masker([])("plain words, task-ant-hill") == "plain words, task-ant-hill"


def test_manifest_and_log_of_answers_hold_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", TOKEN)
    manifest = Manifest(tmp_path, "run", notice=lambda line: None)
    manifest.record({"step": "s", "started_at": 1.0, "text": f"it is {TOKEN}", "errors": [TOKEN]})
    AskLog(tmp_path / "asks.md").append("Which key?", [], "", "answered", TOKEN)
    for name in ("manifest.json", "asks.md"):
        assert TOKEN not in (tmp_path / name).read_text() and "…cdef" in (tmp_path / name).read_text()
