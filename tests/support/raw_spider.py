"""A spider made of a bare socket, which may be as bad as a test likes; and a URL server that runs beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from weft.addresses.resolver import Resolver
from weft.clock import Clock, MonotonicClock, SystemClock
from weft.config import Settings, TextTable
from weft.config.settings import settings_with
from weft.mgmt.api import Mgmt
from weft.mgmt.values import DocId, NewLink, NodeType, Result, WarcPosition
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper
from weft.roles.stop import StopRequest
from weft.urlserver.address_policy import AddressPolicy
from weft.urlserver.lease_session import UrlServerResources
from weft.urlserver.mgmt_gateway import Clocks, MgmtGateway, RobotsPolicy
from weft.urlserver.service import UrlServer
from weft.wire import Fetch, decode_request

PATIENCE = 20.0


@dataclass
class RawSpider:
    """`act` is called with every line; by default it stores a result and says DONE."""

    mgmt: Mgmt
    act: Callable[[RawSpider, Fetch, asyncio.StreamWriter], Awaitable[None]] | None = None
    lines: list[bytes] = field(default_factory=list)
    fetches: list[Fetch] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    connections: int = 0
    greets: bool = True
    """Whether it stays on the line."""
    port: int = 0
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def open(self) -> RawSpider:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def close(self) -> None:
        """As if it was killed."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        if not self.greets:
            writer.transport.abort()
            return
        while line := await reader.readline():
            self.lines.append(line)
            if line.startswith(b"HELLO"):
                continue
            fetch = decode_request(line.rstrip(b"\n"))
            assert isinstance(fetch, Fetch)
            self.fetches.append(fetch)
            self.times.append(asyncio.get_running_loop().time())
            await (self.act or RawSpider.answer)(self, fetch, writer)
        writer.close()

    async def answer(self, fetch: Fetch, writer: asyncio.StreamWriter) -> None:
        self.store(fetch)
        writer.write(f"{fetch.trans_id} DONE\n".encode())

    def store(self, fetch: Fetch, **more: Any) -> None:
        """robots.txt is not there; every page is archived."""
        details = self.mgmt.details([DocId(fetch.doc_id)]).get(DocId(fetch.doc_id))
        if details is not None:
            status = 404 if fetch.url.endswith("/robots.txt") else 200
            position = WarcPosition("127.0.0.1:1", "0.warc.gz", 0, 1)
            given = {"status": status, "position": position, **more}
            self.mgmt.report([Result(doc_id=details.doc_id, claim=details.claim, **given)])

    @property
    def pages(self) -> list[Fetch]:
        return [fetch for fetch in self.fetches if not fetch.url.endswith("/robots.txt")]


def quick_settings(*spiders: RawSpider, **changes: Any) -> Settings:
    """Everything at *.test is at a loopback address, and nothing takes long."""
    values = {
        "urlserver.spider_host": ",".join(f"127.0.0.1:{spider.port}" for spider in spiders),
        "urlserver.static_hosts": TextTable({"*.test": "127.0.0.1"}),
        "urlserver.allow_net": ("127.0.0.0/8",),
        "urlserver.req_host_per_sec": 50.0,
        "urlserver.req_ip_per_sec": 1000.0,
        "urlserver.req_ip_concurrent": 100,
        "urlserver.backoff_first": 0.1,
        "urlserver.drain": 2.0,
        "mgmt.heartbeat": 0.1,
        "mgmt.chunk_linger": 0.1,
        **{name.replace("__", "."): value for name, value in changes.items()},
    }
    return settings_with(values)


class RunningServer(UrlServer):
    work: asyncio.Task[None]

    def crash(self) -> None:
        """As if it was killed: its connections close, and it tells nobody."""
        self.work.cancel()


@asynccontextmanager
async def running(settings: Settings, mgmt: Mgmt, wall: Clock | None = None) -> AsyncIterator[RunningServer]:
    """A URL server in this loop; told to stop and waited for at the end."""
    clocks, control, stop = Clocks(wall or SystemClock(), MonotonicClock()), ControlPlane(mgmt), StopRequest()
    policy = RobotsPolicy("weft", 512_000, round(settings.urlserver.crawl_delay_max * 1000))
    gateway = MgmtGateway(mgmt, clocks, policy, AddressPolicy(settings.urlserver))
    keeper = LeaseKeeper(control, NodeType.CRAWLER, settings.urlserver.listen, settings.mgmt, clocks.monotonic)
    async with Resolver(settings.urlserver, clocks.wall) as resolver:
        server = RunningServer(
            UrlServerResources(settings, control, keeper, gateway, clocks), resolver, lambda snapshot: None
        )
        server.work = asyncio.create_task(server.run(stop, lambda: None))
        try:
            yield server
        finally:
            stop.ask("the test is over")
            if not server.work.cancelling():
                await asyncio.wait_for(server.work, PATIENCE)
            control.close()


async def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for it; fails when it does not come."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def links(*urls: str) -> list[NewLink]:
    return [NewLink(url.split("//")[1], url, url.split("/")[2]) for url in urls]


def all_ended(mgmt: Mgmt) -> Callable[[], bool]:
    def ended() -> bool:
        counts = mgmt.counts().links
        return counts.get("pending", 0) == 0 == counts.get("crawling", 0)

    return ended
