"""Serving URL servers, until the spider is asked to stop."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from weft.errors import WeftError
from weft.roles.connection_limit import ConnectionLimit
from weft.roles.open_files import OTHERS
from weft.roles.port import open_port
from weft.roles.stop import StopRequest, first_of
from weft.spider.records_http import RecordsProtocol
from weft.spider.service import Spider
from weft.spider.urlserver_connection import UrlServerConnection

log = logging.getLogger(__name__)


class ResultsLeft(WeftError):  # noqa: N818
    """Stopped before all that was fetched could be recorded; none of it was acknowledged."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Access:
    """What somebody who connects may read, the token that they must show, and how they are spoken to."""

    token: str
    archive: Path
    tls: ssl.SSLContext | None = None
    """None: in the clear."""


class OpenFiles(NamedTuple):
    """Connections to web servers."""

    concurrent: int
    """Fetches at a time."""
    kept: int
    """Connections that wait for the next fetch."""


def share_open_files(wanted: OpenFiles, limit: int) -> OpenFiles:
    """What the settings want, or less where this process may not open as many files; that is worth a warning."""
    concurrent = max(1, min(wanted.concurrent, limit - OTHERS))
    shared = OpenFiles(concurrent, max(1, min(wanted.kept, limit - OTHERS - concurrent)))
    if shared.concurrent < wanted.concurrent or shared.kept < wanted.kept:
        log.warning(
            "this process may open only %d files, so spider.concurrent is %d and spider.connections %d (ulimit -n)",
            limit,
            *shared,
        )
    return shared


async def serve(
    spider: Spider, listener: socket.socket, access: Access, stop: StopRequest, ready: Callable[[], None]
) -> None:
    """Serve until asked to stop, by a person or the control plane; raises ResultsLeft."""
    loop, keeper = asyncio.get_running_loop(), spider.resources.keeper
    readers, limit = ThreadPoolExecutor(2, "weft-records"), ConnectionLimit()

    def connect() -> UrlServerConnection:
        records = partial(RecordsProtocol, access.archive, access.token, limit, readers)
        return UrlServerConnection(spider.desk, access.token, limit, records)

    keeper.figures = spider.figures
    await keeper.register()
    server = await open_port(listener, connect, access.tls)
    working = loop.create_task(spider.run())
    ready()
    try:
        await first_of(working, stop.asked.wait(), keeper.drain_requested.wait())
        server.close()
        await first_of(working, stop.at_once.wait(), spider.drain())
    finally:
        server.close()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        left = await spider.close()
        readers.shutdown(wait=False)
        await keeper.leave()
    if left:
        raise ResultsLeft(f"{left} results could not be recorded; none was acknowledged, they will be asked for again")
