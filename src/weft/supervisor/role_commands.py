"""Which roles run on one machine, and the command line of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weft.supervisor.role_process import RoleCommand


def role_commands(
    home: Path, sets: Sequence[str], ports: Sequence[int], again: float | None = None
) -> list[RoleCommand]:
    """In the order in which they are stopped: the role that takes work first, the one that finishes it last.

    The last of the `ports` is the URL server's; there is a spider for each of the others.
    """
    hosts = [f"127.0.0.1:{port}" for port in ports[:-1]]
    listed = ",".join(hosts)
    shared = ["--home", str(home), *(part for text in sets for part in ("--set", text))]
    shared += ["--set", f'urlserver.spider_host="{listed}"']
    return [
        RoleCommand("urlserver", ("run", "urlserver", *shared, "--set", f'urlserver.listen="127.0.0.1:{ports[-1]}"')),
        *(
            RoleCommand(_numbered("spider", number), ("run", "spider", *shared, "--set", f'spider.listen="{host}"'))
            for number, host in enumerate(hosts)
        ),
        RoleCommand("index", ("run", "index", *shared, *(() if again is None else ("--again", str(again))))),
    ]


def _numbered(name: str, number: int) -> str:
    return f"{name}{number + 1}" if number else name
