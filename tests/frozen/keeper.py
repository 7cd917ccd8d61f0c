"""Holds the namespaces of a room and serves a scripted endpoint in them until its stdin ends."""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import subprocess
import sys
from pathlib import Path

from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse

SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def raise_loopback() -> None:
    """`ip link set lo up`, without ip."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def mount(root: Path, uid: str) -> None:
    mounts = [
        ["-t", "proc", "proc", f"{root}/proc"],
        ["--rbind", "/dev", f"{root}/dev"],
        ["-t", "tmpfs", "-o", "noexec,mode=1777,size=64m", "tmpfs", f"{root}/tmp"],
        ["-t", "tmpfs", "-o", f"nr_inodes=40,size=700m,uid={uid}", "tmpfs", f"{root}/few"],
        ["-t", "tmpfs", "-o", f"size=20m,uid={uid}", "tmpfs", f"{root}/little"],
        ["-t", "tmpfs", "-o", f"ro,uid={uid}", "tmpfs", f"{root}/read-only"],
    ]
    for words in mounts:
        subprocess.run(["mount", *words], check=True)


def script(request: Request) -> Reply:
    """Does what the prompt says behind `sh: `, then says what came out."""
    if request.last_tool_results:
        return Reply(f"it said: {request.last_tool_results.text}")
    command = request.prompt.partition("sh: ")[2].strip()
    return Reply("", blocks=[ToolUse("Bash", {"command": command, "description": "asked for"})])


def main() -> None:
    raise_loopback()
    mount(Path(sys.argv[1]), sys.argv[2])
    with ScriptedEndpoint(script) as endpoint:
        print(json.dumps(endpoint.env()), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
