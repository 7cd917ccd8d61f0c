"""The examples of docs/testing.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("source", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example(source: str, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(source, "docs/testing.md", "exec"), names)
    for name, value in names.items():
        if name.startswith("test_"):
            value(*[tmp_path] * value.__code__.co_argcount)


def test_the_page_has_its_examples() -> None:
    assert len(EXAMPLES) == 5
