"""The books of one run directory as values; what is damaged or missing is named instead of raised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flower.books import files, lineage, manifest
from flower.books.adoption import pending_adoption
from flower.books.wake import pending_moves_quietly
from flower.locale import _
from flower.model import BooksError, UsageError
from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

    from flower.inspect.database import Database

DATABASE = "sessions.db"


class Problem(NamedTuple):
    """Something that needs attention.

    Attributes:
        file: the file it is about.
        what: what is wrong with it, in the person's language.
        todo: what to do about it, empty if nothing has to be done.
    """

    file: str
    what: str
    todo: str = ""


class Books:
    """What the plain files of a run directory say to one workspace.

    Attributes:
        steps: step name to session id; empty unless the lineage is this workspace's.
        woke: how often a run began here.
        other: the workspace that the lineage in place is about, if it is not this one.
        rows: of the manifest, oldest first.
        problems: damaged files.
    """

    def __init__(self, run_dir: Path, workspace: Path) -> None:
        self.run_dir = run_dir
        self.workspace = files.canonical(workspace)
        self.steps: dict[str, str] = {}
        self.woke = 0
        self.other = ""
        self.rows: list[dict[str, Any]] = []
        self.problems: list[Problem] = []

    @classmethod
    def read(cls, run_dir: Path, workspace: Path) -> Books:
        """Read lineage and manifest. Writes nothing; the database is not opened."""
        books = cls(run_dir, workspace)
        books._read_lineage()
        found = books._parsed(run_dir / manifest.NAME, manifest.parse)
        books.rows = [row for row in found or [] if isinstance(row, dict)]
        return books

    def _read_lineage(self) -> None:
        path = self.run_dir / lineage.NAME
        leaving = {source for source, _target in pending_moves_quietly(self.run_dir)}
        content = None
        if str(path.absolute()) not in leaving:
            content = self._parsed(path, lineage.parse)
        if content is not None and files.canonical(content["workspace"]) != self.workspace:
            self.other, content = content["workspace"], None
        if (adoption := pending_adoption(self.run_dir)) and adoption["new"] == self.workspace:
            content = adoption["lineage"] or content
        if content is None and (waiting := lineage.find_put_aside(self.run_dir, self.workspace)):
            content = waiting[1]
        if content is not None:
            self.woke, self.steps = content["woke"], dict(content["steps"])

    def _parsed(self, path: Path, parse: Any) -> Any:
        try:
            return parse(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            what = _("cannot be read: {reason}").format(reason=error.strerror)
            self.problems.append(Problem(str(path), what, _("Check who may read it.")))
        except ValueError:
            todo = _("The next run keeps it under another name and begins a new one.")
            self.problems.append(Problem(str(path), _("damaged"), todo))
        return None

    @contextmanager
    def database(self) -> Iterator[Database | None]:
        """The database; None, with the reason among ``problems``, if it cannot be looked into."""
        path = self.run_dir / DATABASE
        if not path.exists():
            yield None
            return
        try:
            opened = self.open_database()
        except BooksError as error:
            self.problems.append(Problem(str(path), error.message, error.hint))
            yield None
            return
        with opened:
            try:
                yield opened
            except BooksError as error:
                # Damage that shows only while reading: what was found until then stays.
                self.problems.append(Problem(str(path), error.message, error.hint))

    def open_database(self) -> Database:
        """The database, for those who can do nothing without.

        Raises:
            BooksError: it cannot be looked into.
        """
        # Imported here: where there is no database SQLite is not needed, and it takes its time to load.
        from flower.inspect.database import Database

        return Database(self.run_dir / DATABASE)

    def steps_of(self, session_id: str) -> list[str]:
        """Every name under which the manifest and the lineage know a session, each once."""
        named = [str(row.get("step", "")) for row in self.rows if session_id in sessions_of(row)]
        named += [step for step, session in self.steps.items() if session == session_id]
        plain = [lineage.plain_step(name) or name for name in named]
        return list(dict.fromkeys(filter(None, plain)))


def sessions_of(row: dict[str, Any]) -> list[str]:
    """The sessions a row of the manifest names: the one it ended in and those handed off."""
    retired = row.get("retired")
    named = [row.get("session_id"), *(retired if isinstance(retired, list) else [])]
    return [session for session in named if isinstance(session, str) and session]


def find_session(database: Database, books: Books, wanted: str) -> tuple[str, str]:
    """The project key and id of the session a person means: an id, its beginning, or the name of a step.

    Raises:
        UsageError: no session is meant, or several are.
    """
    everything = database.transcripts()
    wanted_id = books.steps.get(wanted, wanted)
    exact = [t for t in everything if t.session_id == wanted_id]
    found = exact or [t for t in everything if len(wanted) >= 4 and t.session_id.startswith(wanted)]
    if not found:
        raise UsageError(
            _("no session {wanted} in {path}").format(wanted=wanted, path=database.path),
            hint=_("`flower sessions` lists them."),
        )
    ids = {t.session_id for t in found}
    if len(ids) > 1:
        raise UsageError(
            _("{wanted} is the beginning of {n} sessions: {ids}").format(
                wanted=wanted, n=len(ids), ids=", ".join(sorted(ids))
            )
        )
    return found[0].project_key, found[0].session_id
