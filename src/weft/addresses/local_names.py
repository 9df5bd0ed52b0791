"""Names that need no name server: the settings give their addresses, or the machine's own list of hosts does."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple

from weft.config.sections import UrlserverSettings

_LONGEST: Final = 1 << 20
"""Bytes of a hosts file that are read."""
_THIS_MACHINE: Final = "127.0.0.1"


class LocalName(NamedTuple):
    addresses: tuple[str, ...]
    named_by: str
    """Who says so, for people."""


class LocalNames:
    """The settings go before the hosts file; whatever that says, `localhost` never leaves this machine (RFC 6761)."""

    def __init__(self, settings: UrlserverSettings) -> None:
        self._static = StaticHosts(settings.static_hosts)
        self._file = HostsFile(settings.hosts_file)

    def find(self, host: str) -> LocalName | None:
        static = self._static.find(host)
        if static is not None:
            return LocalName((static,), "urlserver.static_hosts names it")
        addresses = self._file.find(host)
        if addresses:
            return LocalName(addresses, f"{self._file.path} names it")
        if host == "localhost" or host.endswith(".localhost"):
            return LocalName((_THIS_MACHINE,), "localhost is always this machine")
        return None


class StaticHosts:
    """Addresses that the settings give for host names, so that no name server is asked for them.

    `*.example.com` is for every name below example.com that has no closer entry.
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        self._names = dict(table)

    def find(self, host: str) -> str | None:
        found = self._names.get(host)
        rest = host
        while found is None and rest:
            rest = rest.partition(".")[2]
            found = self._names.get(f"*.{rest}")
        return found


class HostsFile:
    """A file in the form of /etc/hosts, read again when it changes; one that cannot be read names nothing."""

    def __init__(self, path: str) -> None:
        """No path: no file."""
        self.path = path
        self._seen: tuple[int, int] | None = None
        self._names: dict[str, tuple[str, ...]] = {}

    def find(self, host: str) -> tuple[str, ...]:
        """Its IPv4 addresses, or if it has none its IPv6 ones."""
        if self.path:
            self._refresh()
        return self._names.get(host, ())

    def _refresh(self) -> None:
        try:
            found = Path(self.path).stat()
            seen = found.st_mtime_ns, found.st_size
            if seen != self._seen:
                with Path(self.path).open(encoding="utf-8", errors="replace") as file:
                    self._names = names_in(file.read(_LONGEST))
        except OSError:
            self._names, seen = {}, None
        self._seen = seen


def names_in(text: str) -> dict[str, tuple[str, ...]]:
    """The addresses of each name, in the order of the lines; what does not parse is left out."""
    found: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        try:
            version = ip_address(address).version
        except ValueError:
            continue
        for name in names:
            found.setdefault(name.lower().rstrip("."), {})[address] = version
    return {name: _preferred(addresses) for name, addresses in found.items()}


def _preferred(addresses: dict[str, int]) -> tuple[str, ...]:
    old = tuple(address for address, version in addresses.items() if version == 4)
    return old or tuple(addresses)
