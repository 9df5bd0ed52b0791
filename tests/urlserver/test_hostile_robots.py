"""A host whose robots.txt is as dear as it can be, beside ordinary ones, in a URL server that runs."""

from __future__ import annotations

import asyncio
from itertools import count, islice, product
from string import ascii_lowercase, hexdigits

import pytest

from support.raw_spider import RawSpider, all_ended, links, quick_settings, running, until
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import LinkState

RATE = 5.0


def wildcards(size: int) -> bytes:
    lines = (b"Disallow: /*%x\n" % number for number in count())
    return b"User-agent: *\n" + b"".join(islice(lines, size // 16))


def letters(size: int) -> bytes:
    lines = ("Disallow: /*{}*{}*{}*{}$\n".format(*four) for four in product(ascii_lowercase, repeat=4))
    return b"User-agent: *\n" + "".join(islice(lines, size // 20)).encode()


def long_path(number: int) -> str:
    return f"{number}-" + (hexdigits[:16] + ascii_lowercase) * 20


class Crawl:
    """Good hosts with some pages each; and perhaps a hostile one, with many links."""

    def __init__(self, hosts: int, pages: int, bad_links: int, robots: bytes) -> None:
        self.good = [f"https://g{host}.test/{page}" for host in range(hosts) for page in range(pages)]
        self.bad = [f"https://bad.test/{long_path(number)}" for number in range(bad_links)]
        self.robots = robots
        self.mgmt = MemoryMgmt()

    async def seconds(self) -> float:
        """From the first good page to the last."""
        self.mgmt.add(links(*self.bad, *self.good))
        spider = await RawSpider(self.mgmt, self._answer).open()
        settings = quick_settings(spider, urlserver__req_host_per_sec=RATE, urlserver__queue_len=2000)
        async with running(settings, self.mgmt):
            await until(all_ended(self.mgmt))
        await spider.close()
        times = [moment for moment, fetch in zip(spider.times, spider.fetches, strict=True) if fetch in spider.pages]
        return times[-1] - times[0]

    async def _answer(self, spider, fetch, writer) -> None:
        if fetch.url == "https://bad.test/robots.txt":
            spider.store(fetch, status=200, body=self.robots)
        else:
            spider.store(fetch)
        writer.write(f"{fetch.trans_id} DONE\n".encode())

    def states(self, urls: list[str]) -> set[str]:
        uris = [url.split("//")[1] for url in urls]
        known = self.mgmt.known(uris)
        return {known[uri].error or known[uri].state for uri in uris}


def check(crawl: Crawl) -> None:
    assert crawl.states(crawl.good) == {LinkState.CRAWLED}
    assert crawl.states(crawl.bad) == {"robots"}


@pytest.mark.parametrize("kind", [wildcards, letters])
def test_links_of_a_hostile_host_are_refused_while_others_are_crawled(kind) -> None:
    crawl = Crawl(hosts=5, pages=3, bad_links=60, robots=kind(20_000))
    asyncio.run(crawl.seconds())
    check(crawl)


@pytest.mark.long
@pytest.mark.parametrize("kind", [wildcards, letters])
def test_a_hostile_host_with_a_thousand_links_leaves_others_nine_tenths_of_their_rate(kind) -> None:
    hosts, pages = 20, 60
    # The better of two, because other programs take time too.
    alone = min(asyncio.run(Crawl(hosts, pages, 0, b"").seconds()) for _ in range(2))
    crawls = [Crawl(hosts, pages, 1000, kind(500 * 1024)) for _ in range(2)]
    beside = min(asyncio.run(crawl.seconds()) for crawl in crawls)
    for crawl in crawls:
        check(crawl)
    assert alone >= (pages - 1) / RATE
    assert beside * 0.9 <= alone, f"{alone:.1f} s alone, {beside:.1f} s beside a hostile host"
