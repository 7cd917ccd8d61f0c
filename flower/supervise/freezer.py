"""What PyInstaller's boot loader leaves in the environment. Imports nothing: every start of the one file needs it."""

from __future__ import annotations


def without_freezer(environ: dict[str, str]) -> dict[str, str]:
    """The environment as it was before a boot loader changed it for its own libraries.

    Equal to what was given where no boot loader left its marks: undone once, it is not undone again.
    """
    if not any(name.startswith("_PYI_") for name in environ):
        return dict(environ)
    out = {k: v for k, v in environ.items() if not k.startswith(("_PYI_", "PYINSTALLER_"))}
    out.pop("LD_LIBRARY_PATH", None)
    if (original := out.pop("LD_LIBRARY_PATH_ORIG", None)) is not None:
        out["LD_LIBRARY_PATH"] = original
    return out
