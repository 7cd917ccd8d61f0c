"""Settings mean the same inside and outside, and the token is seen by nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.box.box import ROOT, SHELL, TOKEN, Box
from tests.box.conftest import Person
from tests.e2e.harness import wait_for

PROJECT = """\
ANTHROPIC_CUSTOM_HEADERS = "X-One: a # b"  # a comment
export FB_A='x "y" \\n $HOME' # c
FB_B=it's # half quoted
 FB_C = plain words
FB_D="tab\\there"
FB_E=
FB_F=a#b
FB_SAID=project
"""
NAMED = 'FB_SAID=named\nFB_G="né\'e"\r\n'
USER = "\ufeffexport FB_H=user's\nFB_E=user"
CHECKOUT = "\ufeffFB_I=checkout\nFB_H=checkout\nFB_SAID=checkout\n"
ENVIRONMENT = {
    "ANTHROPIC_CUSTOM_HEADERS": 'X-Two: it\'s "$HOME" \\n `x`\nX-Three:  3 # 4',
    "HTTP_PROXY": "",
    "NO_PROXY": "*",
}
SHOW = "sh: env -0 | LC_ALL=C sort -z | grep -z -E '^(FB_|ANTHROPIC_CUSTOM|NO_PROXY|HTTP_PROXY)' | od -An -v -tx1 | tr -d ' \\n'"


def lay(box: Box) -> None:
    (box.dir / ".env").write_text(PROJECT, encoding="utf-8")
    (box.base / "named settings").write_text(NAMED, encoding="utf-8", newline="")
    place = box.home / ".config/flower"
    place.mkdir(parents=True)
    (place / ".env").write_text(USER, encoding="utf-8")
    box.env["FLOWER_ENV"] = str(box.base / "named settings")


def outside(box: Box) -> str:
    """What a native flower's worker sees, in the same directory."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("flower")), *SHELL, SHOW],
        cwd=box.dir, env=box.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.partition("it said: ")[2]


def test_every_value_is_the_same_inside_and_outside(person: Person) -> None:
    box = person(**ENVIRONMENT)
    lay(box)
    expected = outside(box)
    assert b"FB_SAID=named\0".hex() in expected and b"x `x`".hex()[2:] in expected
    assert box.sh(SHOW.removeprefix("sh: ")) == expected
    # Last comes the checkout's; two files in one, the second with a mark of its encoding.
    checkout = box.base / "checkout"
    checkout.mkdir()
    (checkout / ".env").write_text(CHECKOUT, encoding="utf-8")
    said = box.sh('echo "$FB_H|$FB_I|$FB_SAID|${FB_E}|"', env={"FLOWER_HOME": str(checkout)})
    assert said.strip().splitlines()[0] == "user's|checkout|named||"


def test_a_setting_of_nothing_hides_a_later_one(person: Person) -> None:
    box = person(ANTHROPIC_API_KEY="")
    (box.dir / ".env").write_text(f"ANTHROPIC_API_KEY={TOKEN}\n")
    done = box.run(box.dir, "once", "hi")
    assert done.returncode == 5 and "ANTHROPIC_API_KEY (environment)" in done.stderr


def test_the_token_is_seen_by_nobody(person: Person, image: str) -> None:
    box = person()
    key = box.env.pop("ANTHROPIC_API_KEY")
    place = box.home / ".config/flower"
    place.mkdir(parents=True)
    (place / ".env").write_text(f"ANTHROPIC_API_KEY={key}\n")
    said: list[str] = []
    for source in ({}, {"ANTHROPIC_API_KEY": key}):
        started = box.start(
            box.dir,
            "--json",
            "-v",
            *SHELL,
            "sh: touch here; while [ -e here ]; do sleep .1; done",
            env=source,
        )
        wait_for(lambda: (box.dir / "here").exists(), 90, "the worker works")
        (name,) = box.boxes()
        said += [
            box.docker("inspect", name),
            box.docker("logs", name),
            box.docker("top", name, "-eo", "pid,args"),
        ]
        said.append(subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True).stdout)
        for path in box.docker("diff", name).split("\n"):
            if path[:1] in "AC" and path[2:].startswith("/home/flower"):
                said.append(
                    box.docker(
                        "exec", name, "sh", "-c", 'find "$0" -type f -exec cat {} +', path[2:], check=False
                    )
                )
        (private,) = Path(box.env["TMPDIR"]).glob("flowerbox.*")
        assert private.stat().st_mode & 0o777 == 0o700
        assert any(key in p.read_text() for p in private.iterdir() if p.is_file()), (
            "the token is where it should be"
        )
        assert all(p.stat().st_mode & 0o077 == 0 for p in private.iterdir())
        (box.dir / "here").unlink()
        said += started.communicate(timeout=60)
        assert started.returncode == 0
        box.leaves_nothing()
    said.append(box.docker("history", "--no-trunc", image) + box.docker("image", "inspect", image))
    # -v shows its last four characters, on purpose.
    assert not [text for text in said if key in text or key[4:-4] in text]
    secret = key.encode()
    for path in box.base.rglob("*"):
        if path.is_file() and path.parent != place:
            assert secret not in path.read_bytes(), path
    assert json.loads(said[0])[0]["HostConfig"]["SecurityOpt"] == ["no-new-privileges"]


def test_no_secret_can_enter_a_layer(person: Person, image: str) -> None:
    """The real .dockerignore, and a Dockerfile that would take everything."""
    box = person()
    context = box.base / "context"
    for name in (
        ".env",
        "docker/.env",
        "dist/flower/flower",
        "dist/claude",
        "runs/x",
        ".git/config",
        "docker/enter",
    ):
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        (context / name).write_text(TOKEN if "env" in name else "")
    (context / ".dockerignore").write_bytes((ROOT / ".dockerignore").read_bytes())
    (context / "docker/Dockerfile").write_text(f"FROM {image}\nCOPY . /context\n")
    words = ["docker", "build", "--quiet", "--file", str(context / "docker/Dockerfile"), str(context)]
    built = subprocess.run(words, env={**box.env, "PATH": os.environ["PATH"]}, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    made = built.stdout.split()[-1]
    try:
        listed = box.docker(
            "run", "--rm", "--network", "none", "--entrypoint", "find", made, "/context", "-type", "f"
        )
    finally:
        box.docker("image", "rm", "--force", made)
    assert sorted(listed.split()) == [
        "/context/dist/claude",
        "/context/dist/flower/flower",
        "/context/docker/enter",
    ]
