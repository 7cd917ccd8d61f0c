"""What the image is made of."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from flower import __version__
from tests.box.box import ROOT, Box
from tests.box.conftest import Person

MEGABYTE = 1_000_000


def inside(box: Box, image: str, script: str) -> str:
    return box.docker("run", "--rm", "--network", "none", "--entrypoint", "sh", image, "-c", script)


def test_no_other_python_node_or_claude_and_what_an_agent_expects(person: Person, image: str) -> None:
    box = person()
    assert inside(box, image, "command -v python3 python node claude; true") == ""
    tools = "git rg jq curl less patch ps unzip xz file".split()
    found = inside(box, image, f"for tool in {' '.join(tools)}; do command -v $tool; done; true")
    assert len(found.split()) == len(tools), found


def test_labels_and_a_small_layer_after_the_large_one(person: Person, image: str) -> None:
    box = person()
    (facts,) = json.loads(box.docker("image", "inspect", image))
    labels = facts["Config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == __version__
    assert {"title", "licenses", "revision"} <= {name.rpartition(".")[2] for name in labels}
    listed = box.docker(
        "history", "--human=false", "--no-trunc", "--format", "{{.Size}} {{.CreatedBy}}", image
    )
    # Newest first. What a change to flower's own code replaces comes after the CLI, and is small.
    copied = [int(line.split()[0]) for line in listed.splitlines() if "COPY" in line]
    assert copied[0] < 100 * MEGABYTE < copied[-1] and len(copied) == 3
    assert sum(size > 100 * MEGABYTE for size in copied) == 1, "claude is in one layer only"


@pytest.mark.soak
@pytest.mark.parametrize("client", ["/usr/bin/docker"])
@pytest.mark.parametrize("buildkit", ["0", "1"])
def test_every_builder_builds_it(person: Person, image: str, client: str, buildkit: str) -> None:
    """With a client that has both: a newer one has BuildKit only as a plugin."""
    if not Path(client).exists():
        pytest.skip(f"no {client}")
    box = person()
    name = f"flower-box-test:buildkit-{buildkit}"
    words = ["build", "--network", "host", "--no-cache", "--tag", name, "--file", "docker/Dockerfile", "."]
    env = {**box.env, "DOCKER_BUILDKIT": buildkit, "PATH": os.environ["PATH"]}
    built = subprocess.run([client, *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert built.returncode == 0, built.stderr[-2000:]
    try:
        assert inside(box, name, "/opt/flower/flower --version") == f"flower {__version__}\n"
        assert ("#1 [internal]" in built.stderr) == (buildkit == "1")
    finally:
        box.docker("image", "rm", name)
