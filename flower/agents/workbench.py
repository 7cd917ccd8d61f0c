"""The workbench: a place on disk for scripts, long output and decisions, shared by all agents of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from flower.agents import rules

DIRECTORY = ".flower"
PARTS = ("scripts", "artifacts", "notes", "spill")
INDEX_NAME = "INDEX.md"
LISTED = ("scripts", "artifacts", "notes")
LIST_LIMIT = 200
"""Entries of one part that the index lists; a directory with more says how many are left out."""

_HEAD_BYTES = 400
Snapshot = dict[str, tuple[int, int]]
"""Path relative to the workbench → (mtime in ns, size in bytes)."""


def isolated_root(workspace: Path) -> Path:
    """Where the workbench is when workers have worktrees: beside the workspace, ``.flower-<name>``."""
    workspace = workspace.resolve()
    return workspace.parent / f"{DIRECTORY}-{workspace.name}"


class Workbench:
    """Four directories and a generated index.

    ``scripts/`` holds what will be run again (a first line ``# desc: …`` shows in the index), ``artifacts/``
    output of more than 2000 characters, ``notes/`` decisions across steps, ``spill/`` large tool results.

    A workbench is an aid: what cannot be read is listed as such, what cannot be written is left out, and
    ``problem`` holds the one line that says so.

    Args:
        root: the directory; it is made by :meth:`create`.
        workspace: the agent's directory. Paths told to models are relative to it when ``root`` is inside,
            absolute otherwise.
    """

    def __init__(self, root: str | Path, *, workspace: str | Path) -> None:
        self.workspace = Path(workspace).resolve()
        self.root = Path(root).resolve()
        self.problem = ""
        self._indexed: Snapshot | None = None

    @property
    def scripts(self) -> Path:
        return self.root / "scripts"

    @property
    def artifacts(self) -> Path:
        return self.root / "artifacts"

    @property
    def notes(self) -> Path:
        return self.root / "notes"

    @property
    def spill(self) -> Path:
        return self.root / "spill"

    @property
    def index(self) -> Path:
        return self.root / INDEX_NAME

    @property
    def shown_root(self) -> str:
        """The root as models are told it."""
        return shown(self.root, self.workspace)

    def create(self) -> Workbench:
        """Make the directories and the index. A directory that cannot be made ends up in ``problem``."""
        try:
            for part in PARTS:
                (self.root / part).mkdir(parents=True, exist_ok=True)
            hide(self.spill)
        except OSError as error:
            # The run can do without its aid; the person is told once through ``problem``.
            self.problem = f"{self.root}: {error.strerror or error}"
            return self
        self.refresh()
        return self

    def contains(self, path: Path) -> bool:
        """Whether a resolved path lies inside the workbench."""
        return path == self.root or self.root in path.parents

    def rules(self) -> str:
        """What an agent is told about the place. The same bytes for the whole life of a session."""
        return rules.text("workbench").replace("{root}", self.shown_root)

    def listing(self) -> str:
        """The index as text: one line for each script, artifact and note."""
        lines: list[str] = []
        for part in LISTED:
            files = [p for p, _, _ in self._files(part)]
            if not files:
                continue
            lines.append(f"## {part}/")
            lines += [f"- {self._line(p)}" for p in files[:LIST_LIMIT]]
            if len(files) > LIST_LIMIT:
                lines.append(f"- … and {len(files) - LIST_LIMIT} more")
            lines.append("")
        return "\n".join(lines).strip()

    def refresh(self) -> None:
        """Write INDEX.md anew if anything on the workbench changed since this object last did."""
        now = self.snapshot()
        if now == self._indexed and self.index.is_file():
            return  # After every command of every agent: looking at sizes and times has to be enough.
        text = f"# {self.shown_root}\n\n{self.listing() or 'Nothing yet.'}\n"
        data = text.encode("utf-8", "replace")
        try:
            if not self.index.is_file() or self.index.read_bytes() != data:
                self._replace_index(data)
            self._indexed = now
        except OSError as error:
            # The index is derived; the run goes on with the files themselves.
            self.problem = f"{self.index}: {error.strerror or error}"

    def _replace_index(self, data: bytes) -> None:
        # Beside it and renamed: several agents refresh at once, a reader never sees half an index.
        temporary = self.root / f".{INDEX_NAME}.{os.getpid()}"
        temporary.write_bytes(data)
        os.replace(temporary, self.index)

    def snapshot(self) -> Snapshot:
        """What is there now, to compare with later."""
        return {
            p.relative_to(self.root).as_posix(): (mtime, size)
            for part in LISTED
            for p, mtime, size in self._files(part)
        }

    def changes(self, since: Snapshot) -> tuple[str, Snapshot]:
        """What appeared, changed or went since a snapshot (empty text: nothing), and the snapshot of now."""
        now = self.snapshot()
        lines = [
            f"- {'changed' if name in since else 'new'}: {self._line(self.root / name)}"
            for name in sorted(now)
            if since.get(name) != now[name]
        ]
        lines += [f"- gone: {readable(name)}" for name in sorted(since) if name not in now]
        if len(lines) > LIST_LIMIT:
            lines = [
                *lines[:LIST_LIMIT],
                f"- … and {len(lines) - LIST_LIMIT} more; see {self.shown_root}/{INDEX_NAME}",
            ]
        return "\n".join(lines), now

    def _files(self, part: str) -> Iterator[tuple[Path, int, int]]:
        """(path, mtime in ns, size) of the regular files of a part, sorted; links are not followed."""
        found: list[tuple[Path, int, int]] = []
        for directory, names, files in os.walk(self.root / part):
            names[:] = sorted(n for n in names if not n.startswith("."))
            for name in files:
                if name.startswith("."):
                    continue
                path = Path(directory, name)
                try:
                    status = path.lstat()
                except OSError:
                    continue  # It went away between listing and looking.
                found.append((path, status.st_mtime_ns, status.st_size))
        return iter(sorted(found))

    def _line(self, path: Path) -> str:
        name = readable(path.relative_to(self.root).as_posix())
        try:
            size = f"{path.lstat().st_size:,} bytes"
            title = _title(path)
        except OSError as error:
            size, title = f"unreadable: {error.strerror or error}", ""
        return f"`{self.shown_root}/{name}` ({size})" + (f": {title}" if title else "")


def first_message(prompt: str, workbench: Workbench | None) -> str:
    """The first user message of a session: what is on the workbench at the start, then the prompt.

    It stands here and not in the system prompt, whose bytes stay the same for the session's whole life.
    """
    listing = workbench.listing() if workbench else ""
    if not workbench or not listing:
        return prompt
    title = f"On the workbench ({workbench.shown_root}) at the start:"
    return f"<workbench>\n{title}\n\n{listing}\n</workbench>\n\n{prompt}"


def hide(directory: Path) -> None:
    """Keep a directory out of commits and of the agents' searches: ``*`` in .gitignore and .ignore."""
    for name in (".gitignore", ".ignore"):
        path = directory / name
        if not path.exists():
            path.write_text("*\n", encoding="utf-8")


def shown(path: Path, workspace: Path) -> str:
    """A path as models are told it: relative inside the workspace, absolute outside."""
    try:
        return readable(path.relative_to(workspace).as_posix())
    except ValueError:
        return readable(str(path))


def readable(name: str) -> str:
    """A file name on one line that can be encoded: control characters and stray bytes as escapes."""
    safe = name.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in safe)


def _title(path: Path) -> str:
    """``# desc: …`` of a script, the first heading or line of a Markdown file, nothing for others."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        lines = file.read(_HEAD_BYTES).decode("utf-8", "replace").splitlines()
    for line in lines[:3]:
        mark, found, rest = line.partition("desc:")
        if found and not mark.strip(" #/;-*%\"'<!"):
            return readable(rest.strip().removesuffix("-->").strip())[:160]
    if path.suffix.lower() == ".md":
        return next((readable(line.lstrip("# ").strip())[:160] for line in lines if line.strip(" #")), "")
    return ""
