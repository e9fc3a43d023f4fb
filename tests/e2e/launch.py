"""Becomes the client, inside its own namespaces: opens the API's port there and hands the listening socket out first.

A program of its own, run by claude_client.py: it imports nothing of the project.
"""

import os
import socket
import struct
import sys
from typing import NoReturn

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1  # linux/sockios.h, linux/if.h


def become_client(channel: socket.socket, client: list[str]) -> NoReturn:
    """Open the API's port in this network namespace, send its socket through `channel`, and run the client."""
    if sys.platform == "linux":
        _raise_loopback()
    with channel, socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        socket.send_fds(channel, [b"0"], [listener.fileno()])
    api = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "sk-ant-test"}
    os.execve(client[0], client, os.environ | api)


def _raise_loopback() -> None:
    """A new network namespace has its loopback device down."""
    import fcntl  # not everywhere where this module is imported

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        interface = struct.pack("16sh14s", b"lo", 0, b"")
        flags = struct.unpack("16sh14s", fcntl.ioctl(any_socket, SIOCGIFFLAGS, interface))[1]
        if not flags & IFF_UP:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14s", b"lo", flags | IFF_UP, b""))


if __name__ == "__main__":
    become_client(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
