"""A directory is really moved, adopted with the installed command, and the next `flower` goes on with its conversation."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from claude_agent_sdk import project_key_for_directory

from flower.books.locks import RunLease
from flower.testing import ScriptedEndpoint
from tests.e2e.harness import Place
from tests.recorded import snapshot

WORDS = "make a md -> html script"


def moved(place: Place, to: Path) -> Place:
    to.parent.mkdir(parents=True, exist_ok=True)
    os.rename(place.dir, to)
    return Place(to, place.home, place.env)


def adopt(place: Place, *words: str) -> str:
    done = place.run("adopt", *words)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def goes_on(place: Place, endpoint: ScriptedEndpoint, session: str, wake: int) -> None:
    """The next run continues the session with its whole history, subagents' reports included."""
    seen = len(endpoint.requests)
    done = place.run()
    assert done.returncode == 0, done.stderr[-2000:]
    # The goal is set again first where words were added.
    continued = [r.request for r in endpoint.requests[seen:] if r.request.session_id == session]
    assert continued and any(call.name == "Agent" for call in continued[0].calls)
    assert place.lineage["woke"] == wake and place.lineage["steps"]["干活"] == session
    assert place.integrity() == "ok"


def test_moved_across_a_link_into_the_same_key_and_after_a_start_at_the_new_place(
    used: Place, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    session, steps = used.lineage["steps"]["干活"], used.lineage["steps"]

    # A path with the same key under the SDK's rule.
    twin = moved(used, used.dir.parent / "b" / "c")
    assert project_key_for_directory(str(used.dir)) == project_key_for_directory(str(twin.dir))
    before = snapshot(twin.dir)
    shown = adopt(twin, "--dry-run")
    assert str(used.dir) in shown and "as they are" in shown and snapshot(twin.dir) == before
    adopt(twin)
    goes_on(twin, endpoint, session, 2)

    # Through a symbolic link to another place.
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    linked = Place(tmp_path / "link" / "proj", twin.home, twin.env)
    moved(twin, tmp_path / "disk" / "proj")
    assert session in adopt(linked)
    assert linked.lineage["workspace"] == str(tmp_path / "disk" / "proj")

    # Somebody starts flower at the new place before adopting.
    last = moved(linked, tmp_path / "last")
    begun = last.run("go", "--clarify-only", "something")
    assert begun.returncode == 0 and "flower adopt" in begun.stderr
    assert last.lineage["steps"] != steps
    adopt(last)
    assert last.lineage["steps"] == steps and list(last.runs.glob("lineage.json.replaced-*"))
    goes_on(last, endpoint, session, 3)


def test_refused_while_a_run_is_live_and_killed_in_the_middle(
    used: Place, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    session = used.lineage["steps"]["干活"]
    new = moved(used, tmp_path / "new")
    before = snapshot(new.dir)
    lease = RunLease.acquire(new.runs, "somebody")
    assert isinstance(lease, RunLease)
    refused = new.run("adopt")
    assert refused.returncode == 6 and "somebody" in refused.stderr
    lease.release()
    assert {n: v for n, v in snapshot(new.dir).items() if "/live/" not in n} == {
        n: v for n, v in before.items() if "/live/" not in n
    }

    started = time.monotonic()
    adopt(new, "--dry-run")
    whole = time.monotonic() - started
    for part in (0.5, 0.8, 0.9, 1.0, 1.1):  # Somewhere in it, whatever the machine's speed.
        process = new.start("adopt", start_new_session=True)
        time.sleep(whole * part)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert new.lineage["workspace"] in (str(used.dir), str(new.dir)) and new.integrity() == "ok"
    done = new.run("adopt")
    assert done.returncode == 0 or "nothing to adopt" in done.stderr or "no other directory" in done.stderr
    goes_on(new, endpoint, session, 2)
