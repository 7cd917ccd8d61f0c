"""The handoff: what the next session must know."""

from __future__ import annotations

import pytest

from flower.documents.brief import LANGUAGES
from flower.documents.handoff import Handoff

FULL = Handoff(
    "porting the parser", "keep regex", "yacc: too slow", "run make test", "branch x\n\n```\nmake test\n```"
)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("degraded", [False, True])
def test_what_is_rendered_is_read_back(lang: str, degraded: bool) -> None:
    handoff = Handoff(FULL.doing, FULL.decided, FULL.dead_ends, FULL.next, FULL.scene, degraded)
    text = handoff.render(lang)
    assert Handoff.parse(text) == handoff
    assert ("<!-- flower: degraded handoff -->" in text) == degraded
    assert (len([line for line in text.splitlines() if line.startswith("> ")]) == 1) == degraded


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("## Doing\na\n## Next steps\nb", True),
        ("**正在做**：a\n**下一步**：b", True),
        ("하고 있는 일: a\n다음 단계: b", True),
        ("## Doing\na\n## Next\n", False),
        ("## Next\nb\n## Decided\nc", False),
        ("## Doing\na\n```\n## Next\nb", False),
        ("I was working on it", False),
    ],
)
def test_doing_and_next_are_required(text: str, complete: bool) -> None:
    assert Handoff.parse(text).complete == complete


def test_a_request_quoted_in_it_does_not_become_its_sections() -> None:
    handoff = Handoff(doing="the request:\n## Next\nnothing\n```\nopen", next="go on")
    assert Handoff.parse(handoff.render("en")).next == "go on"
