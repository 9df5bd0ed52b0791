"""What is known about web hosts, in the memory twin: robots.txt, addresses, sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.mgmt.memory.state import MemoryCalls
from weft.mgmt.rules.transitions import Cause, link_after
from weft.mgmt.values import Address, ClaimedLink, Lease, LinkKind, LinkState, Robots
from weft.model.host import slot_of, web_host_of
from weft.model.site import Site


class MemoryWebHosts(MemoryCalls):
    def open_robots(self, crawler: Lease, urls: Mapping[str, str]) -> dict[str, ClaimedLink]:
        self._alive(crawler)
        opened = {origin: self._open_robots(crawler, origin, url) for origin, url in sorted(urls.items())}
        return {origin: link for origin, link in opened.items() if link is not None}

    def _open_robots(self, crawler: Lease, origin: str, url: str) -> ClaimedLink | None:
        host = web_host_of(url)
        link = self._state.by_uri.get((LinkKind.ROBOTS, origin))
        if link is None:
            link = self._state.new_link(LinkKind.ROBOTS, origin, url, host)
        if link.state is LinkState.CRAWLING and link.node != crawler.node:
            return None
        if link.state is LinkState.CRAWLING and link.url == url:
            return link.claimed
        link.state = link_after(link.state, Cause.OPEN, link.doc_id, is_robots=True)
        link.url, link.web_host, link.node = url, host, crawler.node
        link.claim += 1
        return link.claimed

    def save_robots(self, robots: Sequence[Robots]) -> None:
        self._state.robots.update({one.origin: one for one in robots})

    def robots(self, origins: Sequence[str]) -> dict[str, Robots]:
        return {origin: self._state.robots[origin] for origin in origins if origin in self._state.robots}

    def save_addresses(self, addresses: Sequence[Address]) -> None:
        for address in addresses:
            self._state.addresses[address.web_host] = address
            self._state.addresses_set[address.web_host] = self._clock.now()
            host = self._state.web_host(address.web_host, self._clock.now())
            host.slot = slot_of(address.ip_key)

    def addresses(self, web_hosts: Sequence[str]) -> dict[str, Address]:
        return {host: self._state.addresses[host] for host in web_hosts if host in self._state.addresses}

    def save_rates(self, rates: Mapping[str, int]) -> None:
        for web_host, rate in rates.items():
            self._state.web_host(web_host, self._clock.now()).rate = rate

    def rates(self, web_hosts: Sequence[str]) -> dict[str, int]:
        known = {name: self._state.web_hosts.get(name) for name in web_hosts}
        return {name: host.rate for name, host in known.items() if host is not None and host.rate}

    def sites(self) -> list[Site]:
        return [self._state.sites[name] for name in sorted(self._state.sites)]

    def set_sites(self, sites: Sequence[Site]) -> None:
        self._state.sites.update((site.name, site) for site in sites)

    def add_sites(self, sites: Sequence[Site]) -> None:
        for site in sites:
            self._state.sites.setdefault(site.name, site)
