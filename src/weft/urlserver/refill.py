"""What the URL server gets from the control plane: more links, replies to its requests, changed settings of sites."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from weft.urlserver.dns_lookups import DnsLookups
from weft.urlserver.lease_session import LeaseSession
from weft.urlserver.mgmt_messages import MgmtReplies
from weft.urlserver.site_cache import SITES_AGE

log = logging.getLogger(__name__)

FIRST_WAIT: Final = 0.05
LONGEST_WAIT: Final = 1.0
"""Seconds between two claims when nothing comes."""


class Refill:
    def __init__(self, session: LeaseSession, lookups: DnsLookups, has_spider: Callable[[], bool]) -> None:
        self._session, self._lookups, self._has_spider = session, lookups, has_spider
        self._has_requests = asyncio.Event()
        self._has_room = asyncio.Event()
        self._room_before = (-1, -1)
        self._is_running = False
        self._attempts = 0
        self._handing_over = asyncio.Lock()
        """While it is held, what we hold changes only as the frontier knows."""

    @property
    def is_idle(self) -> bool:
        return not self._is_running and not self._session.frontier.requests

    def look(self) -> None:
        """Something may have changed."""
        if self._session.frontier.requests:
            self._has_requests.set()
        if self._wants_links() and self._room() != self._room_before:
            self._has_room.set()

    async def send_requests(self) -> None:
        while True:
            await self._has_requests.wait()
            self._has_requests.clear()
            self._is_running = True
            await self._send_requests()
            self._is_running = False

    async def fill(self) -> None:
        """Claim links while a queue is empty; when none come, wait longer and longer, or until there is more room."""
        wait = FIRST_WAIT
        while True:
            if self._wants_links() and await self._claim():
                wait = FIRST_WAIT
                continue
            has_room = await self._waited(wait)
            wait = FIRST_WAIT if has_room else min(2 * wait, LONGEST_WAIT)

    async def follow_settings(self) -> None:
        """Let known hosts obey what a user changes or wants, within seconds."""
        session, gateway, seen, since = self._session, self._session.resources.gateway, 0, 0
        while True:
            await asyncio.sleep(SITES_AGE / 1000)
            web_hosts = list(session.frontier.registry.hosts)
            if web_hosts:
                read = partial(gateway.changed_settings, web_hosts, seen)
                seen, settings = await session.resources.control.call_or_log("sites", read) or (seen, {})
                look = partial(gateway.wanted_hosts, since)
                since, wanted = await session.resources.control.call_or_log("wishes", look) or (since, set())
                if settings or wanted:
                    session.learn(MgmtReplies(settings=settings, wanted=wanted))

    async def _waited(self, seconds: float) -> bool:
        """Tell whether there is more room than before."""
        self._has_room.clear()
        self._room_before = self._room()
        await asyncio.sleep(FIRST_WAIT)
        try:
            async with asyncio.timeout(seconds - FIRST_WAIT):
                await self._has_room.wait()
        except TimeoutError:
            return False
        return True

    def _room(self) -> tuple[int, int]:
        """Changes when a queue was emptied, or a host is wanted again."""
        registry = self._session.frontier.registry
        return registry.queues.taken, len(registry.queues.full) + len(registry.ips.crowded)

    async def _send_requests(self) -> None:
        session, gateway = self._session, self._session.resources.gateway
        async with self._handing_over:
            requests, replies = session.frontier.requests.take(), MgmtReplies()
            session.has_finished |= bool(requests.refuse)
            await session.resources.control.call("requests", lambda: gateway.run(session.lease, requests, replies))
            self._lookups.begin(replies.unresolved, replies.unanswered, replies.local)
            session.learn(replies)
        if replies.refused:
            await asyncio.sleep(LONGEST_WAIT)  # what is refused may be refused again
            await self._release_unknown()

    def _wants_links(self) -> bool:
        return self._has_spider() and self._session.frontier.wants_links(self._session.now) and self._session.may_send

    async def _claim(self) -> bool:
        session, resources = self._session, self._session.resources
        limit, reject = resources.settings.mgmt.chunk_size, session.frontier.reject_list()
        self._attempts = 0

        def claim() -> MgmtReplies:
            self._attempts += 1
            return resources.gateway.claim(session.lease, limit, reject)

        replies = await resources.control.call_or_log("claim", claim)
        if replies is not None:
            resources.tally.claimed += len(replies.links)
            session.learn(replies)
        if self._attempts > 1:
            await self._release_unknown()
        return replies is not None and bool(replies.links)

    async def _release_unknown(self) -> None:
        """Give back links that we hold and know nothing of: a claim's answer was lost, or a report refused.

        A replacement that we are about to learn of may be among them: then it is claimed again.
        """
        session, control = self._session, self._session.resources.control
        async with self._handing_over:
            known = session.frontier.known_links()
            await control.call_or_log("release", lambda: control.mgmt.release(session.lease, None, known))
