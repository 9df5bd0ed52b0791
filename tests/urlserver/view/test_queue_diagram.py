"""The queues as people see them."""

from __future__ import annotations

from typing import Any

import msgspec

from support.frontier_driving import Driven, known
from weft.urlserver.view.queue_diagram import draw_queues
from weft.urlserver.view.snapshot import Snapshot, SpiderView, host_view, queue_views

DRAWN = """\
URL server 127.0.0.1:7069 is online
spider 127.0.0.1:7070: 4 URLs in hand
spider 127.0.0.1:7071: not connected: no spider answers

              |---- queue_len 8 -----|
host          |----| active             waiting  next
a.com         [>][>][#][#][#][#][#][#]        7  waits: an answer
b.example.org [>][>][ ][ ][ ][ ][ ][ ]        0  waits: an answer
slow.com      [#][#][#][#][ ][ ][ ][ ]        4  in 7.0 s: Crawl-delay
new.com       [#][ ][ ][ ][ ][ ][ ][ ]        1  waits: robots.txt

queues    4 of 5 in use, 13 links wait
leftover  0 links, 0 hosts without a queue
arriving  1 links of hosts whose address is not known yet"""


def busy_web() -> Driven:
    web = Driven(queue_count=5, queue_len=8, req_host_concurrent=2, spider_lag=0)
    web.host("a.com", pages=9)
    web.host("b.example.org", pages=2, ip="192.0.2.2")
    web.host("slow.com", pages=4, ip="192.0.2.3", robots=known("User-agent: *\nDisallow: /2\nCrawl-delay: 9"))
    web.host("new.com", pages=1, ip="192.0.2.4", robots=None)
    web.offer("https://arriving.com/")
    web.after(1)
    web.after(1)
    return web


def snapshot_of(web: Driven, **changes: Any) -> Snapshot:
    queues = web.frontier.registry.queues
    facts: dict[str, Any] = {
        "server": "127.0.0.1:7069",
        "state": "online",
        "queue_count": queues.count,
        "queue_len": queues.length,
        "concurrent": web.frontier.registry.politeness.host_concurrent,
        "taken": queues.taken,
        "queued": queues.queued,
        "leftovers": queues.leftovers,
        "without_queue": len(queues.slotless),
        "arriving": queues.arriving,
        "spiders": [
            SpiderView("127.0.0.1:7070", 4, ""),
            SpiderView("127.0.0.1:7071", 0, "no spider answers"),
        ],
        "queues": queue_views(web.frontier, web.now, 10),
    }
    return Snapshot(**{**facts, **changes})


def test_queues_are_drawn_with_active_part_and_reason():
    assert draw_queues(snapshot_of(busy_web())) == DRAWN


def test_what_a_status_file_says_is_drawn_the_same():
    facts: dict[str, Any] = {"at": 1.0, "pid": 1, **msgspec.to_builtins(snapshot_of(busy_web()))}
    assert draw_queues(facts) == DRAWN


def test_an_idle_server_has_nothing_to_draw_but_its_numbers():
    drawn = draw_queues(snapshot_of(Driven(), spiders=[]))
    assert "queues    0 of 1000 in use, 0 links wait" in drawn


def test_queues_beyond_those_shown_are_counted():
    assert "... 3 more" in draw_queues(snapshot_of(busy_web(), taken=7))


def test_a_host_is_explained_with_the_line_of_robots_txt_that_decides():
    web = busy_web()
    view = host_view(web.frontier, "slow.com", "https://slow.com/2", web.now)
    assert (view.robots[0].allowed, view.robots[0].line) == (False, "line 2: Disallow: /2")
    assert view.robots[0].crawl_delay == 9
    assert view.queue.why == "Crawl-delay"


def test_a_rejected_host_says_why():
    web = busy_web()
    assert host_view(web.frontier, "a.com", "", web.now).rejected == ["its queue is full"]
    assert host_view(web.frontier, "nobody.com", "", web.now).queue is None
