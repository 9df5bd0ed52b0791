"""What goes between a worker and its user: frames of bytes on a socket."""

from __future__ import annotations

import socket
import struct
from typing import Final

READY: Final = b"ready"
"""A worker's first frame."""
OUT_OF_MEMORY: Final = 3
"""Exit status of a worker that needs more memory than it may have."""

_LENGTH: Final = struct.Struct("!Q")
_MOST: Final = 4 << 30
"""Bytes of a frame: both sides have limits that are far below."""


def send(peer: socket.socket, data: bytes) -> None:
    peer.sendall(_LENGTH.pack(len(data)))
    peer.sendall(data)


def receive(peer: socket.socket) -> bytearray | None:
    """The next frame; None when the other side is gone."""
    head = _exactly(peer, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    return _exactly(peer, length) if length <= _MOST else None


def _exactly(peer: socket.socket, size: int) -> bytearray | None:
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        count = peer.recv_into(view[done:])
        if not count:
            return None
        done += count
    return data
