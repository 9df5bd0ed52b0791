"""Serving searches, until the index server is asked to stop."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from weft.roles.connection_limit import ConnectionLimit
from weft.roles.port import open_port
from weft.roles.stop import StopRequest
from weft.search.server_http import ShardsDesk, ShardsProtocol
from weft.search.service import IndexServer


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server is asked, the token that must be shown, and how it is spoken to."""

    listener: socket.socket
    token: str
    tls: ssl.SSLContext | None = None
    """None: in the clear."""


async def serve(server: IndexServer, access: Access, stop: StopRequest, ready: Callable[[], None]) -> None:
    """Answer from what is on disk at once, and from all that the server owns soon, until asked to stop."""
    keeper, upkeep = server.keeper, server.upkeep
    desk = ShardsDesk(upkeep.served, lambda: server.wanted, upkeep.figures.count)
    keeper.figures = lambda: {**server.facts(), **desk.facts()}
    make = partial(ShardsProtocol, access.token, ConnectionLimit(), desk)
    await server.serve_what_is_there()
    port = await open_port(access.listener, make, access.tls)
    try:
        await keeper.register()
        ready()
        await server.run(stop)
    finally:
        port.close()
        desk.close()
        await server.close()
