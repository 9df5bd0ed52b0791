"""The most referenced of the new links go first, also if they became so after they were found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.dispatcher_world import CrawlWorld, place_of
from weft.config.sections import DispatcherSettings
from weft.dispatcher.discovery import REMEMBERED, Discovery
from weft.dispatcher.link_records import LinkPhase
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.seen_links import ENTRY, SeenLinks
from weft.dispatcher.segment import choose
from weft.model.site import Site

SETTINGS = DispatcherSettings(segment_size=4)
X, Y, Z = (f"https://a.com/{name}" for name in "xyz")


def world(remembered: int = REMEMBERED) -> CrawlWorld:
    crawl = CrawlWorld(SETTINGS, Site(name="a.com", scope="domains"))
    crawl.discovery = Discovery(SETTINGS, remembered)
    return crawl


def order(crawl: CrawlWorld) -> list[str]:
    chosen = choose(crawl.store, LinkRound(crawl.store, 9), b"com.a", SETTINGS, crawl.clock.now())
    return [each.record.url for each in chosen if each.record.phase is LinkPhase.NEW]


@pytest.mark.parametrize("remembered", [REMEMBERED, 0])
def test_a_link_that_more_and_more_pages_name_moves_forward(remembered: int) -> None:
    crawl = world(remembered)
    crawl.crawl("https://a.com/", X, Y, Z)
    assert order(crawl) == [X, Y, Z]
    for n in range(4):
        crawl.crawl(f"https://b.com/{n}", Y, *([Z] if n else []))
    crawl.crawl("https://b.com/last")
    assert order(crawl) == [Y, Z, X]


def test_links_are_named_by_several_pages_of_one_round() -> None:
    from weft.dispatcher.discovery import DiscoveredLink
    from weft.store.api import Batch

    crawl = world()
    round_ = LinkRound(crawl.store, 9)
    found = [DiscoveredLink(*place_of(url), url, 1, "com.b") for url in (X, Y, Y, Y, Z, Z)]
    assert crawl.discovery.offer(round_, crawl.scope, found, 5) == 3
    crawl.store.write(Batch(round_.cells()), 1)
    assert order(crawl) == [Y, Z, X]


@given(rounds=st.lists(st.sets(st.sampled_from([X, Y, Z]), max_size=3), max_size=40), kill=st.integers(0, 40))
def test_a_place_is_never_off_by_more_than_a_doubling(rounds: list[set[str]], kill: int) -> None:
    crawl = world()
    for number, links in enumerate(rounds):
        if number == kill:
            crawl.start()
        crawl.crawl(f"https://b.com/{number}", *sorted(links))
    crawl.crawl("https://b.com/last")
    for url, record in crawl.records().items():
        # What a kill made forgotten is counted when the link is named again.
        if kill >= len(rounds) or any(url in links for links in rounds[kill:]):
            present = sum(url in links for links in rounds)
            assert abs(present.bit_length() - record.references.bit_length()) <= 1


def test_what_was_seen_lately_is_remembered_and_the_rest_is_forgotten() -> None:
    memory = SeenLinks(10 * (ENTRY + 2))
    for n in range(20):
        memory.add([b"%d" % n])
        assert memory.see(b"0") == n + 2
    assert memory.see(b"19") == 2
    assert memory.see(b"1") == 0
    memory.forget()
    assert memory.see(b"0") == 0
