"""Serving until told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import uvloop

from weft.demo.web.answering.web import CACHE_BYTES
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.server.server import WebServer

_LOOK_EVERY: Final = 1.0


def serve(
    plan: WebPlan,
    log: Path | None,
    on_ready: Callable[[WebServer], None],
    *,
    cache_bytes: int = CACHE_BYTES,
    seconds: float | None = None,
    with_parent: bool = False,
) -> None:
    """Serve until SIGINT, SIGTERM or the end of `seconds`; `with_parent` also until the starting process is gone."""
    uvloop.run(_serve(WebServer(plan, log, cache_bytes), on_ready, seconds, with_parent=with_parent))


async def _serve(
    server: WebServer, on_ready: Callable[[WebServer], None], seconds: float | None, *, with_parent: bool
) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    if with_parent:
        _watch_parent(loop, stopped)
    await server.start()
    try:
        on_ready(server)
        await _first_of(stopped, server.failed, seconds)
    finally:
        await server.stop()


async def _first_of(stopped: asyncio.Event, failed: asyncio.Future[None], seconds: float | None) -> None:
    waiting = asyncio.ensure_future(stopped.wait())
    both: list[asyncio.Future[Any]] = [waiting, failed]
    await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if failed.done():
        failed.result()


def _watch_parent(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    """Stop when standard input ends, which the parent holds, or when the parent is another one."""
    parent = os.getppid()

    def read() -> None:
        if not os.read(sys.stdin.fileno(), 4_096):
            loop.remove_reader(sys.stdin.fileno())
            stopped.set()

    def look() -> None:
        # The pipe may have been inherited by a process that outlives the parent.
        if os.getppid() != parent:
            stopped.set()
        loop.call_later(_LOOK_EVERY, look)

    loop.add_reader(sys.stdin.fileno(), read)
    look()
