"""What the global options say, once they are understood."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flower import locale
from flower.cli.terminal import is_interactive
from flower.locale import _
from flower.model import UsageError
from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

    from flower.cli.jsonl import JsonLines
    from flower.cli.keyboard import Typed


class Settings(NamedTuple):
    """What the global options say.

    Attributes:
        workspace: resolved; named on purpose if ``workspace_given``.
        run_dir: relative to the current directory, not to the workspace.
        verbose: show thoughts, results and tracebacks.
        json: the sink of ``--json``, None without it.
        workbench, trim: ``-W`` and ``-T``.
        interactive: somebody can be asked.
    """

    workspace: Path
    workspace_given: bool
    run_dir: Path
    run_dir_given: bool
    verbose: bool
    json: JsonLines | None
    workbench: bool
    trim: bool
    interactive: bool

    def check_workspace(self) -> None:
        """Refuses ``/`` and the home directory unless ``-w`` says so on purpose.

        Raises:
            UsageError: the current directory is one of them.
        """
        if self.workspace_given:
            return
        if self.workspace in (Path("/"), Path.home().resolve()):
            raise UsageError(
                _("an agent would work in {path} itself.").format(path=self.workspace),
                hint=_("Change into a project's directory, or say -w {path} if you mean it.").format(
                    path=self.workspace
                ),
            )

    def open_keyboard(self) -> Typed | None:
        """What reads the person's lines; None where nobody can be asked."""
        from flower.cli.keyboard import open_keyboard

        return open_keyboard(interactive=self.interactive, plain=self.json is not None)

    def make_workspace(self) -> None:
        """Make the workspace if it is missing.

        Raises:
            UsageError: it cannot be made, or is no directory.
        """
        self.check_workspace()
        try:
            self.workspace.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"-w {self.workspace}: {error.strerror}") from error


def settings_from(said: Mapping[str, Any], sink: JsonLines | None) -> Settings:
    """The settings out of the values of the global options that were given, by name.

    Raises:
        UsageError: a directory is named by nothing.
    """
    if language := said.get("lang"):
        locale.use(language)
    for name in ("workspace", "run_dir"):
        if said.get(name) == "":
            raise UsageError(_("--{option} needs a directory").format(option=name.replace("_", "-")))
    return Settings(
        workspace=Path(said.get("workspace") or ".").expanduser().resolve(),
        workspace_given="workspace" in said,
        run_dir=Path(said.get("run_dir") or "runs").expanduser().absolute(),
        run_dir_given="run_dir" in said,
        verbose=bool(said.get("verbose")),
        json=sink,
        workbench=bool(said.get("workbench")),
        trim=bool(said.get("trim")),
        interactive=is_interactive(),
    )
