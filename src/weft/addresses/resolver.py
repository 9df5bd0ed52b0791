"""Host names to addresses: looked up once, remembered for as long as the DNS says, refused where we must not go."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from enum import StrEnum
from ipaddress import ip_address
from typing import Self

import msgspec

from weft.addresses.address_rules import AddressRules, ip_key
from weft.addresses.dns_answer import DnsAnswer, addresses_of
from weft.addresses.dns_exchange import NameServers, NoAnswer, system_servers
from weft.addresses.dns_message import NotDns
from weft.clock import Clock
from weft.config.sections import UrlserverSettings
from weft.config.text_forms import dns_server


class Failure(StrEnum):
    """Why a host has no address for us."""

    REFUSED = "refused"
    """One of its addresses must not be crawled."""
    UNKNOWN = "unknown"
    """The DNS says that there is none."""
    UNANSWERED = "unanswered"
    """The DNS gave no answer; it may next time."""


class Resolved(msgspec.Struct, frozen=True):
    """Where a host lives until `expires` (milliseconds since 1970); without an ip there is a failure and its reason."""

    ip: str
    ip_key: str
    expires: int
    reason: str = ""
    failure: Failure | None = None


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


class Resolver:
    """Looks names up at the settings' name servers.

    `resolve` never raises for what the DNS does; every outcome, also a bad one, is remembered for a while. Look-ups of
    one name share one question, and at most `dns_concurrent` are under way: others wait for their turn, while names
    that are known or need no look-up are answered at once.
    """

    def __init__(self, settings: UrlserverSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._rules = AddressRules(settings.allow_net, settings.allow_ports)
        self._static = StaticHosts(settings.static_hosts)
        servers = [dns_server(text) for text in settings.dns_servers] or system_servers()
        self._servers = NameServers(servers, settings.dns_timeout)
        self._turn = asyncio.Semaphore(settings.dns_concurrent)
        self._known: OrderedDict[str, tuple[int, Resolved]] = OrderedDict()
        """With the moment of the answer."""
        self._asking: dict[str, asyncio.Task[Resolved]] = {}

    async def resolve(self, host: str) -> Resolved:
        """The address of a host as URLs spell it, without port: a name, an IPv4 address, an IPv6 one in brackets."""
        given = _literal(host) or self._static.find(host)
        if given is not None:
            return self._judged((given,), self._settings.dns_ttl_max)
        known = self._remembered(host)
        if known is not None:
            return known
        task = self._asking.get(host) or self._ask(host)
        # Others may wait for the same answer: whoever gives up waiting does not stop it.
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Stop all look-ups; who still waits for one gets CancelledError."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def _ask(self, host: str) -> asyncio.Task[Resolved]:
        task = self._asking[host] = asyncio.create_task(self._look_up(host))
        task.add_done_callback(lambda _: self._asking.pop(host, None))
        return task

    async def _look_up(self, host: str) -> Resolved:
        settings = self._settings
        async with self._turn:
            try:
                async with asyncio.timeout(settings.dns_timeout):
                    found = self._read(host, await addresses_of(self._servers, host))
            except TimeoutError:
                reason = f"{host}: no answer from the DNS within {settings.dns_timeout:g} seconds"
                found = self._failed(Failure.UNANSWERED, reason, 0)
            except NoAnswer as error:
                found = self._failed(Failure.UNANSWERED, str(error), 0)
            except NotDns as error:
                found = self._failed(Failure.UNKNOWN, str(error), settings.dns_ttl_none)
        self._remember(host, found)
        return found

    def _read(self, host: str, answer: DnsAnswer) -> Resolved:
        settings = self._settings
        if answer.addresses:
            return self._judged(answer.addresses, min(answer.ttl or 0, settings.dns_ttl_max))
        what = "has no address" if answer.exists else "does not exist"
        ttl = settings.dns_ttl_none if answer.ttl is None else min(answer.ttl, settings.dns_ttl_none)
        return self._failed(Failure.UNKNOWN, f"{host} {what}", ttl)

    def _judged(self, addresses: tuple[str, ...], ttl: float) -> Resolved:
        """The lowest address, so that a host stays at one; one that must not be crawled refuses them all."""
        for address in addresses:
            refusal = self._rules.is_refused(address)
            if refusal:
                return self._failed(Failure.REFUSED, refusal, ttl)
        lowest = str(min(map(ip_address, addresses), key=int))
        return Resolved(lowest, ip_key(lowest), self._expiry(ttl))

    def _failed(self, failure: Failure, reason: str, ttl: float) -> Resolved:
        return Resolved("", "", self._expiry(ttl), reason, failure)

    def _expiry(self, ttl: float) -> int:
        return self._clock.now() + round(max(ttl, self._settings.dns_ttl_min) * 1000)

    def _remembered(self, host: str) -> Resolved | None:
        """A clock that was set back makes no answer last longer: it is forgotten."""
        since, found = self._known.get(host, (0, None))
        if found is None or not since <= self._clock.now() < found.expires:
            return None
        self._known.move_to_end(host)
        return found

    def _remember(self, host: str, found: Resolved) -> None:
        self._known[host] = self._clock.now(), found
        self._known.move_to_end(host)
        while len(self._known) > self._settings.dns_cache_len:
            self._known.popitem(last=False)


def _literal(host: str) -> str | None:
    """The address that a host is spelt as; None: it is a name."""
    if not host[-1:].isdigit() and ":" not in host:
        return None
    try:
        return str(ip_address(host[1:-1] if host.startswith("[") else host))
    except ValueError:
        return None
