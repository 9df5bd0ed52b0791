"""What spiders say, and what the control plane knows about URLs that come back from them."""

from __future__ import annotations

import asyncio
import logging

from weft.urlserver.life import Life
from weft.urlserver.pending import SpiderId
from weft.urlserver.returns import Why
from weft.wire import TransId

log = logging.getLogger(__name__)


class Hearing:
    """The listener of all spiders."""

    def __init__(self, life: Life) -> None:
        self._life, self._pendings = life, life.frontier.pendings
        self._returned: list[tuple[TransId, Why]] = []
        self._has_returns = asyncio.Event()
        self._was_heard: dict[SpiderId, bool] = {}
        self._last_heard: dict[SpiderId, int] = {}

    def connected(self, spider: SpiderId) -> None:
        """Whatever the spider did for the last connection is over."""
        why = Why.LOST if self._was_heard.get(spider) else Why.UNHEARD
        self._pendings.connect(spider)
        self._last_heard[spider] = self._life.now
        self._return([pending.trans_id for pending in self._pendings.of(spider) if not pending.done_at], why)
        self._life.wake.set()

    def disconnected(self, spider: SpiderId, *, was_heard: bool) -> None:
        self._was_heard[spider] = was_heard
        self._pendings.disconnect(spider)

    def heard(self, spider: SpiderId, done: list[TransId], working: list[TransId]) -> None:
        now = self._last_heard[spider] = self._life.now
        for trans_id in working:
            self._pendings.working(spider, trans_id, now)
        self._return([trans_id for trans_id in done if self._pendings.done(spider, trans_id, now)], Why.DONE)

    def find_silent(self) -> list[SpiderId]:
        """Take URLs back that were not heard of for too long; returns spiders that said nothing at all meanwhile."""
        now = self._life.now
        silent = self._pendings.overdue(now)
        if not silent:
            return []
        log.warning("URLs were not heard of for too long count=%d", len(silent))
        self._return([pending.trans_id for pending in silent], Why.SILENT)
        spiders = {pending.spider for pending in silent}
        return [spider for spider in spiders if self._last_heard[spider] + self._pendings.timeout <= now]

    async def take_returns(self) -> None:
        """Read in bulk what became of URLs, and let the frontier know."""
        while True:
            await self._has_returns.wait()
            self._has_returns.clear()
            returned, self._returned = self._returned, []
            await self._settle(returned)

    async def _settle(self, returned: list[tuple[TransId, Why]]) -> None:
        life, find = self._life, self._pendings.find
        doc_ids = [pending.doc_id for trans_id, _ in returned if (pending := find(trans_id))]
        outcomes = await life.call("outcomes", lambda: life.means.desk.outcomes(doc_ids))
        for trans_id, why in returned:
            pending = find(trans_id)
            if pending is not None:
                life.frontier.come_back(trans_id, why, outcomes.get(pending.doc_id), life.now)
        life.has_finished = True
        life.wake.set()

    def _return(self, trans_ids: list[TransId], why: Why) -> None:
        if trans_ids:
            self._returned += ((trans_id, why) for trans_id in trans_ids)
            self._has_returns.set()
