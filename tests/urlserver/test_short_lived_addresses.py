"""Addresses that the DNS lets nobody keep: one look-up for each request, as the URL server runs."""

from __future__ import annotations

import asyncio

from support.name_server import A, NameServer, a
from support.raw_spider import RawSpider, all_ended, links, quick_settings, running, until
from weft.config import TextTable
from weft.mgmt.memory import MemoryMgmt

PAGES = 5


def test_a_time_to_live_of_zero_costs_one_look_up_for_each_request():
    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*(f"https://a.test/{page}" for page in range(PAGES))))
        zone = {("a.test", A): a("a.test", "127.0.0.1", ttl=0)}
        spider = await RawSpider(mgmt).open()
        async with NameServer(zone) as names:
            settings = quick_settings(
                spider,
                urlserver__static_hosts=TextTable({}),
                urlserver__dns_servers=(names.address,),
                urlserver__dns_ttl_min=0.0,
            )
            async with running(settings, mgmt):
                await until(all_ended(mgmt))
            asked = len(names.asked)
        await spider.close()
        assert len(spider.pages) == PAGES
        assert asked <= len(spider.fetches) + 1

    asyncio.run(story())
