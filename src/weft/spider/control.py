"""The control plane as the spider uses it: in a thread of its own, asked again until it answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from weft.errors import LeaseLost, MgmtUnavailable
from weft.mgmt.api import Mgmt
from weft.mgmt.values import Details, DocId, Lease, NodeState, NodeType, Result
from weft.spider.worker import Worker

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 5.0


class Control:
    """One call at a time; calls that must not be lost are repeated for as long as it takes."""

    def __init__(self, open_mgmt: Callable[[], Mgmt]) -> None:
        self._open = open_mgmt
        self._thread = Worker("weft-mgmt")
        self._mgmt: Mgmt
        self._lease: Lease | None = None
        self._address = ""

    async def open(self) -> None:
        self._mgmt = await self._thread.do(self._open)

    async def register(self, address: str) -> None:
        self._address = address
        self._lease = await self._thread.do(lambda: self._mgmt.register(NodeType.SPIDER, address))

    async def heartbeat(self) -> NodeState:
        """What this node is asked to be; a lost lease is taken anew, for a spider holds nothing by it."""
        lease = self._lease
        if lease is None:
            return NodeState.ONLINE
        try:
            return await self._thread.do(lambda: self._mgmt.heartbeat(lease))
        except LeaseLost:
            log.warning("lease lost, registering again address=%s", self._address)
            await self.register(self._address)
            return NodeState.ONLINE

    async def tell(self, state: NodeState) -> None:
        lease = self._lease
        if lease is not None:
            await self._thread.do(lambda: self._mgmt.tell(lease, state))

    async def details(self, doc_ids: Sequence[DocId]) -> dict[DocId, Details]:
        """What is known of these links; waits for as long as the control plane is away."""
        return await self._until_it_answers("details", lambda: self._mgmt.details(doc_ids))

    async def report(self, results: Sequence[Result]) -> list[bool]:
        """Durable when this returns; waits for as long as the control plane is away. Raises what it refuses."""
        return await self._until_it_answers("report", lambda: self._mgmt.report(results))

    async def close(self) -> None:
        await self._thread.do(self._mgmt.close)
        self._thread.stop()

    async def _until_it_answers(self, what: str, call: Callable[[], T]) -> T:
        wait = _FIRST_WAIT
        while True:
            try:
                return await self._thread.do(call)
            except MgmtUnavailable as error:
                log.warning("control plane does not answer call=%s wait=%.1f reason=%s", what, wait, error)
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
