"""What file system a path is on: SQLite's write-ahead log needs shared memory, which only local ones have."""

from __future__ import annotations

import os
import re

_ESCAPED = re.compile(rb"\\([0-7]{3})")
_REMOTE = frozenset(
    # One family a line: disk sharing, the Unix ones, clusters, what virtual machines give their guests.
    {"cifs", "smb3", "smbfs", "davfs", "ncpfs"}
    | {"nfs", "nfs4", "afs", "coda", "fuse", "fuseblk"}
    | {"ceph", "glusterfs", "gfs2", "lustre", "ocfs2", "orangefs", "pvfs2"}
    | {"9p", "virtiofs", "vboxsf", "vmhgfs", "prl_fs"}
)


def filesystem_type(path: str | os.PathLike[str]) -> str:
    """The type of the file system that holds ``path`` (``ext4``, ``nfs4``, ``fuse.sshfs``); "" if unknown."""
    real = os.path.realpath(path)
    best, kind = -1, ""
    try:
        with open("/proc/self/mountinfo", "rb") as table:
            for line in table:
                left, found, right = line.partition(b" - ")
                fields = left.split()
                if not found or len(fields) < 5:
                    continue
                mount = os.fsdecode(_ESCAPED.sub(lambda m: bytes([int(m[1], 8)]), fields[4]))
                inside = real == mount or real.startswith(mount.rstrip("/") + "/")
                # Later lines cover earlier ones on the same mount point.
                if inside and len(mount) >= best:
                    best, kind = len(mount), os.fsdecode(right.split()[0])
    except (OSError, ValueError):
        return ""  # Not Linux, or no /proc: the caller decides what not knowing means.
    return kind


def is_local(path: str | os.PathLike[str]) -> bool:
    """Can processes share memory for a file here? Without a table of mounts (macOS) the answer is yes."""
    kind = filesystem_type(path)
    return not (kind in _REMOTE or kind.startswith("fuse."))
