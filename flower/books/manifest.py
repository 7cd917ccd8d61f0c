"""manifest.json: one row for each attempt at a step, of every run that ever used these books."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from flower.books import files
from flower.books.files import Notice
from flower.locale import _

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any]
else:
    Row = dict

NAME = "manifest.json"
LOCK_S = 30.0
"""Seconds to wait for another run that holds the lock, a stopped one perhaps, before going on without."""


class Manifest:
    """The rows of one run among those of all others.

    Each write reads the file again under a lock and changes only its own rows, so that runs side by side lose
    nothing of each other. A row whose write fails is kept and written with the next one.

    Args:
        run_dir: where the books are.
        run_id: the run whose rows these are, unique for each.
        notice: told in one line what could not be read or written.
    """

    def __init__(self, run_dir: str | os.PathLike[str], run_id: str, *, notice: Notice) -> None:
        self.path = Path(run_dir) / NAME
        self.run_id = run_id
        self._lock = Path(run_dir) / "manifest.lock"
        self._notice = notice
        self._own: dict[tuple[Any, Any], Row] = {}

    def record(self, row: Mapping[str, Any]) -> bool:
        """Add a row, or replace this run's row of the same ``step`` and ``started_at``; False if not on disk
        yet.

        Tokens in its texts are masked: the manifest is what people paste into reports. Never raises for a disk
        that fails: the run goes on, and the next row tries again.
        """
        # Imported here: those who only look at the manifest have no use for the settings.
        from flower.config.secrets import Masker

        own = {**Masker().value(dict(row)), "run": self.run_id}
        self._own[_identity(own)] = own
        return self._save()

    def rows(self) -> list[Row]:
        """All rows, oldest first, those of this run that are not on disk yet included."""
        return self._merged(read_rows(self.path.parent))

    def flush(self) -> bool:
        """Try once more what could not be written; True if everything is on disk."""
        return not self._own or self._save()

    def _merged(self, rows: list[Any]) -> list[Any]:
        own = dict(self._own)
        merged = [
            own.pop(_identity(row), row) if isinstance(row, dict) and row.get("run") == self.run_id else row
            for row in rows
        ]
        return merged + list(own.values())

    def _save(self) -> bool:
        try:
            with files.locked(self._lock, timeout=LOCK_S, notice=self._notice):
                files.sweep_temporaries(self.path)
                files.write_atomic(self.path, files.dump_json(self._merged(self._read_or_set_aside())))
        except OSError as error:
            # A run must not end because its list of steps cannot be written; the sessions are safe elsewhere.
            self._notice(
                _("{path} could not be written ({reason}); it is tried again with the next step").format(
                    path=self.path, reason=error.strerror or error
                )
            )
            return False
        return True

    def _read_or_set_aside(self) -> list[Any]:
        try:
            return parse(self.path)
        except FileNotFoundError:
            return []
        except ValueError:
            kept = files.set_aside(self.path, f"damaged-{files.timestamp()}")
            self._notice(
                _("{path} was damaged; it is kept as {kept} and a new one begins").format(
                    path=self.path, kept=kept.name
                )
            )
            return []


def _identity(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return (row.get("step"), row.get("started_at"))


def read_rows(run_dir: str | os.PathLike[str]) -> list[Row]:
    """The rows on disk, for those who only look; a missing or damaged file has none. Writes nothing."""
    try:
        found = parse(Path(run_dir) / NAME)
    except (OSError, ValueError):
        return []  # Whoever writes next sets a damaged file aside and says so.
    return [row for row in found if isinstance(row, dict)]


def parse(path: Path) -> list[Any]:
    """The content of a manifest.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is not a manifest.
        OSError: it cannot be read.
    """
    found = files.read_json(path)
    if not isinstance(found, list):
        raise ValueError("not a list")
    return found
