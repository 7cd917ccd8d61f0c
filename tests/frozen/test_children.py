"""What the frozen flower starts sees the person's environment and loads none of the bundled libraries."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse
from tests.e2e.harness import Place

LOOKS = {
    "python3": "{python3} -c 'import ssl, sqlite3, ctypes; print(open(\"/proc/self/maps\").read())'",
    "git": "git -c alias.look='!cat /proc/$PPID/maps' look",
    "curl": "curl -s file:///proc/self/maps",
}
OF_THE_LOADER = ("_PYI_", "PYINSTALLER", "FLOWER_GUARD", "LD_LIBRARY_PATH_ORIG")


def system_python() -> str:
    """A Python with libraries of its own; a shim would only start another one."""
    return next(
        path for path in ("/usr/bin/python3", shutil.which("python3")) if path and Path(path).exists()
    )


def bash(command: list[str], place: Place, endpoint: ScriptedEndpoint, line: str) -> None:
    words = [*command, "once", "-t", "Bash", line]
    done = subprocess.run(
        words, cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    endpoint.check()


def obedient(request: Request) -> Reply:
    """Runs the prompt as a command."""
    if request.last_tool_results:
        return Reply("done")
    return Reply("", blocks=[ToolUse("Bash", {"command": request.prompt, "description": "look"})])


@pytest.mark.parametrize("program", LOOKS)
def test_the_systems_programs_load_the_systems_libraries(
    command: list[str], cache: Path, tmp_path: Path, program: str
) -> None:
    with ScriptedEndpoint(obedient) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        look = LOOKS[program].replace("{python3}", system_python())
        bash(command, place, endpoint, f"{look} > maps.txt")
    maps = (place.dir / "maps.txt").read_text()
    assert "libc.so.6" in maps and ("libcrypto" in maps or program == "git")
    assert str(cache) not in maps


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("mine", ["", "/opt/mine/lib"])
def test_the_environment_is_the_persons(
    binary: Path, cache: Path, tmp_path: Path, mine: str, linked: bool
) -> None:
    if linked:
        (tmp_path / "link").symlink_to(cache)
    command = ["env", f"FLOWER_CACHE={tmp_path / 'link' if linked else cache}", str(binary)]
    with ScriptedEndpoint(obedient) as endpoint:
        place = Place.make(tmp_path, endpoint.env(), **({"LD_LIBRARY_PATH": mine} if mine else {}))
        bash(
            command,
            place,
            endpoint,
            "env > environment.txt; cat /proc/$PPID/environ | tr '\\0' '\\n' > claude.txt",
        )
    for name in ("environment.txt", "claude.txt"):
        lines = (place.dir / name).read_text().splitlines()
        assert f"HOME={place.home}" in lines
        assert [line for line in lines if line.startswith(OF_THE_LOADER)] == []
        found = [line for line in lines if line.startswith("LD_LIBRARY_PATH=")]
        assert found == ([f"LD_LIBRARY_PATH={mine}"] if mine else [])
