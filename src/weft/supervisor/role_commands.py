"""Which roles run on one machine, and the command line of each."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

from weft.supervisor.role_process import RoleCommand


def role_commands(
    home: Path, settings: Mapping[str, str], spiders: int = 1, again: float | None = None
) -> list[RoleCommand]:
    """In the order in which they are stopped: the role that takes work first, the one that finishes it last.

    `settings` are environment variables, because other users can see command lines.
    """
    ports = _free_ports(spiders + 1)
    hosts = [f"127.0.0.1:{port}" for port in ports[:spiders]]
    listed = ",".join(hosts)
    shared = ("--home", str(home), "--set", f'urlserver.spider_host="{listed}"')

    def role(name: str, *own: str, number: int = 0) -> RoleCommand:
        return RoleCommand(_numbered(name, number), ("run", name, *shared, *own), settings)

    return [
        role("urlserver", "--set", f'urlserver.listen="127.0.0.1:{ports[-1]}"'),
        *(role("spider", "--set", f'spider.listen="{host}"', number=number) for number, host in enumerate(hosts)),
        role("index", *(() if again is None else ("--again", str(again)))),
    ]


def _numbered(name: str, number: int) -> str:
    return f"{name}{number + 1}" if number else name


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now; all held together, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()
