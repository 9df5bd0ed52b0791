"""Addresses that the control plane does not know: looked up in the background, saved in bulk for all URL servers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from functools import partial

from weft.addresses.resolver import Failure, Resolved, Resolver
from weft.model.host import name_of
from weft.urlserver.address_policy import address_of
from weft.urlserver.lease_session import LeaseSession
from weft.urlserver.mgmt_messages import MgmtReplies


class DnsLookups:
    def __init__(self, session: LeaseSession, resolver: Resolver) -> None:
        self._session, self._resolver = session, resolver
        self._found: dict[str, Resolved] = {}
        self._unanswered: set[str] = set()
        self._has_found = asyncio.Event()
        self._asking: set[asyncio.Task[None]] = set()

    def begin(self, web_hosts: Iterable[str], unanswered: set[str], local: Collection[str] = ()) -> None:
        """Look hosts up; a slow answer holds nobody else up.

        Links of hosts that were `unanswered` before are errors if that happens again; those that are `local` may have
        private addresses.
        """
        self._unanswered |= unanswered
        for web_host in web_hosts:
            task = asyncio.create_task(self._look_up(web_host, is_local=web_host in local))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def keep(self) -> None:
        """Save addresses before hosts are asked, so that links reach the URL server that owns the address."""
        session, control, gateway = self._session, self._session.resources.control, self._session.resources.gateway
        while True:
            await self._has_found.wait()
            self._has_found.clear()
            found, self._found = self._found, {}
            addresses = [address_of(web_host, resolved) for web_host, resolved in found.items()]
            await control.call_or_log("save_addresses", partial(gateway.save, addresses))
            again = {name for name, resolved in found.items() if self._may_change(name, resolved)}
            self._unanswered -= found.keys()
            located = await control.call("sites", partial(gateway.host_addresses, addresses, again))
            session.learn(MgmtReplies(addresses=located))

    def _may_change(self, web_host: str, resolved: Resolved) -> bool:
        return resolved.failure is Failure.UNANSWERED and web_host not in self._unanswered

    def stop(self) -> None:
        for task in self._asking:
            task.cancel()

    async def _look_up(self, web_host: str, *, is_local: bool) -> None:
        self._found[web_host] = await self._resolver.resolve(name_of(web_host), is_local=is_local)
        self._has_found.set()
