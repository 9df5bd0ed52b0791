"""What URL servers asked for and have not been answered yet, and who still waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from weft.mgmt.values import DocId
from weft.spider.fetching import FetchId
from weft.wire import Fetch, TransId


class Asker(Protocol):
    """A connection to a URL server; replies are sent together by send()."""

    def done(self, trans_id: TransId) -> None: ...

    def working(self, trans_id: TransId) -> None: ...

    def send(self) -> None: ...


class Stage(Enum):
    WAITING = "waiting"
    FETCHING = "fetching"
    ENDED = "ended"
    """Fetched, and on the way to the archive and the control plane."""


@dataclass(slots=True, eq=False)
class FetchOrder:
    """One link to be fetched; asked for twice while it is under way, it is fetched once and answered twice."""

    doc_id: DocId
    ip: str
    url: str
    stage: Stage = Stage.WAITING
    fetch: FetchId | None = None
    """While it is being fetched."""
    askers: list[tuple[Asker, TransId]] = field(default_factory=list)


class FetchOrders:
    def __init__(self, working_every: float) -> None:
        self._working_every = working_every
        self._orders: dict[tuple[DocId, str], FetchOrder] = {}
        self._waiting: deque[FetchOrder] = deque()
        # The period is the same for all, so a queue is in the order of its times.
        self._signs: deque[tuple[float, FetchOrder]] = deque()

    def __len__(self) -> int:
        return len(self._orders)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, asker: Asker, asked: Fetch, now: float) -> None:
        key = DocId(asked.doc_id), asked.url
        order = self._orders.get(key)
        if order is None:
            order = self._orders[key] = FetchOrder(*key[:1], asked.ip, asked.url)
            self._waiting.append(order)
            self._signs.append((now + self._working_every, order))
        order.askers.append((asker, asked.trans_id))

    def next_waiting(self, most: int) -> list[FetchOrder]:
        """Take up to `most` orders that were not begun; those that nobody waits for any more are forgotten."""
        taken: list[FetchOrder] = []
        while self._waiting and len(taken) < most:
            order = self._waiting.popleft()
            if order.askers:
                taken.append(order)
            else:
                self._forget(order)
        return taken

    def put_back(self, orders: list[FetchOrder]) -> None:
        self._waiting.extendleft(reversed(orders))

    def finish(self, order: FetchOrder) -> None:
        """Answer everybody who waits for it."""
        for asker, trans_id in order.askers:
            asker.done(trans_id)
        order.askers.clear()
        self._forget(order)

    def drop(self, order: FetchOrder) -> None:
        """Nobody waits, and nothing was found out."""
        self._forget(order)

    def leave(self, asker: Asker) -> list[FetchOrder]:
        """A connection is gone; returns the orders that nobody waits for any more."""
        left = []
        for order in self._orders.values():
            had = len(order.askers)
            order.askers = [(one, trans_id) for one, trans_id in order.askers if one is not asker]
            if had and not order.askers:
                left.append(order)
        return left

    def signs_of_life(self, now: float) -> Iterator[tuple[Asker, TransId]]:
        """Everybody who is owed a WORKING."""
        while self._signs and self._signs[0][0] <= now:
            due, order = self._signs.popleft()
            if self._orders.get((order.doc_id, order.url)) is order:
                yield from order.askers
                self._signs.append((max(due, now - self._working_every) + self._working_every, order))

    def _forget(self, order: FetchOrder) -> None:
        if self._orders.get((order.doc_id, order.url)) is order:
            del self._orders[order.doc_id, order.url]
