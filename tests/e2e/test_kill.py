"""kill -9 at any moment of the chain: nothing lives on, nothing shown is lost, the next run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower.testing import ScriptedEndpoint
from tests.e2e.killing import kill_loop, slow_demo

PER_SEED = 7
SEEDS = 6  # 42 kills in a plain run


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_next_run_goes_on(seed: int, tmp_path: Path) -> None:
    with ScriptedEndpoint(slow_demo) as endpoint:
        assert kill_loop(tmp_path, endpoint.env(), seed, PER_SEED) == PER_SEED
        endpoint.check()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_two_hundred_kills(seed: int, tmp_path: Path) -> None:
    with ScriptedEndpoint(slow_demo) as endpoint:
        assert kill_loop(tmp_path, endpoint.env(), seed, 10) == 10
        endpoint.check()
