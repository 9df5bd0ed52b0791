"""Where a role listens: without a token only where nobody else can reach it."""

from __future__ import annotations

import os
import re
import socket
from ipaddress import ip_address
from typing import Final

from weft.config import host_and_port
from weft.errors import UsageError

_HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([^\[\]:/\\@?#%\s]{1,255}))(?::[0-9]{0,5})?")


def open_listener(setting: str, host: str, port: int, token: str, *, is_reserved: bool = False) -> socket.socket:
    """The socket that `setting` asks for; raises UsageError. Without a token it must be on loopback.

    `is_reserved`: the supervisor keeps the port for us.
    """
    if not token and not is_loopback(host):
        raise UsageError(f"{setting}: {host} can be reached by others; expected spider.token, or a loopback address")
    return listen_on(setting, host, port, is_reserved=is_reserved)


def listen_on(setting: str, host: str, port: int, *, is_reserved: bool = False) -> socket.socket:
    """The same for who decides with every request whether to answer."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128, reuse_port=is_reserved)
    except OSError as error:
        # Not error.strerror: Python appends the address to it.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        where = joined(host, port)
        raise UsageError(f"{setting}: cannot listen on {where}: {reason}; expected a free port") from error


def require_reachable(role: str, listen: tuple[str, int], address: str) -> None:
    """Where other machines are to reach `role`: raises UsageError if all they are told is `0.0.0.0` or `::`."""
    host = host_and_port(address)[0] if address else listen[0]
    if is_unspecified(host):
        setting = f"{role}.address" if address else f"{role}.listen"
        raise UsageError(
            f"{setting}: other nodes cannot reach {host}; expected the host and port where they can in {role}.address"
        )


def is_unspecified(host: str) -> bool:
    """Whether it means every address of this machine, and so none that others could dial."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def host_named(host: str) -> str:
    """The name or address in a Host header, in lower case, without port and brackets; empty if it is no host.

    All of it must be one: by a part that looks like an address a name elsewhere would pass for it.
    """
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def address_of(listener: socket.socket) -> str:
    return joined(*listener.getsockname()[:2])


def joined(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
