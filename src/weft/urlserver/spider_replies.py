"""Replies of spiders, and what the control plane knows about URLs that come back from them."""

from __future__ import annotations

import asyncio
import logging

from weft.urlserver.lease_session import LeaseSession
from weft.urlserver.pending import SpiderId
from weft.urlserver.returns import Why
from weft.wire import TransId

log = logging.getLogger(__name__)


class SpiderReplies:
    """Listens to all spiders."""

    def __init__(self, session: LeaseSession) -> None:
        self._session, self._pendings = session, session.frontier.pendings
        self._returned: list[tuple[TransId, Why]] = []
        self._has_returns = asyncio.Event()
        self._has_replied: dict[SpiderId, bool] = {}
        self._last_reply: dict[SpiderId, int] = {}

    def connected(self, spider: SpiderId) -> None:
        """Whatever the spider did for the last connection is over."""
        why = Why.LOST if self._has_replied.get(spider) else Why.UNHEARD
        self._pendings.connect(spider)
        self._last_reply[spider] = self._session.now
        self._return([pending.trans_id for pending in self._pendings.of(spider) if not pending.done_at], why)
        self._session.wake.set()

    def disconnected(self, spider: SpiderId, *, has_replied: bool) -> None:
        self._has_replied[spider] = has_replied
        self._pendings.disconnect(spider)

    def replied(self, spider: SpiderId, done: list[TransId], working: list[TransId]) -> None:
        now = self._last_reply[spider] = self._session.now
        for trans_id in working:
            self._pendings.working(spider, trans_id, now)
        self._return([trans_id for trans_id in done if self._pendings.done(spider, trans_id, now)], Why.DONE)

    def find_silent(self) -> list[SpiderId]:
        """Take back URLs without a reply for too long; returns spiders that sent no reply at all meanwhile."""
        now = self._session.now
        silent = self._pendings.overdue(now)
        if not silent:
            return []
        log.warning(
            "%d URLs timed out: no WORKING or DONE from their spider in %.0f s",
            len(silent),
            self._pendings.timeout / 1000,
        )
        self._return([pending.trans_id for pending in silent], Why.SILENT)
        spiders = {pending.spider for pending in silent}
        return [spider for spider in spiders if self._last_reply[spider] + self._pendings.timeout <= now]

    async def take_returns(self) -> None:
        """Read in bulk what became of URLs, and let the frontier know."""
        while True:
            await self._has_returns.wait()
            self._has_returns.clear()
            returned, self._returned = self._returned, []
            await self._settle(returned)

    async def _settle(self, returned: list[tuple[TransId, Why]]) -> None:
        session, find = self._session, self._pendings.find
        doc_ids = [pending.doc_id for trans_id, _ in returned if (pending := find(trans_id))]
        control, gateway = session.resources.control, session.resources.gateway
        outcomes = await control.call("outcomes", lambda: gateway.outcomes(doc_ids))
        for trans_id, why in returned:
            pending = find(trans_id)
            if pending is not None:
                session.frontier.come_back(trans_id, why, outcomes.get(pending.doc_id), session.now)
        session.has_finished = True
        session.wake.set()

    def _return(self, trans_ids: list[TransId], why: Why) -> None:
        if trans_ids:
            self._returned += ((trans_id, why) for trans_id in trans_ids)
            self._has_returns.set()
