"""Where a role listens: without a token only where nobody else can reach it."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address

from weft.errors import UsageError


def open_listener(setting: str, host: str, port: int, token: str, *, is_reserved: bool = False) -> socket.socket:
    """The socket that `setting` asks for; raises UsageError. Without a token it must be on loopback.

    `is_reserved`: the supervisor keeps the port for us.
    """
    if not token and not is_loopback(host):
        raise UsageError(f"{setting}: {host} can be reached by others; expected spider.token, or a loopback address")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128, reuse_port=is_reserved)
    except OSError as error:
        # Not error.strerror: Python appends the address to it.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        where = _joined(host, port)
        raise UsageError(f"{setting}: cannot listen on {where}: {reason}; expected a free port") from error


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(listener: socket.socket) -> str:
    return _joined(*listener.getsockname()[:2])


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
