"""Ports for processes that a test starts: free now, and given to nobody else before they listen.

A port that the system chose may be given to any outgoing connection once it is closed again. These lie below the range
from which the system chooses; every test process takes them from a part of its own, and none twice in a while.
"""

from __future__ import annotations

import os
import socket
from itertools import count

_FIRST, _LAST = 10_000, 32_000
_PARTS = 32
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw") or 0)
_SIZE = (_LAST - _FIRST) // _PARTS
_next = count(os.getpid() * 37 % _SIZE)
"""Two runs at once begin at different places."""


def free_ports(address: str, number: int) -> list[int]:
    return [free_port(address) for _ in range(number)]


def free_port(address: str = "127.0.0.1") -> int:
    begin = _FIRST + _WORKER % _PARTS * _SIZE
    for _ in range(_SIZE):
        port = begin + next(_next) % _SIZE
        try:
            with socket.create_server((address, port)):
                return port
        except OSError:
            continue
    raise AssertionError(f"no port from {begin} to {begin + _SIZE} is free at {address}")
