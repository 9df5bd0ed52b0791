"""Serving the web app until it is asked to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

import uvicorn

from weft.roles.stop import StopRequest
from weft.web.app import WebApp
from weft.web.head_limits import LimitedHttp
from weft.web.limits import WebLimits
from weft.web.node import WebNode
from weft.web.resources import WebResources

log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """Without signals: the role decides when it ends."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    web: WebResources,
    listener: socket.socket,
    stop: StopRequest,
    ready: Callable[[], None],
    limits: WebLimits | None = None,
    node: WebNode | None = None,
) -> None:
    """`node` makes the control plane know of the app; None: it does not."""
    host, port = listener.getsockname()[:2]
    limits = limits or WebLimits()
    app = WebApp(web, (host, port), limits)
    server = _Server(
        uvicorn.Config(
            app.asgi,
            http=partial(LimitedHttp, limits, app.tally),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            loop="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=limits.connections,
            timeout_keep_alive=limits.keep_alive,
            timeout_graceful_shutdown=limits.last_answers,
        )
    )
    running = asyncio.create_task(server.serve([listener]))
    async with _registered(node, app, stop):
        try:
            while not server.started and not running.done():
                await asyncio.sleep(0.01)
            ready()
            await asyncio.wait([running, asyncio.ensure_future(stop.asked.wait())], return_when=asyncio.FIRST_COMPLETED)
        finally:
            app.streams.end()
            server.should_exit = True
            await running


@contextlib.asynccontextmanager
async def _registered(node: WebNode | None, app: WebApp, stop: StopRequest) -> AsyncIterator[None]:
    """Leaves last: until then there are answers under way."""
    if node is None:
        yield
        return
    attending = asyncio.create_task(node.run(app.figures, stop))
    try:
        yield
    finally:
        attending.cancel()
        await asyncio.gather(attending, return_exceptions=True)
        await node.leave()
