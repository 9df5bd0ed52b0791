"""Sitemaps in the index: what they name is found, what they claim is believed while it proves true."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from support.built_world import SETTINGS, World
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.lastmods import HostTrust, Lastmod, Lastmods
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.model.refusal import RefusalKind
from weft.store.api import Batch
from weft.store.memory import MemoryStore

SITEMAP = "https://a.com/sitemap.xml"
DAY = 86_400
TEXT = "a page with a text that is long enough to be compared with another one, number "


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as made:
        yield made


def sitemap(world: World, *entries: tuple[str, str], url: str = SITEMAP, root: str = "urlset") -> None:
    tag = "url" if root == "urlset" else "sitemap"
    inner = "".join(f"<{tag}><loc>{loc}</loc><lastmod>{at}</lastmod></{tag}>" for loc, at in entries)
    world.crawl(url, f"<{root}>{inner}</{root}>", kind="application/xml")


def told(world: World, seconds: int) -> str:
    return datetime.fromtimestamp(world.clock.now() / 1000 + seconds, UTC).isoformat()


def waits(world: World, url: str) -> float:
    """Days until it is due."""
    record = world.record(url)
    assert record is not None
    assert record.phase is LinkPhase.DUE
    return (record.due - world.clock.now()) / 1000 / DAY


def test_a_foreign_domain_is_not_found_by_a_sitemap_but_by_a_feed(world: World) -> None:
    sitemap(world, ("https://b.com/1", ""), ("https://www.a.com/1", ""), ("/2", ""))
    assert world.record("https://b.com/1") is None
    assert world.record("https://www.a.com/1") is not None
    assert world.record("https://a.com/2") is not None
    world.crawl("https://a.com/feed", "<rss><item><link>https://b.com/1</link></item></rss>", kind="text/xml")
    assert world.record("https://b.com/1") is not None


def test_an_index_within_indexes_is_followed_so_far_and_no_further(world: World) -> None:
    for number in range(4):
        sitemap(world, (f"/sitemap{number + 1}.xml", ""), url=f"https://a.com/sitemap{number}.xml", root="sitemapindex")
    names = [f"https://a.com/sitemap{number}.xml" for number in range(1, 4)]
    found = [record.nesting if (record := world.record(name)) else None for name in names]
    assert found == [1, 2, 0]  # the last one was crawled here without having been found
    assert world.builder.discovery.refused[RefusalKind.NESTED_SITEMAPS] == 1


def test_indexes_that_name_each_other_are_read_once(world: World) -> None:
    sitemap(world, ("/2.xml", ""), (SITEMAP, ""), root="sitemapindex")
    sitemap(world, (SITEMAP, ""), ("/2.xml", ""), url="https://a.com/2.xml", root="sitemapindex")
    assert world.dispatcher.step(world.scope, 10).given == 0
    assert min(waits(world, SITEMAP), waits(world, "https://a.com/2.xml")) > 0.9


def test_a_sitemap_that_lists_the_same_is_asked_less_often(world: World) -> None:
    sitemap(world, ("/1", "2026-01-01"))
    sitemap(world, ("https://a.com/1", "2026-01-01T00:00Z"), url="https://a.com/sitemap2.xml")
    sitemap(world, ("/1", "2026-01-02"), url="https://a.com/sitemap3.xml")
    first, same, other = (world.record(f"https://a.com/sitemap{n}.xml") for n in ("", "2", "3"))
    assert first is not None
    assert same is not None
    assert other is not None
    assert first.fingerprint == same.fingerprint != other.fingerprint
    for again, share in ((same, 2), (other, 0.5)):
        fetched = Fetched(kind=FetchKind.LISTING, at=first.due, status=200, fingerprint=again.fingerprint)
        assert after_fetch(first, fetched, SETTINGS).interval == first.interval * share


def test_a_page_that_changed_is_due_at_once(world: World) -> None:
    world.crawl("https://a.com/1", TEXT)
    world.clock.advance(DAY // 2)
    sitemap(world, ("/1", told(world, -60)))
    assert waits(world, "https://a.com/1") == 0


@pytest.mark.parametrize("seconds", [-DAY, 3 * DAY])
def test_a_lastmod_before_the_last_fetch_or_in_the_future_says_nothing(world: World, seconds: int) -> None:
    world.crawl("https://a.com/1", TEXT)
    world.clock.advance(DAY // 2)
    sitemap(world, ("/1", told(world, seconds)))
    assert waits(world, "https://a.com/1") > 0.4


def test_a_page_is_not_asked_sooner_than_pages_may_be(world: World) -> None:
    world.crawl("https://a.com/1", TEXT)
    world.clock.advance(600)
    sitemap(world, ("/1", told(world, -60)))
    assert 0.02 < waits(world, "https://a.com/1") < 0.05


def test_another_host_s_sitemap_makes_nothing_due(world: World) -> None:
    world.crawl("https://www.a.com/1", TEXT)
    world.clock.advance(DAY // 2)
    sitemap(world, ("https://www.a.com/1", told(world, -60)))
    assert waits(world, "https://www.a.com/1") > 0.4


def test_trust_is_lost_by_lies_and_won_back_by_truth() -> None:
    trust = HostTrust()
    for _ in range(3):
        trust = trust.after(was_true=False)
        assert trust.is_believed
    trust = trust.after(was_true=False)
    assert not trust.is_believed
    for _ in range(4):
        assert not trust.is_believed
        trust = trust.after(was_true=True)
    assert trust.is_believed
    for _ in range(100):
        trust = trust.after(was_true=False)
    assert sum(trust) < 32
    assert not trust.is_believed


@pytest.mark.parametrize(("is_liar", "believed"), [(True, 4), (False, 8)])
def test_a_host_that_says_changed_without_change_is_not_believed_for_long(is_liar: bool, believed: int) -> None:
    store, place, now = MemoryStore(), (b"com.a", b"com.a/1"), 1_770_000_000_000
    record = LinkRecord(
        url="https://a.com/1", phase=LinkPhase.DUE, fetched=now, due=now + 30 * DAY * 1000, fingerprint=1
    )
    early = 0
    for number in range(8):
        lastmods, links = Lastmods(store, SETTINGS), LinkRound(store, 1)
        links.read([place])
        links.put(*place, record)
        now = record.fetched + 2 * 3600 * 1000
        lastmods.take(links, [Lastmod(*place, now - 1)], now)
        announced = links.read([place])[0]
        assert announced is not None
        early += announced.due == now
        fingerprint = 1 if is_liar else number + 2
        fetched = Fetched(kind=FetchKind.PAGE, at=announced.due, status=200, fingerprint=fingerprint)
        record = lastmods.judge(place, announced, after_fetch(announced, fetched, SETTINGS))
        record = msgspec.structs.replace(record, due=record.fetched + 30 * DAY * 1000)
        assert record.announced == 0
        store.write(Batch(lastmods.cells()), store.last_seq + 1)
    assert early == believed


def test_a_fetch_that_failed_proves_nothing() -> None:
    store, place = MemoryStore(), (b"com.a", b"com.a/1")
    before = LinkRecord(url="https://a.com/1", fetched=1, announced=5)
    after = after_fetch(before, Fetched(kind=FetchKind.FAILED, at=9, error="timeout"), SETTINGS)
    lastmods = Lastmods(store, SETTINGS)
    assert lastmods.judge(place, before, after).announced == 5
    assert lastmods.cells() == {}
