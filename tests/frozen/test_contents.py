"""What is in the built file: nothing of the machine it was built on, claude untouched, not too much."""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import shutil
import socket
import subprocess
import sys
import types
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLAUDE = Path("_internal/claude_agent_sdk/_bundled/claude")
# Read before the tests empty the environment.
SECRETS = [
    v
    for k, v in os.environ.items()
    if len(v) > 8 and any(w in k for w in ("TOKEN", "SECRET", "PASSWORD", "_KEY"))
]
HOME = os.environ.get("HOME", "/root")


def telling() -> list[bytes]:
    """What names this machine, the checkout and its owner."""
    named = {str(ROOT), sys.prefix, socket.gethostname(), "flower-build-", *SECRETS}
    if HOME != "/root":  # that is also where other people's wheels were built
        named.add(f"{HOME}/")
    if not sys.base_prefix.startswith("/usr"):
        named.add(sys.base_prefix)
    return [name.encode() for name in named if len(name) > 5]


def bundled_claude() -> Path:
    spec = importlib.util.find_spec("claude_agent_sdk")
    assert spec and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0], "_bundled", "claude")


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def modules(tree: Path) -> Iterator[tuple[str, bytes]]:
    """Every module of the frozen program: its name and its marshalled code."""
    from PyInstaller.archive.readers import CArchiveReader

    program = CArchiveReader(str(tree / "flower"))
    archive = program.open_embedded_archive("PYZ.pyz")
    for name in archive.toc:
        data = archive.extract(name, raw=True)
        if data:
            yield name, data
    for name in program.toc:
        if not name.startswith("PYZ"):
            yield name, program.extract(name)
    for path in (tree / "_internal" / "base_library.zip").rglob("*.pyc"):
        yield path.name, path.read_bytes()[16:]


def test_no_file_tells_where_it_was_built(binary: Path, tree: Path) -> None:
    with binary.open("rb") as file:
        launcher = file.read(4_000_000)  # and some of what is compressed behind it
    assert [name for name in telling() if name in launcher] == []
    for path in tree.rglob("*"):
        if path.is_file() and path.relative_to(tree) != CLAUDE:
            data = path.read_bytes()
            assert [name for name in telling() if name in data] == [], path
            assert path.name not in ("RECORD", "direct_url.json", "INSTALLER"), path


def test_nothing_is_inside_that_flower_does_not_ask_for(tree: Path) -> None:
    """Packages use others where they find them: what this environment holds besides must not matter."""
    sys.path.insert(0, str(ROOT / "packaging"))
    from contents import not_ours

    others = set(not_ours())
    assert {"pytest", "yaml", "PyInstaller"} <= others and not {"flower", "mcp"} & others
    inside = {name.partition(".")[0] for name, _ in modules(tree)}
    assert not inside & others
    assert not others & {path.name.partition(".")[0] for path in (tree / "_internal").iterdir()}


def test_no_module_tells_where_it_was_built(tree: Path) -> None:
    names = []
    for name, data in modules(tree):
        names.append(name)
        assert [word for word in telling() if word in data] == [], name
        try:
            code = marshal.loads(data)
        except (ValueError, EOFError, TypeError):
            continue  # the boot loader's own parts that are no code
        if isinstance(code, types.CodeType):
            for part in code_objects(code):
                assert not os.path.isabs(part.co_filename), (name, part.co_filename)
    assert "flower.cli.main" in names and "sqlite3" in names and "zoneinfo" in names


def test_claude_is_the_sdks_own_byte_for_byte(tree: Path) -> None:
    digests = {hashlib.sha256(path.read_bytes()).digest() for path in (tree / CLAUDE, bundled_claude())}
    assert len(digests) == 1
    assert os.access(tree / CLAUDE, os.X_OK)


def test_what_is_read_at_run_time_is_inside(tree: Path) -> None:
    inside = tree / "_internal" / "flower"
    for path in (ROOT / "flower").rglob("*"):
        copy = inside / path.relative_to(ROOT / "flower")
        if path.suffix in (".md", ".sh") or path.name == "plugin.json":
            assert copy.read_bytes() == path.read_bytes()
        elif path.suffix == ".mo":
            assert copy.stat().st_size > 1000
    assert os.access(inside / "supervise" / "claude-guard.sh", os.X_OK)
    # Without the SDK's own version the CLI would not be started early, and nobody would notice.
    (sdk,) = (tree / "_internal").glob("claude_agent_sdk-*.dist-info/METADATA")
    assert f"\nVersion: {metadata.version('claude-agent-sdk')}\n" in sdk.read_text("utf-8")
    ours = {name for name, _ in modules(tree) if name.split(".")[0] == "flower"}
    wanted = {module_name(path) for path in (ROOT / "flower").rglob("*.py")}
    assert wanted - ours == {"flower.locale.maintain"}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_it_is_no_larger_than_it_must_be(binary: Path, tree: Path) -> None:
    import zstandard

    others = sum(p.stat().st_size for p in tree.rglob("*") if p.is_file() and p.name != "claude")
    assert others < 75e6  # unpacked; compressed it is about a third
    claude = tree / CLAUDE
    parameters = zstandard.ZstdCompressionParameters.from_level(3, threads=2)
    fast = len(zstandard.ZstdCompressor(compression_params=parameters).compress(claude.read_bytes()))
    assert binary.stat().st_size < 1.15 * fast


def test_the_checksums_are_right(binary: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=binary.parent, check=True)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["tree", "file"])
def test_a_second_build_elsewhere_has_the_same_bytes(
    binary: Path, tree: Path, tmp_path: Path, whole: bool
) -> None:
    """From another copy of the sources, in another place, by somebody with other habits."""
    elsewhere = tmp_path / "another" / "checkout"
    kept = shutil.ignore_patterns("__pycache__", "*_cache", "dist", "build")
    for name in ("flower", "packaging"):
        shutil.copytree(ROOT / name, elsewhere / name, ignore=kept)
    for name in ("pyproject.toml", "hatch_build.py"):
        shutil.copy(ROOT / name, elsewhere)
    (tmp_path / "tmp").mkdir()
    habits = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp"), "TZ": "Asia/Seoul", "LANG": "C"}
    words = ["packaging/build.py", "--out", str(tmp_path / "out"), *([] if whole else ["--tree-only"])]
    done = subprocess.run(
        [sys.executable, *words], cwd=elsewhere, env={"PATH": os.environ["PATH"], **habits}, umask=0o077,
        capture_output=True, text=True, timeout=540,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = listing(tree), listing(tmp_path / "out" / "flower")
    assert first == second, sorted(set(first.items()) ^ set(second.items()))
    if whole:
        assert (tmp_path / "out" / binary.name).read_bytes() == binary.read_bytes()


def listing(tree: Path) -> dict[str, tuple[int, str]]:
    """Mode and digest of everything but claude, which is only copied."""
    found = {}
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if path.is_symlink():
            found[name] = (0, os.readlink(path))
        elif path.is_file() and path.relative_to(tree) != CLAUDE:
            found[name] = (path.stat().st_mode & 0o777, hashlib.sha256(path.read_bytes()).hexdigest())
    return found


@pytest.fixture(autouse=True)
def as_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """The build finds its compiler and git by PATH alone; nothing else of the environment may matter."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
