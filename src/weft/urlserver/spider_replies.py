"""Replies of spiders, and what the control plane knows about URLs that come back from them."""

from __future__ import annotations

import asyncio
import logging

from weft.urlserver.in_flight import SpiderId
from weft.urlserver.lease_session import LeaseSession
from weft.urlserver.returns import ReturnReason
from weft.wire import TransId

log = logging.getLogger(__name__)


class SpiderReplies:
    """Listens to all spiders."""

    def __init__(self, session: LeaseSession) -> None:
        self._session, self._in_flight = session, session.frontier.in_flight
        self._returned: list[tuple[TransId, ReturnReason]] = []
        self._has_returns = asyncio.Event()
        self._has_replied: dict[SpiderId, bool] = {}
        self._last_reply: dict[SpiderId, int] = {}

    def connected(self, spider: SpiderId) -> None:
        """Whatever the spider did for the last connection is over."""
        reason = ReturnReason.LOST if self._has_replied.get(spider) else ReturnReason.NEVER_REPLIED
        self._in_flight.connect(spider)
        self._last_reply[spider] = self._session.now
        self._return([sent.trans_id for sent in self._in_flight.of(spider) if not sent.done_at], reason)
        self._session.wake.set()

    def disconnected(self, spider: SpiderId, *, has_replied: bool) -> None:
        self._has_replied[spider] = has_replied
        self._in_flight.disconnect(spider)

    def replied(self, spider: SpiderId, done: list[TransId], working: list[TransId]) -> None:
        now = self._last_reply[spider] = self._session.now
        for trans_id in working:
            self._in_flight.working(spider, trans_id, now)
        self._return([trans_id for trans_id in done if self._in_flight.done(spider, trans_id, now)], ReturnReason.DONE)

    def find_silent(self) -> list[SpiderId]:
        """Take back URLs without a reply for too long; returns spiders that sent no reply at all meanwhile."""
        now = self._session.now
        silent = self._in_flight.overdue(now)
        if not silent:
            return []
        log.warning(
            "%d URLs timed out: no WORKING or DONE from their spider in %.0f s",
            len(silent),
            self._in_flight.timeout / 1000,
        )
        self._return([sent.trans_id for sent in silent], ReturnReason.SILENT)
        spiders = {sent.spider for sent in silent}
        return [spider for spider in spiders if self._last_reply[spider] + self._in_flight.timeout <= now]

    async def take_returns(self) -> None:
        """Read in bulk what became of URLs, and let the frontier know."""
        while True:
            await self._has_returns.wait()
            self._has_returns.clear()
            returned, self._returned = self._returned, []
            await self._settle(returned)

    async def _settle(self, returned: list[tuple[TransId, ReturnReason]]) -> None:
        session, find = self._session, self._in_flight.find
        doc_ids = [sent.doc_id for trans_id, _ in returned if (sent := find(trans_id))]
        control, gateway = session.resources.control, session.resources.gateway
        outcomes = await control.call("outcomes", lambda: gateway.outcomes(doc_ids))
        for trans_id, reason in returned:
            sent = find(trans_id)
            if sent is not None:
                session.frontier.come_back(trans_id, reason, outcomes.get(sent.doc_id), session.now)
        session.has_finished = True
        session.wake.set()

    def _return(self, trans_ids: list[TransId], reason: ReturnReason) -> None:
        if trans_ids:
            self._returned += ((trans_id, reason) for trans_id in trans_ids)
            self._has_returns.set()
