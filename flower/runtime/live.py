"""The directory a session lives in while a CLI process works on it.

Everything temporary of that process is here or registered here, and a kernel lock says that somebody is at work:
what a kill leaves behind is found, read back into the books and removed by the next start.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from flower.books.locks import SessionLease

# A unix socket's path may have 108 bytes; the CLI adds up to 45 below its scratch directory.
_LONGEST_SCRATCH_PARENT = 40
SCRATCH_PREFIX = "flower-"


def _scratch_parent() -> str:
    parent = tempfile.gettempdir()
    if len(os.fsencode(parent)) > _LONGEST_SCRATCH_PARENT and os.access("/tmp", os.W_OK | os.X_OK):
        return "/tmp"
    return parent


class LiveSession:
    """A context: makes the directories on entry, removes them on exit, holds the session's lock in between.

    Args:
        lease: the lock, already taken.
        cwd: where the agent works; names the cache directory whose logs are removed at the end.
    """

    def __init__(self, lease: SessionLease, *, session_id: str, cwd: Path) -> None:
        self._lease = lease
        self.root = Path(lease.directory)
        self.session_id = session_id
        self._cwd = cwd
        self.config = self.root / "config"
        self.scratch = Path()
        self.keep = False
        """Leave the directory: its entries could not be read back and the next start tries again."""

    @property
    def leftover(self) -> bool:
        """An earlier process of this session ended without cleaning up: its files may hold what nobody else has."""
        return self.config.exists()

    def __enter__(self) -> LiveSession:
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.chmod(self.root, 0o700)
        # Left by an earlier process of this session; whoever holds the lease has read it back (``leftover``).
        shutil.rmtree(self.config, ignore_errors=True)
        self.config.mkdir(mode=0o700)
        self.scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=_scratch_parent()))
        (self.root / "scratch").write_text(f"{self.scratch}\n", encoding="utf-8")
        return self

    def transcript(self, project_key: str, session_id: str) -> Path:
        """Where the CLI reads and writes a session's transcript."""
        return self.config / "projects" / project_key / f"{session_id}.jsonl"

    def register_inserted(self, uuids: set[str]) -> None:
        """Remember entries flower put into the resume file itself: they must never be read back as the CLI's."""
        (self.root / "inserted").write_text("".join(f"{u}\n" for u in sorted(uuids)), encoding="utf-8")

    def environment(self) -> dict[str, str]:
        """What points the CLI here."""
        return {"CLAUDE_CONFIG_DIR": str(self.config), "CLAUDE_CODE_TMPDIR": str(self.scratch)}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)
        self._remove_mcp_logs()
        self._lease.release(remove=not self.keep)

    def _remove_mcp_logs(self) -> None:
        # The CLI logs in-process MCP servers into the person's cache directory and offers no other place.
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        from claude_agent_sdk import project_key_for_directory

        place = Path(cache, "claude-cli-nodejs", project_key_for_directory(str(self._cwd)))
        for logs in place.glob("mcp-logs-human*"):
            shutil.rmtree(logs, ignore_errors=True)
        for directory in (place, place.parent):
            try:
                directory.rmdir()
            except OSError:
                break  # not empty or not there: both are right, it is only ours to remove when nothing is left
