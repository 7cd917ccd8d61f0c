"""A very long session leaves flower's own process as it was: memory, open files and small books stay flat."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.endurance import measure


def check_flat(turns: int, place: Path, megabytes: float) -> None:
    samples = measure(turns, place)
    # SQLite's page cache fills in the first 2,000 turns, with about 16 MB; from then on nothing may grow.
    first, last = samples[2], samples[-1]
    assert last["turn"] == turns
    assert last["rss_mb"] - first["rss_mb"] < megabytes, samples
    assert last["fds"] == first["fds"], samples
    assert last["json_kb"] < first["json_kb"] + 1, samples


@pytest.mark.soak
def test_a_thousand_turns(tmp_path: Path) -> None:
    check_flat(1000, tmp_path, megabytes=20)


@pytest.mark.soak
def test_ten_thousand_turns(tmp_path: Path) -> None:
    check_flat(10_000, tmp_path, megabytes=5)
