"""Patterns that are compiled late are the same patterns."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flower.patterns import late


def test_a_late_pattern_does_what_a_compiled_one_does() -> None:
    pattern = late(r"(?P<word>[a-z]+)-(\d)", re.IGNORECASE)
    found = pattern.search("see AB-7")
    assert found is not None and found["word"] == "AB"
    assert pattern.sub("x", "a-1 B-2") == "x x"
    assert pattern.groupindex == {"word": 1} and pattern.flags & re.IGNORECASE
    assert copy.copy(pattern).fullmatch("a-1")


def test_a_mistake_shows_at_the_first_use() -> None:
    pattern = late("(")
    with pytest.raises(re.error):
        pattern.match("")


def test_looking_at_an_unused_directory_compiles_none_of_the_documents_patterns(tmp_path: Path) -> None:
    code = (
        "import flower; flower.wake_state()\n"
        "from flower.documents import goal, sections, verdict\n"
        "from flower.patterns import LatePattern\n"
        "all_ = [v for m in (goal, sections, verdict) for v in vars(m).values() if isinstance(v, LatePattern)]\n"
        "assert len(all_) > 10 and not any(len(vars(p)) > 1 for p in all_)"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(root)}, check=True)
