"""ledger.json: what the runs under one budget have spent, so that a budget outlives the process that was given it.

An account is opened by the first run with a budget and closed when a run comes to its end. A run that was killed, or
that the budget itself stopped, leaves it open: the next one with a budget goes on with it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from flower.books import files
from flower.books.files import Notice
from flower.locale import _

NAME = "ledger.json"
LOCK_S = 10.0


class Ledger:
    """The open account of one ``run_dir``.

    A disk that fails does not end a run: what could not be written is said once, and written with the next amount.

    Args:
        run_dir: where the books are.
        notice: told in one line what could not be read or written.
    """

    def __init__(self, run_dir: str | os.PathLike[str], *, notice: Notice) -> None:
        self.path = Path(run_dir) / NAME
        self._lock = Path(run_dir) / "ledger.lock"
        self._notice = notice
        self._complained = False

    def spent_by_others(self, run_id: str) -> float:
        """US dollars that the account's other runs have spent; 0.0 without an account."""
        return sum(usd for run, usd in _amounts(self._read()).items() if run != run_id)

    def record(self, run_id: str, usd: float) -> bool:
        """Set what a run has spent so far; False if it is not on disk."""
        return self._change({run_id: usd})

    def close(self) -> bool:
        """The account is settled: the next run with a budget opens another."""
        try:
            with files.locked(self._lock, timeout=LOCK_S, notice=self._notice):
                files.ops.unlink(str(self.path))
        except FileNotFoundError:
            pass
        except OSError as error:
            self._complain(error)
            return False
        return True

    def _change(self, amounts: dict[str, float]) -> bool:
        try:
            with files.locked(self._lock, timeout=LOCK_S, notice=self._notice):
                book = self._read()
                runs = {**_amounts(book), **amounts}
                since = book.get("since") or round(time.time(), 3)
                files.write_atomic(self.path, files.dump_json({"since": since, "runs": runs}))
        except OSError as error:
            # The limit is kept in memory as well; only a kill from here on would forget what is missing here.
            self._complain(error)
            return False
        self._complained = False
        return True

    def _read(self) -> dict[str, Any]:
        try:
            book = files.read_json(self.path)
            if isinstance(book, dict):
                return book
            raise ValueError("not an object")
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._complain(error)
            return {}
        except ValueError:
            aside = files.set_aside(self.path, f"damaged-{files.timestamp()}")
            text = _(
                "{path} was damaged and is kept as {aside}; what was spent before is not counted any more"
            )
            self._notice(text.format(path=self.path, aside=aside.name))
            return {}

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            text = _(
                "{path} could not be read or written ({reason}); a kill would forget what this run has spent"
            )
            self._notice(text.format(path=self.path, reason=error.strerror or error))


def _amounts(book: dict[str, Any]) -> dict[str, float]:
    runs = book.get("runs")
    pairs = runs.items() if isinstance(runs, dict) else ()
    return {str(run): float(usd) for run, usd in pairs if isinstance(usd, (int, float)) and usd >= 0}
