"""Host names to addresses: looked up once, remembered for as long as the DNS says, refused where we must not go."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from enum import StrEnum
from ipaddress import ip_address
from typing import NamedTuple, Self

import msgspec

from weft.addresses.address_rules import AddressRules, ip_key
from weft.addresses.dns_answer import DnsAnswer, addresses_of
from weft.addresses.dns_exchange import NameServers, NoAnswer, system_servers
from weft.addresses.dns_message import NotDns
from weft.addresses.local_names import LocalNames
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


class _Question(NamedTuple):
    host: str
    is_local: bool


class Resolver:
    """Looks names up at the settings' name servers.

    `resolve` never raises for what the DNS does; every outcome, also a bad one, is remembered for a while. Look-ups of
    one name share one question, and at most `dns_concurrent` are under way: others wait for their turn, while names
    that are known or need no look-up are answered at once.
    """

    def __init__(self, settings: UrlserverSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._rules = AddressRules(settings.allow_net, settings.allow_ports)
        self._local = LocalNames(settings)
        servers = [dns_server(text) for text in settings.dns_servers] or system_servers()
        self._servers = NameServers(servers, settings.dns_timeout)
        self._turn = asyncio.Semaphore(settings.dns_concurrent)
        self._known: OrderedDict[_Question, tuple[int, Resolved]] = OrderedDict()
        """With the moment of the answer."""
        self._asking: dict[_Question, asyncio.Task[Resolved]] = {}

    async def resolve(self, host: str, *, is_local: bool = False) -> Resolved:
        """The address of a host as URLs spell it, without port: a name, an IPv4 address, an IPv6 one in brackets.

        `is_local`: a user said that it is on this machine or in a private network.
        """
        question = _Question(host, is_local)
        given = literal_address(host)
        if given is not None:
            return self._judged((given,), self._settings.dns_ttl_max, is_local=is_local)
        named = self._local.find(host)
        if named is not None:
            return self._judged(named.addresses, self._settings.dns_ttl_min, named.named_by, is_local=is_local)
        known = self._remembered(question)
        if known is not None:
            return known
        task = self._asking.get(question) or self._ask(question)
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

    def _ask(self, question: _Question) -> asyncio.Task[Resolved]:
        task = self._asking[question] = asyncio.create_task(self._look_up(question))
        task.add_done_callback(lambda _: self._asking.pop(question, None))
        return task

    async def _look_up(self, question: _Question) -> Resolved:
        settings, host = self._settings, question.host
        async with self._turn:
            try:
                async with asyncio.timeout(settings.dns_timeout):
                    found = self._read(question, await addresses_of(self._servers, host))
            except TimeoutError:
                reason = f"{host}: no answer from the DNS within {settings.dns_timeout:g} seconds"
                found = self._failed(Failure.UNANSWERED, reason, 0)
            except NoAnswer as error:
                found = self._failed(Failure.UNANSWERED, str(error), 0)
            except NotDns as error:
                found = self._failed(Failure.UNKNOWN, str(error), settings.dns_ttl_none)
        self._remember(question, found)
        return found

    def _read(self, question: _Question, answer: DnsAnswer) -> Resolved:
        settings, host = self._settings, question.host
        if answer.addresses:
            ttl = min(answer.ttl or 0, settings.dns_ttl_max)
            return self._judged(answer.addresses, ttl, is_local=question.is_local)
        what = "has no address" if answer.exists else "does not exist"
        ttl = settings.dns_ttl_none if answer.ttl is None else min(answer.ttl, settings.dns_ttl_none)
        return self._failed(Failure.UNKNOWN, f"{host} {what}", ttl)

    def _judged(self, addresses: tuple[str, ...], ttl: float, named_by: str = "", *, is_local: bool) -> Resolved:
        """The lowest address, so that a host stays at one; one that must not be crawled refuses them all."""
        for address in addresses:
            refusal = self._rules.is_refused(address, is_local=is_local)
            if refusal:
                return self._failed(Failure.REFUSED, f"{refusal}; {named_by}" if named_by else refusal, ttl)
        lowest = str(min(map(ip_address, addresses), key=int))
        return Resolved(lowest, ip_key(lowest), self._expiry(ttl))

    def _failed(self, failure: Failure, reason: str, ttl: float) -> Resolved:
        return Resolved("", "", self._expiry(ttl), reason, failure)

    def _expiry(self, ttl: float) -> int:
        return self._clock.now() + round(max(ttl, self._settings.dns_ttl_min) * 1000)

    def _remembered(self, host: _Question) -> Resolved | None:
        """A clock that was set back makes no answer last longer: it is forgotten."""
        since, found = self._known.get(host, (0, None))
        if found is None or not since <= self._clock.now() < found.expires:
            return None
        self._known.move_to_end(host)
        return found

    def _remember(self, host: _Question, found: Resolved) -> None:
        self._known[host] = self._clock.now(), found
        self._known.move_to_end(host)
        while len(self._known) > self._settings.dns_cache_len:
            self._known.popitem(last=False)


def literal_address(host: str) -> str | None:
    """The address that a host is spelt as; None: it is a name."""
    if not host[-1:].isdigit() and ":" not in host:
        return None
    try:
        return str(ip_address(host[1:-1] if host.startswith("[") else host))
    except ValueError:
        return None
