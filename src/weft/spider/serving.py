"""Serving URL servers, until the spider is asked to stop."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from weft.errors import WeftError
from weft.roles.connection_limit import ConnectionLimit
from weft.roles.stop import StopRequest, first_of
from weft.spider.records_http import RecordsProtocol
from weft.spider.service import Spider
from weft.spider.urlserver_connection import UrlServerConnection


class ResultsLeft(WeftError):  # noqa: N818
    """Stopped before all that was fetched could be recorded; none of it was acknowledged."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Access:
    """What somebody who connects may read, and the token that they must show."""

    token: str
    archive: Path


def raise_file_limit(wanted: int) -> int:
    """Let this process open as many files as it may; returns how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= wanted:
        hard = max(soft, wanted)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return hard


async def serve(
    spider: Spider, listener: socket.socket, access: Access, stop: StopRequest, ready: Callable[[], None]
) -> None:
    """Serve until asked to stop, by a person or the control plane; raises ResultsLeft."""
    loop, keeper = asyncio.get_running_loop(), spider.resources.keeper
    readers, limit = ThreadPoolExecutor(2, "weft-records"), ConnectionLimit()

    def connect() -> UrlServerConnection:
        records = partial(RecordsProtocol, access.archive, access.token, limit, readers)
        return UrlServerConnection(spider.desk, access.token, limit, records)

    await keeper.register()
    server = await loop.create_server(connect, sock=listener)
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
