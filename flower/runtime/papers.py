"""A handoff on disk: the document a person reads, and beside it who succeeded whom.

The document ends in a comment that names the session it was written for and its generation. Only a file with that last
line is whole: what a full disk, another program or a person cut off is recognised, and the handoff is written again.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from flower.books import files
from flower.books.lineage import plain_step
from flower.documents.handoff import Handoff

PREFIX = "交接-"
ARCHIVE = Path("archive", "交接")

_MARK = re.compile(
    r"<!-- flower: handoff of (?P<session>[0-9a-f-]{36}), generation (?P<generation>\d+) -->\s*\Z"
)
_UNSAFE = re.compile(r"[/\\\x00-\x1f]|^\.+")
_LONGEST_NAME = 180
"""Bytes of a step's name in a file name; file systems take 255, the archive adds a time."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A handoff document as it is on disk.

    Attributes:
        text: without the comment at the end.
        session: the session it was written for, empty where the comment is missing.
        generation: 1 for the step's first handoff.
    """

    text: str
    session: str = ""
    generation: int = 0

    @property
    def complete(self) -> bool:
        """Whether a successor can begin from it."""
        return bool(self.session) and Handoff.parse(self.text).complete

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


class Papers:
    """The handoff documents of one place.

    Args:
        notes: the workbench's ``notes/``, or ``run_dir/handoff`` without one.
        archive: where documents go that a newer one replaces.
    """

    def __init__(self, notes: Path, archive: Path) -> None:
        self._notes, self._archive = notes, archive

    def path(self, step: str, *, beside: str = "") -> Path:
        """The document of a step. ``beside`` is a session that works beside the step's own: it has its own."""
        name = _UNSAFE.sub("_", plain_step(step) or step).encode()[:_LONGEST_NAME].decode("utf-8", "ignore")
        return self._notes / (f"{PREFIX}{name}-{beside[:8]}.md" if beside else f"{PREFIX}{name}.md")

    def read(self, path: Path) -> Paper | None:
        """What stands there now, None if nothing does. A person's edits are part of it."""
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None  # Missing or unreadable: the handoff is written again, nothing depends on this copy.
        if found := _MARK.search(text):
            return Paper(text[: found.start()].strip() + "\n", found["session"], int(found["generation"]))
        return Paper(text.strip() + "\n")

    def freeze(self, path: Path, text: str, session: str, generation: int) -> Paper:
        """Replace the document, whole or not at all; what stood there moves to the archive.

        Raises:
            OSError: it could not be written; the old one is in its place or in the archive.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self.put_away(path)
        body = text.strip() + "\n"
        mark = f"<!-- flower: handoff of {session}, generation {generation} -->\n"
        files.write_atomic(path, (f"{body}\n{mark}").encode("utf-8", "replace"))
        return Paper(body, session, generation)

    def put_away(self, path: Path) -> None:
        """Move the document, if there is one, to the archive."""
        if not path.exists():
            return
        self._archive.mkdir(parents=True, exist_ok=True)
        target = self._archive / f"{path.stem}-{files.timestamp()}.md"
        n = 1
        while target.exists():
            n += 1
            target = self._archive / f"{path.stem}-{files.timestamp()}-{n}.md"
        files.ops.replace(str(path), str(target))
        files.sync_directory(str(self._archive))


@dataclass(frozen=True, slots=True)
class Succession:
    """Who goes on with a session's work.

    Attributes:
        successor: its id. It counts once it has an entry in the books.
        generation: 1 for the first handoff of the step.
        path: the document it began from.
        digest: of the document as the successor was last told it.
    """

    successor: str
    generation: int
    path: str
    digest: str


class Register:
    """One small file for each session that was handed off, and one for each that began from a handoff.

    The lineage only names a step's last session. This is what joins the last two when a kill comes between the
    successor's first entry and the lineage's next write, and what knows which words of a document a session has heard.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def note(self, session: str, succession: Succession) -> None:
        """Durable before the successor begins.

        Raises:
            OSError: it could not be written.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        heard = {"predecessor": session, **asdict(succession)}
        files.write_atomic(self._directory / f"{succession.successor}.heard.json", files.dump_json(heard))
        files.write_atomic(self._directory / f"{session}.json", files.dump_json(asdict(succession)))

    def successor(self, session: str) -> Succession | None:
        """Who was chosen to go on with this session's work."""
        return self._read(self._directory / f"{session}.json")

    def heard(self, session: str) -> Succession | None:
        """What this session began from, None for one that began from a request."""
        return self._read(self._directory / f"{session}.heard.json")

    def hear(self, session: str, digest: str) -> None:
        """The session has been told the document as it is now.

        Raises:
            OSError: it could not be written.
        """
        path = self._directory / f"{session}.heard.json"
        files.write_atomic(path, files.dump_json({**files.read_json(path), "digest": digest}))

    def _read(self, path: Path) -> Succession | None:
        try:
            found = files.read_json(path)
            return Succession(
                str(found["successor"]), int(found["generation"]), str(found["path"]), str(found["digest"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None  # Missing or damaged: the document itself says whose it is.
