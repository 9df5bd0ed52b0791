"""How many links each host has, and how many hosts each domain: some have endlessly many.

l:<domain>  host:<host>         links of the host that were found
            hosts:count         hosts of the domain
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.config.sections import DispatcherSettings
from weft.dispatcher.link_records import DOMAIN_ROW
from weft.linkindex.cells import Cells
from weft.model.refusal import RefusalKind
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

HOST, HOSTS, COUNT = b"host", b"hosts", b"count"

Host = tuple[bytes, bytes]
"""Domain, and the part of a uri that is its host."""


class HostLimits:
    """Counted in the batch that keeps the links: both are written or neither."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._links: dict[Host, int] = {}
        self._hosts: dict[bytes, int] = {}
        self._changed: set[Host] = set()

    def read(self, hosts: Iterable[Host]) -> None:
        """To be asked before `refusal`, for many at once."""
        unread = [host for host in dict.fromkeys(hosts) if host not in self._links]
        for host, count in zip(unread, self._counts([_links_column(host) for host in unread]), strict=True):
            self._links[host] = count
        domains = [domain for domain in dict.fromkeys(domain for domain, _ in unread) if domain not in self._hosts]
        for domain, count in zip(domains, self._counts([_hosts_column(domain) for domain in domains]), strict=True):
            self._hosts[domain] = count

    def refusal(self, host: Host, settings: DispatcherSettings) -> RefusalKind | None:
        """Why no further link of this host is kept; None if one is, which is counted at once."""
        links = self._links[host]
        if links >= settings.host_links:
            return RefusalKind.LINKS_OF_A_HOST
        if not links:
            if self._hosts[host[0]] >= settings.domain_hosts:
                return RefusalKind.HOSTS_OF_A_DOMAIN
            self._hosts[host[0]] += 1
        self._links[host] = links + 1
        self._changed.add(host)
        return None

    def cells(self) -> Cells:
        counted = {_links_column(host): self._links[host] for host in self._changed}
        counted |= {_hosts_column(domain): self._hosts[domain] for domain, _ in self._changed}
        return {cell_key(Table.LINKS.byte, *column): b"%d" % count for column, count in counted.items()}

    def _counts(self, columns: list[Column]) -> list[int]:
        return [int(cell.value) if cell else 0 for cell in self._reader.get(Table.LINKS, columns)]


def host_of(uri: bytes) -> bytes:
    return uri.partition(b"/")[0].partition(b"?")[0]


def _links_column(host: Host) -> Column:
    return Column(DOMAIN_ROW + host[0], HOST, host[1])


def _hosts_column(domain: bytes) -> Column:
    return Column(DOMAIN_ROW + domain, HOSTS, COUNT)
