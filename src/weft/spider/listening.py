"""Listening for URL servers, until the spider is told to stop."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import UsageError, WeftError
from weft.mgmt.values import NodeState
from weft.spider.connection import Connection
from weft.spider.control import Control
from weft.spider.records_http import RecordsProtocol
from weft.spider.service import TELL_SECONDS, Spider

log = logging.getLogger(__name__)


class SpiderRefused(WeftError):  # noqa: N818 - an answer about the place to listen at
    """The spider cannot begin."""


class ResultsLeft(WeftError):  # noqa: N818
    """Stopped before all that was fetched could be recorded; none of it was acknowledged."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Listening:
    token: str
    archive: Path


def open_socket(host: str, port: int, token: str) -> socket.socket:
    """The socket to listen at; raises SpiderRefused. Without a token it must be on loopback."""
    if not token and not _is_loopback(host):
        raise UsageError(
            f"spider.listen: {host} can be reached by others; expected spider.token, or a loopback address"
        )
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        # Python adds the address to strerror, which the sentence has already.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise SpiderRefused(f"spider.listen: {host}:{port} cannot be listened at: {reason}") from error


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def raise_file_limit(wanted: int) -> int:
    """Let this process open as many files as it may; returns how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= wanted:
        hard = max(soft, wanted)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return hard


async def serve(
    spider: Spider, control: Control, listener: socket.socket, place: Listening, ready: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT; the second one, or an error, ends it at once. Raises ResultsLeft."""
    loop = asyncio.get_running_loop()
    readers = ThreadPoolExecutor(2, "weft-records")

    def connect() -> Connection:
        return Connection(spider.desk, place.token, lambda: RecordsProtocol(place.archive, place.token, readers))

    server = await loop.create_server(connect, sock=listener)
    stop_now = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _on_signal, spider.asked_to_drain, stop_now)
    working = loop.create_task(spider.run())
    ready()
    try:
        await _first(working, spider.asked_to_drain.wait())
        server.close()
        await _first(working, stop_now.wait(), spider.drain())
    finally:
        server.close()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        left = await spider.close()
        readers.shutdown(wait=False)
        await _say_goodbye(control)
    if left:
        raise ResultsLeft(f"{left} results could not be recorded; none was acknowledged, they will be asked for again")


def _on_signal(drain: asyncio.Event, stop_now: asyncio.Event) -> None:
    if drain.is_set():
        stop_now.set()
    else:
        log.info("stopping: what was begun is finished; a second signal stops at once")
        drain.set()


async def _first(working: asyncio.Task[None], *events: Coroutine[Any, Any, object]) -> None:
    """Wait for any of these; if the work ended, or an event failed, raise why."""
    others = [asyncio.ensure_future(event) for event in events]
    await asyncio.wait([working, *others], return_when=asyncio.FIRST_COMPLETED)
    for other in others:
        if other.done():
            other.result()
        other.cancel()
    if working.done():
        try:
            working.result()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None


async def _say_goodbye(control: Control) -> None:
    try:
        await asyncio.wait_for(control.tell(NodeState.OFFLINE), TELL_SECONDS)
        await asyncio.wait_for(control.close(), TELL_SECONDS)
    except (WeftError, TimeoutError) as error:
        log.warning("the control plane was not told that this spider stops reason=%s", error)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
