"""Which roles run on one machine, and the command line of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from weft.supervisor.role_process import RoleCommand

BESIDE_SPIDERS: Final = 2
"""Roles that listen, besides spiders."""


def role_commands(
    home: Path, settings: Mapping[str, str], ports: Sequence[int], *, again: float | None = None, web: str = ""
) -> list[RoleCommand]:
    """In the order in which they are stopped: the role that takes work first, the one that finishes it last.

    `settings` are environment variables, because other users can see command lines. The last of the `ports` are the URL
    server's and the index server's; there is a spider for each of the others. `web` is where the web app listens;
    empty: it does not run.
    """
    *hosts, urlserver, indexserver = [f"127.0.0.1:{port}" for port in ports]
    listed = ",".join(hosts)
    shared = ("--home", str(home), "--set", f'urlserver.spider_host="{listed}"')

    def role(name: str, *own: str, number: int = 0) -> RoleCommand:
        return RoleCommand(_numbered(name, number), ("run", name, *shared, *own), settings)

    return [
        role("urlserver", *_listening("urlserver", urlserver)),
        *(role("spider", *_listening("spider", host), number=number) for number, host in enumerate(hosts)),
        role("index", *(() if again is None else ("--again", str(again)))),
        # Behind the index: it makes searchable what that one wrote last.
        role("indexserver", *_listening("indexserver", indexserver)),
        # Last: people watch the others end.
        *([role("web", "--set", f'web.listen="{web}"')] if web else []),
    ]


def _listening(name: str, host: str) -> tuple[str, ...]:
    """An address in weft.toml is where others reach a role that listens for them; these do not."""
    return ("--set", f'{name}.listen="{host}"', "--set", f'{name}.address=""')


def _numbered(name: str, number: int) -> str:
    return f"{name}{number + 1}" if number else name
