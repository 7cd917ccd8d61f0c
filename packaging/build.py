"""Builds the frozen flower: the tree ``dist/flower/`` and the one file ``dist/flower-<version>-<system>-<arch>``.

    python packaging/build.py [--out dist] [--level 10] [--tree-only]

Two builds of one commit on one system are the same byte for byte, wherever the checkout lies. Needs the
``freeze`` extra, a C compiler and libzstd's static library.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bundle
import scrub

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
BUILD_FACTS = Path("_internal/flower/build.json")
CLAUDE = Path("_internal/claude_agent_sdk/_bundled/claude")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the frozen flower.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where to put it (default: dist)")
    parser.add_argument("--level", type=int, default=10, help="of zstd; a release uses 19 (default: 10)")
    parser.add_argument("--tree-only", action="store_true", help="stop before the one file is made")
    said = parser.parse_args()
    out = said.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="flower-build-") as scratch:
        tree = freeze(Path(scratch), out)
        if said.tree_only:
            return
        name = f"flower-{version()}-{sys.platform}-{architecture()}"
        bundle.write(tree, out / name, Path(scratch), level=said.level, version=version())
    bundle.write_checksums(out, [name])
    print(f"{out / name}: {(out / name).stat().st_size / 1e6:.1f} MB")


def project() -> dict[str, object]:
    with (ROOT / "pyproject.toml").open("rb") as stream:
        return tomllib.load(stream)


def version() -> str:
    """The version, from the file pyproject.toml names as its place."""
    settings: dict = project()["tool"]["hatch"]["version"]  # type: ignore[index]
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / settings["path"]).read_text(encoding="utf-8"), re.M)
    if not found:
        sys.exit(f"{settings['path']} has no __version__")
    return found[1]


def architecture() -> str:
    return {"amd64": "x86_64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def freeze(scratch: Path, out: Path) -> Path:
    """The onedir tree at ``out/flower``, claude included; an older one there is replaced."""
    from hatch_build import compile_catalogues

    compile_catalogues(ROOT)
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT),  # this checkout's flower, whatever the environment has installed
        "SOURCE_DATE_EPOCH": commit_time(),
        # Not the user's: what an earlier build stripped there would be taken for this one's.
        "PYINSTALLER_CONFIG_DIR": str(scratch / "config"),
        "PYTHONDONTWRITEBYTECODE": "1",
        # The one file is compressed as a whole: modules compressed one by one before that are a third larger in it.
        "PYINSTALLER_ZLIB_COMPRESSION_LEVEL": "0",
    }
    places = ["--distpath", str(scratch / "dist"), "--workpath", str(scratch / "work")]
    freezer = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN", *places]
    subprocess.run(
        [*freezer, str(ROOT / "packaging" / "flower.spec")], check=True, env=environment, cwd=scratch
    )
    tree = scratch / "dist" / "flower"
    open_base_library(tree)
    scrub.remove_paths(tree)
    facts = {
        "glibc": scrub.glibc_floor(tree),
        "arch": architecture(),
        "python": platform.python_version(),
        **sdk(),
    }
    (tree / BUILD_FACTS).write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    scrub.normalise_modes(tree)
    put_claude(tree)
    shutil.rmtree(out / "flower", ignore_errors=True)
    shutil.move(tree, out / "flower")
    return out / "flower"


def open_base_library(tree: Path) -> None:
    """A directory instead of the zip file of the same name: every start reads some forty modules out of it.

    Python takes either as a place for modules; as a directory it is opened a tenth faster.
    """
    library = tree / "_internal" / "base_library.zip"
    packed = library.with_suffix(".packed")
    library.rename(packed)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(library)
    packed.unlink()


def sdk() -> dict[str, str]:
    """Versions of the SDK and of the CLI inside it."""
    from importlib.metadata import version as installed

    cli = bundled_claude().with_name("claude.version")
    source = (bundled_claude().parent.parent / "_cli_version.py").read_text(encoding="utf-8")
    found = re.search(r'__cli_version__ = "(.+)"', source)
    return {"sdk": installed("claude-agent-sdk"), "claude": found[1] if found else cli.read_text().strip()}


def bundled_claude() -> Path:
    import importlib.util

    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("claude-agent-sdk is not installed")
    claude = Path(spec.submodule_search_locations[0], "_bundled", "claude")
    if not claude.is_file():
        sys.exit(f"{claude} is missing: this claude-agent-sdk brings no CLI for this platform")
    return claude


def put_claude(tree: Path) -> None:
    """claude as it is: its program text is appended to the executable, and strip would cut it off."""
    target = tree / CLAUDE
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(bundled_claude(), target)
    target.chmod(0o755)


def commit_time() -> str:
    """SOURCE_DATE_EPOCH: the one given, else the time of the commit, else a fixed day (a tree without git)."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return given
    asked = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    try:
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "1700000000"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
