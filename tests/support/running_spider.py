"""A spider in this process, a control plane in memory, and a URL server that speaks the document's lines by hand."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.archive.cdxj import RecordPosition
from weft.archive.record_reader import ArchivedResponse, read_record
from weft.cli.run_spider import make_fetcher, make_options, make_resources, open_files
from weft.config import Settings, host_and_port
from weft.config.settings import settings_with
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import DocId, Lease, LinkState, NewLink, NodeType, Result
from weft.roles.connection_limit import ConnectionLimit
from weft.roles.listener import open_listener
from weft.roles.port import open_port
from weft.roles.tls import server_context
from weft.spider.fetching import Fetcher
from weft.spider.records_http import RecordsProtocol
from weft.spider.service import Spider
from weft.spider.urlserver_connection import UrlServerConnection

SOON = 20.0
"""Seconds after which a test is hopeless."""

THE_LOOPS_OWN: Any = None
"""The executor that an event loop has by itself."""

FAST: dict[str, Any] = {
    "urlserver.allow_net": ("127.0.0.0/8", "::1/128"),
    "spider.contact": "https://example.com/bot",
    "spider.sync_every": 0.0,
    "spider.min_free": 0,
    "limits.connect_seconds": 2.0,
    "limits.total_seconds": 5.0,
    "limits.idle_seconds": 1.0,
}


def fast_settings(**changed: Any) -> Settings:
    """Short limits, loopback allowed; `section__key` overrides."""
    return settings_with({**FAST, **{name.replace("__", "."): value for name, value in changed.items()}})


class Links:
    """The control plane's side: links made known and claimed, and what became of them."""

    def __init__(self, mgmt=None) -> None:
        self.mgmt = mgmt or MemoryMgmt()
        self.crawler: Lease = self.mgmt.register(NodeType.CRAWLER, "127.0.0.1:1")
        self.ids: dict[str, DocId] = {}

    def claim(self, *urls: str, **facts: Any) -> list[DocId]:
        self.mgmt.add([NewLink(uri=url, url=url, web_host=url.split("/")[2], **facts) for url in urls])
        chunk = self.mgmt.claim(self.crawler, limit=len(urls))
        found = {link.url: link.doc_id for link in chunk.links}
        self.ids.update(found)
        return [found[url] for url in urls]

    def robots(self, url: str) -> DocId:
        origin = url.removesuffix("/robots.txt")
        return self.mgmt.open_robots(self.crawler, {origin: url})[origin].doc_id

    def outcome(self, doc_id: DocId):
        return self.mgmt.outcomes([doc_id])[doc_id]

    def result(self, doc_id: DocId) -> Any:
        """What was reported, with its position."""
        return self.mgmt._state.links[doc_id].result

    def results(self) -> dict[DocId, Result]:
        """Everything reported so far, as a builder gets it."""
        self.mgmt.seal_finished(self.crawler)
        builder = self.mgmt.register(NodeType.INDEX_BUILDER, "127.0.0.1:2")
        chunks = self.mgmt.take_crawled(builder, most=1_000_000)
        return {link.doc_id: link.result for chunk in chunks for link in chunk.links}

    def is_open(self, doc_id: DocId) -> bool:
        return self.outcome(doc_id).state is LinkState.CRAWLING


@dataclass
class UrlServer:
    """Sends lines as they are given and keeps what comes back."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    lines: list[str] = field(default_factory=list)

    def ask(self, *lines: str) -> None:
        self.writer.write("".join(f"{line}\n" for line in lines).encode())

    async def until(self, wanted: str) -> list[str]:
        """Read until this line has come."""
        has_come = wanted in self.lines
        async with asyncio.timeout(SOON):
            while not has_come:
                line = await self.reader.readline()
                assert line, f"closed before {wanted!r} came; {self.lines[-5:]}"
                self.lines.append(line.decode().rstrip("\n"))
                has_come = self.lines[-1] == wanted
        return self.lines

    async def until_done(self, *trans_ids: str) -> list[str]:
        for trans_id in trans_ids:
            await self.until(f"{trans_id} DONE")
        return self.lines

    async def until_closed(self) -> list[str]:
        async with asyncio.timeout(SOON):
            with suppress(ConnectionError):
                while line := await self.reader.readline():
                    self.lines.append(line.decode().rstrip("\n"))
        return self.lines

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@dataclass
class RunningSpider:
    spider: Spider
    links: Links
    port: int
    archive: Path
    working: asyncio.Task
    limit: ConnectionLimit
    url_servers: list[UrlServer] = field(default_factory=list)

    async def connect(self) -> UrlServer:
        url_server = UrlServer(*await asyncio.open_connection("127.0.0.1", self.port))
        self.url_servers.append(url_server)
        return url_server

    async def fetch(self, url: str, ip: str = "127.0.0.1", **facts: Any) -> Result:
        """One URL through everything."""
        (doc_id,) = self.links.claim(url, **facts)
        url_server = await self.connect()
        url_server.ask(f"t1 {doc_id} {ip} {url}")
        await url_server.until_done("t1")
        await url_server.close()
        return self.links.result(doc_id)

    def record(self, result: Result) -> ArchivedResponse:
        place = result.position
        return read_record(self.archive, RecordPosition(place.file, place.offset, place.length))


@asynccontextmanager
async def running_spider(
    home: Path, settings: Settings | None = None, links: Links | None = None, fetcher: Fetcher | None = None
):
    """Fetches over libcurl unless it is given another fetcher."""
    settings, links = settings or fast_settings(), links or Links()
    archive = home / "warc"
    node = "127.0.0.1:7070"
    concurrent, connections = open_files(settings)
    if fetcher is None:
        fetcher = make_fetcher(settings, archive, connections)
    resources = make_resources(settings, archive, links.mgmt, node, fetcher)
    spider = Spider(resources, make_options(settings, node, concurrent))
    await resources.keeper.register()
    token, loop = settings.spider.token, asyncio.get_running_loop()
    limit = ConnectionLimit()
    host, port = host_and_port(settings.spider.listen, 0)
    listener = open_listener("spider.listen", host, port, token)
    port = listener.getsockname()[1]
    server = await open_port(
        listener,
        lambda: UrlServerConnection(
            spider.desk, token, limit, lambda: RecordsProtocol(archive, token, limit, THE_LOOPS_OWN)
        ),
        server_context(settings, host),
    )
    working = loop.create_task(spider.run())
    running = RunningSpider(spider, links, port, archive, working, limit)
    try:
        yield running
        assert not working.done(), f"the spider ended by itself: {working}"
    finally:
        for url_server in running.url_servers:
            await url_server.close()
        server.close()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await spider.close()
        resources.control.close()
