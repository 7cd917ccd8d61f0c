"""The Tab key, as the shells themselves ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = str(Path(sys.executable).parent)


def shell(name: str, script: str, *arguments: str) -> list[str]:
    if (program := shutil.which(name)) is None:
        pytest.skip(f"{name} is not installed")
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        [program, *arguments, "-c", script], env=env, capture_output=True, text=True, check=True
    )
    assert not done.stderr
    return done.stdout.splitlines()


def test_bash_completes_commands_options_and_values() -> None:
    script = """
    source <(flower completion bash)
    t() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=(); _flower_completion flower; echo "${COMPREPLY[*]}"; }
    t flower st
    t flower --ro
    t flower --rounds 3 --no-g
    t flower once -p a
    complete -p flower
    """
    *found, registered = shell("bash", script, "--norc", "--noprofile")
    assert found == ["status steps", "--rounds", "--no-goal", "acceptEdits"]
    assert registered == "complete -o nosort -F _flower_completion flower"


def test_fish_completes() -> None:
    script = "flower completion fish | source; complete -C 'flower st'; complete -C 'flower --rou'"
    assert [line.split("\t")[0] for line in shell("fish", script)] == ["status", "steps", "--rounds"]


def test_zsh_takes_the_script_and_flower_answers_it() -> None:
    script = """
    compdef() { echo "compdef $@" }
    eval "$(flower completion zsh)"
    COMP_WORDS="flower --rou" COMP_CWORD=1 _FLOWER_COMPLETE=zsh_complete flower
    """
    assert shell("zsh", script, "-f") == [
        "compdef _flower_completion flower",
        "plain",
        "--rounds",
        "work rounds at most",
    ]
