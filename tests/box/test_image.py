"""What the image is made of."""

from __future__ import annotations

import json

from flower import __version__
from tests.box.box import Box
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
