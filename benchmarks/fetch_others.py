"""The other contestants of `weft bench fetch`, each in a process of its own.

Prints what it took as JSON: pages, seconds, CPU seconds. Imports and the making of objects are outside the clock.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import Callable, Iterator
from time import perf_counter, process_time
from typing import Any

import pycurl  # type: ignore[import-untyped]
import uvloop
from isal import isal_zlib

from fetch_web import url_of

CONCURRENT = 100


def run(name: str, port: int, pages: int, fetches: int, kind: str, certificate: str) -> None:
    scheme = "https" if certificate else "http"
    urls = [f"{url_of(number % pages, port, scheme, kind)}?{number // pages}" for number in range(fetches)]
    print(json.dumps(CONTESTANTS[name](urls, url_of(0, port, scheme), certificate)))


def measured(work: Callable[[], int]) -> dict[str, float]:
    wall, cpu = perf_counter(), process_time()
    pages = work()
    return {"pages": pages, "wall": perf_counter() - wall, "cpu": process_time() - cpu}


def raw_pycurl(urls: list[str], _start: str, certificate: str) -> dict[str, float]:
    """The shortest loop around libcurl's multi interface; bodies are unpacked and thrown away."""
    multi, waiting, done = pycurl.CurlMulti(), iter(urls), 0
    multi.setopt(pycurl.M_MAXCONNECTS, 1000)
    bodies: dict[pycurl.Curl, list[bytes]] = {}
    for _ in range(CONCURRENT):
        curl = pycurl.Curl()
        bodies[curl] = []
        curl.setopt(pycurl.WRITEFUNCTION, bodies[curl].append)
        curl.setopt(pycurl.HTTPHEADER, ["Accept-Encoding: gzip"])
        if certificate:
            curl.setopt(pycurl.CAINFO, certificate)
            curl.setopt(pycurl.SSL_VERIFYHOST, 0)

    def start(curl: pycurl.Curl) -> bool:
        url = next(waiting, None)
        if url is not None:
            curl.setopt(pycurl.URL, url)
            multi.add_handle(curl)
        return url is not None

    def fetch() -> int:
        nonlocal done
        running = sum(start(curl) for curl in bodies)
        while running:
            multi.perform()
            _, well, badly = multi.info_read()
            for curl in [*well, *(curl for curl, _, _ in badly)]:
                multi.remove_handle(curl)
                isal_zlib.decompress(b"".join(bodies[curl]), 31)
                bodies[curl].clear()
                done += 1
                running -= not start(curl)
            if not well and not badly:
                multi.select(1.0)
        return done

    return measured(fetch)


def aiohttp_loop(urls: list[str], _start: str, certificate: str) -> dict[str, float]:
    """A hundred tasks over one session, on uvloop; bodies are read and unpacked by aiohttp."""
    import aiohttp

    async def fetch_all() -> int:
        context = ssl.create_default_context(cafile=certificate) if certificate else None
        if context:
            context.check_hostname = False
        waiting, done = iter(urls), 0
        connector = aiohttp.TCPConnector(limit=CONCURRENT, ssl=context if context else False)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def work() -> None:
                nonlocal done
                for url in waiting:
                    async with session.get(url) as response:
                        await response.read()
                    done += 1

            await asyncio.gather(*[work() for _ in range(CONCURRENT)])
        return done

    return measured(lambda: uvloop.run(fetch_all()))


def scrapy_fetch(urls: list[str], _start: str, _certificate: str) -> dict[str, float]:
    """Default settings; pages are fetched and looked at no further."""
    return _scrapy({}, lambda: iter(urls), None)


def scrapy_follow(urls: list[str], start: str, _certificate: str) -> dict[str, float]:
    """Default settings, and its own link extractor."""
    from scrapy.linkextractors import LinkExtractor

    extractor = LinkExtractor()
    return _scrapy({}, lambda: iter([start]), lambda response: (link.url for link in extractor.extract_links(response)))


def scrapy_tuned(urls: list[str], start: str, _certificate: str) -> dict[str, float]:
    """More at a time, no middleware that this web does not need, links by a fast parser."""
    from selectolax.lexbor import LexborHTMLParser

    def links(response: Any) -> Iterator[str]:
        for node in LexborHTMLParser(response.text).css("a[href]"):
            yield response.urljoin(node.attributes["href"])

    off = dict.fromkeys(
        [
            "scrapy.downloadermiddlewares.cookies.CookiesMiddleware",
            "scrapy.downloadermiddlewares.redirect.RedirectMiddleware",
            "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware",
            "scrapy.downloadermiddlewares.retry.RetryMiddleware",
            "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware",
        ]
    )
    tuned = {
        "CONCURRENT_REQUESTS": CONCURRENT,
        "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENT,
        "DOWNLOADER_MIDDLEWARES": off,
        "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
        "TELNETCONSOLE_ENABLED": False,
    }
    return _scrapy(tuned, lambda: iter([start]), links)


def _scrapy(
    settings: dict[str, object], begin: Callable[[], Iterator[str]], links: Callable[[Any], Iterator[str]] | None
) -> dict[str, float]:
    import scrapy
    from scrapy.crawler import CrawlerProcess

    seen = 0

    class Follower(scrapy.Spider):
        name = "bench"

        async def start(self) -> Any:
            for url in begin():
                yield scrapy.Request(url)

        def parse(self, response: Any) -> Iterator[Any]:
            nonlocal seen
            seen += 1
            for url in links(response) if links else ():
                yield scrapy.Request(url)

    process = CrawlerProcess({"LOG_ENABLED": False, **settings})
    process.crawl(Follower)

    def crawl() -> int:
        process.start()
        return seen

    return measured(crawl)


CONTESTANTS: dict[str, Callable[[list[str], str, str], dict[str, float]]] = {
    "raw pycurl": raw_pycurl,
    "aiohttp": aiohttp_loop,
    "Scrapy, fetch only": scrapy_fetch,
    "Scrapy, fetch and follow": scrapy_follow,
    "Scrapy tuned, fetch and follow": scrapy_tuned,
}

if __name__ == "__main__":
    run(sys.argv[1], *map(int, sys.argv[2:5]), *sys.argv[5:7])  # type: ignore[arg-type]
