"""Where connections and orders meet: who asked, who gets an answer, and when to read no more lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from weft.spider.gate import Gate
from weft.spider.orders import FetchOrder, FetchOrders
from weft.spider.urlserver_connection import UrlServerConnection
from weft.wire import Fetch


@dataclass(frozen=True, slots=True)
class DeskOptions:
    unanswered: int
    """URLs taken and not answered, beyond which no more lines are read."""
    working_every: float


class FrontDesk:
    """`came` is called when there is something new to fetch or room for it, `left` with orders nobody waits for."""

    def __init__(
        self, options: DeskOptions, gate: Gate, came: Callable[[], None], left: Callable[[list[FetchOrder]], None]
    ) -> None:
        self._options, self._gate, self._came, self._left = options, gate, came, left
        self._loop = asyncio.get_running_loop()
        self._connections: set[UrlServerConnection] = set()
        self._is_paused = False
        self.orders = FetchOrders(options.working_every)

    def connected(self, connection: UrlServerConnection) -> None:
        self._connections.add(connection)
        if self._is_paused:
            connection.pause()

    def asked(self, connection: UrlServerConnection, fetches: list[Fetch]) -> None:
        now = self._loop.time()
        for fetch in fetches:
            self.orders.add(connection, fetch, now)
        self.look()

    def closed(self, connection: UrlServerConnection) -> None:
        self._connections.discard(connection)
        self._left(self.orders.leave(connection))
        self.look()

    def answer(self, orders: list[FetchOrder]) -> None:
        """Say DONE to everybody who waits for these."""
        answered = {asker for order in orders for asker, _ in order.askers}
        for order in orders:
            self.orders.finish(order)
        for asker in answered:
            asker.send()
        self.look()

    def look(self) -> None:
        """Read lines, or stop reading them, as the state of things demands."""
        should_pause = len(self.orders) >= self._options.unanswered or not self._gate.is_open
        if should_pause != self._is_paused:
            self._is_paused = should_pause
            for connection in self._connections:
                if should_pause:
                    connection.pause()
                else:
                    connection.resume()
        self._came()

    def close(self) -> None:
        for connection in list(self._connections):
            connection.close()

    async def tell_working(self) -> None:
        """Say WORKING for everything that takes its time, until cancelled."""
        while True:
            await asyncio.sleep(min(1.0, self._options.working_every / 8))
            answered = set()
            for asker, trans_id in self.orders.signs_of_life(self._loop.time()):
                asker.working(trans_id)
                answered.add(asker)
            for asker in answered:
                asker.send()
