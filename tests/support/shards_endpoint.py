"""The endpoint of an index server in this process, over shards that a test has made."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread

from weft.roles.connection_limit import ConnectionLimit
from weft.roles.listener import open_listener
from weft.roles.port import open_port
from weft.search.served_shards import ServedShards
from weft.search.server_http import ShardsDesk, ShardsProtocol


@contextmanager
def endpoint(served: ServedShards, count: int, token: str = "", tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Its port on loopback, for as long as this lasts."""
    ready, stop = Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    with open_listener("indexserver.listen", "127.0.0.1", 0, token) as listener:
        port = int(listener.getsockname()[1])

        async def run() -> None:
            desk = ShardsDesk(served, lambda: range(count), count)
            server = await open_port(listener, partial(ShardsProtocol, token, ConnectionLimit(), desk), tls)
            loops.append(asyncio.get_running_loop())
            ready.set()
            await stop.wait()
            server.close()
            desk.close()

        thread = Thread(target=lambda: asyncio.run(run()))
        thread.start()
        try:
            assert ready.wait(10)
            yield port
        finally:
            loops[0].call_soon_threadsafe(stop.set)
            thread.join()
