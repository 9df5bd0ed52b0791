"""Addresses that nobody knows yet: looked up in the background, saved in bulk for all URL servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial

from weft.addresses.resolver import Failure, Resolved, Resolver
from weft.model.fetch_error import FetchError
from weft.model.host import name_of
from weft.urlserver.errands import News, Place
from weft.urlserver.lease_session import LeaseSession
from weft.urlserver.placing import Placing, address_of


class Lookups:
    def __init__(self, session: LeaseSession, resolver: Resolver, placing: Placing) -> None:
        self._session, self._resolver, self._placing = session, resolver, placing
        self._found: dict[str, Resolved] = {}
        self._unanswered: set[str] = set()
        self._has_found = asyncio.Event()
        self._asking: set[asyncio.Task[None]] = set()

    def begin(self, web_hosts: Iterable[str], unanswered: set[str]) -> None:
        """Look up what may be asked at all; a slow answer holds nobody else up.

        Links of hosts that were `unanswered` before are errors if that happens again.
        """
        self._unanswered |= unanswered
        for web_host in web_hosts:
            if self._placing.port_refusal(web_host):
                self._session.learn(News(places={web_host: Place("", "", 0, FetchError.PORT)}))
            else:
                task = asyncio.create_task(self._look_up(web_host))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)

    async def keep(self) -> None:
        """Tell all URL servers before we ask: who finds a host of another one gives it back for that one to find."""
        session, gateway = self._session, self._session.resources.gateway
        while True:
            await self._has_found.wait()
            self._has_found.clear()
            found, self._found = self._found, {}
            addresses = {web_host: address_of(web_host, resolved) for web_host, resolved in found.items()}
            save = partial(gateway.save, [*addresses.values()])
            await session.resources.control.call_or_log("save_addresses", save)
            again = {name for name, resolved in found.items() if self._may_change(name, resolved)}
            places = {name: gateway.place(address, may_change=name in again) for name, address in addresses.items()}
            self._unanswered -= found.keys()
            session.learn(News(places=places))

    def _may_change(self, web_host: str, resolved: Resolved) -> bool:
        return resolved.failure is Failure.UNANSWERED and web_host not in self._unanswered

    def stop(self) -> None:
        for task in self._asking:
            task.cancel()

    async def _look_up(self, web_host: str) -> None:
        self._found[web_host] = await self._resolver.resolve(name_of(web_host))
        self._has_found.set()
