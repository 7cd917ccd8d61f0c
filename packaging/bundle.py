"""The one file: the launcher, and behind it the compressed tree.

Layout: the launcher's ELF file; from the offset written into it, one zstd frame that holds the manifest and
then the contents of every file in the manifest's order. The manifest is text, one line an entry:
``f <mode> <size> <blake2b-256> <path>``, ``d <path>`` or ``l <target>\\t<path>``.
"""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import sys
from pathlib import Path

import zstandard

LAUNCHER = Path(__file__).parent / "launcher"
SEAL = b"flower-seal-v1\0\0"
SEAL_FORMAT = "<16sQQQQ32s32s32s"
"""Mark, offset and size of the frame, size of the manifest, size of the unpacked tree, BLAKE2b of the manifest, name
of the unpacked directory, version: what the launcher knows about what follows it."""


def write(tree: Path, target: Path, scratch: Path, *, level: int, version: str) -> None:
    """Make the executable ``target`` out of ``tree``."""
    launcher = compile_launcher(scratch / "launcher").read_bytes()
    text, files = manifest(tree)
    frame = scratch / "frame.zst"
    compress(text, files, frame, level)
    digest = hashlib.blake2b(text, digest_size=32).digest()
    seal = struct.pack(
        SEAL_FORMAT,
        SEAL,
        len(launcher),
        frame.stat().st_size,
        len(text),
        sum(path.stat().st_size for path in files),
        digest,
        digest.hex()[:16].encode(),
        version.encode(),
    )
    at = launcher.index(SEAL)
    if launcher.count(SEAL) != 1:
        sys.exit("the launcher's seal must occur once")
    fresh = target.with_name(f"{target.name}.part")
    with fresh.open("wb") as out:
        out.write(launcher[:at] + seal + launcher[at + len(seal) :])
        with frame.open("rb") as stream:
            while block := stream.read(1 << 20):
                out.write(block)
    fresh.chmod(0o755)
    fresh.replace(target)


def manifest(tree: Path) -> tuple[bytes, list[Path]]:
    """The manifest of a tree, sorted by path, and its regular files in that order."""
    lines, files = [], []
    for path in sorted(tree.rglob("*"), key=lambda p: os.fsencode(p.relative_to(tree))):
        name = path.relative_to(tree).as_posix()
        if "\n" in name:
            sys.exit(f"{name!r}: a name with a line break")
        if path.is_symlink():
            lines.append(f"l {os.readlink(path)}\t{name}\n")
        elif path.is_dir():
            lines.append(f"d {name}\n")
        else:
            stat = path.stat()
            lines.append(f"f {stat.st_mode & 0o777:o} {stat.st_size} {digest_of(path)} {name}\n")
            files.append(path)
    return "".join(lines).encode(), files


def digest_of(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=32)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def compress(text: bytes, files: list[Path], target: Path, level: int) -> None:
    """One zstd frame. Worker threads do not change its bytes as long as there is at least one."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, threads=os.cpu_count() or 1, write_checksum=True, window_log=25 if level > 15 else 23
    )
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    size = len(text) + sum(path.stat().st_size for path in files)
    with target.open("wb") as out, compressor.stream_writer(out, size=size, closefd=False) as stream:
        stream.write(text)
        for path in files:
            with path.open("rb") as source:
                while block := source.read(1 << 20):
                    stream.write(block)


def compile_launcher(target: Path) -> Path:
    """The launcher, static on Linux: it must run where nothing is installed."""
    sources = sorted(str(path) for path in LAUNCHER.glob("*.c"))
    flags = [
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pthread",
        "-ffunction-sections",
        "-fdata-sections",
    ]
    if sys.platform == "linux":
        libraries = ["-static", "-s", "-Wl,--gc-sections,--build-id=none", "-lzstd"]
    else:
        libraries = [f"{homebrew()}/lib/libzstd.a", f"-I{homebrew()}/include", "-Wl,-dead_strip"]
    compiler = os.environ.get("CC", "cc")
    # Relative names: what __FILE__ and the debugger would tell is where the checkout lies.
    names = [os.path.relpath(source, LAUNCHER) for source in sources]
    subprocess.run([compiler, *flags, "-o", str(target), *names, *libraries], check=True, cwd=LAUNCHER)
    return target


def homebrew() -> str:
    return subprocess.run(
        ["brew", "--prefix", "zstd"], check=True, capture_output=True, text=True
    ).stdout.strip()


def write_checksums(directory: Path, names: list[str]) -> None:
    """``SHA256SUMS``, as ``sha256sum -c`` reads it."""
    lines = []
    for name in sorted(names):
        digest = hashlib.sha256()
        with (directory / name).open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        lines.append(f"{digest.hexdigest()}  {name}\n")
    (directory / "SHA256SUMS").write_text("".join(lines), encoding="ascii")
