"""Links in scope that no record knows are found, and none that is unknown for a good reason."""

from __future__ import annotations

from typing import Any

import pytest

from support.dispatcher_world import CountingStore, CrawlWorld, place_of
from weft.config.sections import DispatcherSettings
from weft.dispatcher.link_records import link_key
from weft.dispatcher.lost_links import CrawledPage, LostLinks
from weft.dispatcher.scope import Scope
from weft.dispatcher.site_changes import unsettled
from weft.linkindex.keys import CUR, PAGE
from weft.model.site import Site, SiteSettings
from weft.store.api import Batch
from weft.store.tables import Table

A, B = "https://a.com/", "https://a.com/b"
SITE = Site(name="a.com")
ANY = Site(name="*", scope="any")


def world(*sites: Site, **settings: Any) -> CrawlWorld:
    made = CrawlWorld(DispatcherSettings(**settings), *(sites or [SITE]))
    made.settle()
    return made


def judge(crawl: CrawlWorld, *, counts_within: bool = True, reader: Any = None) -> LostLinks:
    waiting, now = unsettled(crawl.store, crawl.scope, crawl.settings), crawl.clock.now()
    return LostLinks(reader or crawl.store, crawl.scope, crawl.settings, waiting, now, counts_within)


def lost(crawl: CrawlWorld, judged: LostLinks | None = None) -> list[tuple[str, str]]:
    """The lost links of all pages, each with the page that leads to it."""
    cells = crawl.store.scan_rows(Table.FLUO, b"p:")
    pages = [CrawledPage(cell.row[2:], cell.value) for cell in cells if (cell.family, cell.qualifier) == (PAGE, CUR)]
    return [(link.url, link.source) for link in (judged or judge(crawl)).of(pages)]


def forget(crawl: CrawlWorld, *urls: str) -> None:
    crawl.store.write(Batch({link_key(*place_of(url)): None for url in urls}), crawl.store.last_seq + 1)


def test_a_link_without_a_record_is_lost_once_whoever_leads_to_it() -> None:
    crawl = world()
    crawl.crawl(A, B, "https://a.com/c")
    crawl.crawl("https://a.com/c", B)
    judged = judge(crawl)
    assert (lost(crawl, judged), judged.judged) == ([], 2)
    forget(crawl, B)
    assert lost(crawl) == [(B, "com.a")]


def test_links_of_pages_that_were_built_in_no_scope_are_lost() -> None:
    crawl = world()
    crawl.scope = Scope([], crawl.settings)
    crawl.crawl(A, B, "https://b.com/")
    crawl.say(SITE)
    crawl.settle()
    assert lost(crawl) == [(B, "com.a")]
    crawl.say(Site(name="a.com", settings=SiteSettings(depth=50)))
    crawl.settle()
    assert lost(crawl) == []
    assert crawl.record(B) is not None, "whatever is said of its site has it found"


@pytest.mark.parametrize(
    ("site", "link"),
    [
        (SITE, "https://b.com/"),
        (SITE, "https://www.a.com/"),
        (SITE, (B, "nofollow")),
        (SITE, (B, "ugc nofollow")),
        (Site(name="a.com", is_excluded=True), B),
        (Site(name="a.com", settings=SiteSettings(depth=0)), B),
        (Site(name="a.com", settings=SiteSettings(exclude=("/b",))), B),
        (Site(name="a.com", settings=SiteSettings(include=("/x",))), B),
        (Site(name="a.com", settings=SiteSettings(types=())), "https://a.com/b.pdf"),
        (SITE, "https://a.com/" + "b/" * 30),
        (SITE, "https://a.com/x/x/x/x/x/x"),
    ],
)
def test_what_is_not_wanted_is_no_loss_even_without_a_record(site: Site, link: Any) -> None:
    crawl = world(site)
    crawl.crawl(A, link)
    forget(crawl, link if isinstance(link, str) else link[0])
    assert lost(crawl) == []
    crawl.say(Site(name="a.com", scope="any"))
    crawl.crawl("https://a.com/wanted", "https://a.com/more")
    crawl.settle()
    forget(crawl, "https://a.com/more")
    assert ("https://a.com/more", "com.a/wanted") in lost(crawl), "it is a loss where nothing speaks against it"


@pytest.mark.parametrize(
    ("site", "limits", "links"),
    [
        (SITE, {"domain_links": 2}, ["https://a.com/c", "https://a.com/d", B]),
        (SITE, {"host_links": 2}, ["https://a.com/c", "https://a.com/d", B]),
        (
            Site(name="a.com", scope="domains"),
            {"domain_hosts": 2},
            ["https://1.a.com/", "https://2.a.com/", "https://3.a.com/"],
        ),
    ],
)
def test_what_a_limit_keeps_out_is_no_loss(site: Site, limits: dict[str, int], links: list[str]) -> None:
    crawl = world(site, **limits)
    crawl.crawl(A, A, *links)
    missing = [link for link in links if crawl.record(link) is None]
    assert missing, "the limit keeps some of them out"
    assert lost(crawl) == []
    judged = judge(crawl)
    judged.settings = DispatcherSettings()
    assert {url for url, _ in lost(crawl, judged)} == {*missing}, "without the limit they are"


def test_where_any_domain_may_be_crawled_only_links_of_those_that_were_entered_can_be_lost() -> None:
    crawl = world(ANY, max_domains=2)
    crawl.crawl(A, A, "https://b.com/", "https://c.com/", "https://d.com/")
    entered = [url for url in ("https://b.com/", "https://c.com/", "https://d.com/") if crawl.record(url) is not None]
    assert 0 < len(entered) < 3, "the limit keeps some of them out"
    assert lost(crawl) == []
    forget(crawl, entered[0])
    assert [url for url, _ in lost(crawl)] == [entered[0]]


@pytest.mark.parametrize(
    "change", [Site(name="b.com"), Site(name="a.com", scope="any"), ANY, Site(name="www.b.com", scope="domains")]
)
def test_what_the_dispatcher_has_yet_to_look_at_is_no_loss_and_known_afterwards(change: Site) -> None:
    crawl = world()
    crawl.crawl(A, "https://b.com/", B)
    crawl.say(change)
    judged = judge(crawl)
    assert lost(crawl, judged) == []
    assert judged.waiting
    crawl.step()
    judged = judge(crawl)
    assert lost(crawl, judged) == [], "it was noticed, but perhaps not done"
    crawl.settle()
    judged = judge(crawl)
    assert (lost(crawl, judged), judged.waiting, judged.judged) == ([], 0, 2)
    forget(crawl, "https://b.com/")
    assert lost(crawl) == [("https://b.com/", "com.a")]


def test_settings_that_changed_since_the_last_crawl_put_the_judgement_off() -> None:
    crawl = world()
    crawl.crawl(A, B)
    forget(crawl, B)
    crawl.settings = DispatcherSettings(max_depth=7)
    crawl.say()
    judged = judge(crawl)
    assert (lost(crawl, judged), judged.waiting, judged.judged) == ([], 1, 0)


def test_a_home_without_sites_wants_no_link() -> None:
    crawl = CrawlWorld(DispatcherSettings())
    crawl.settle()
    crawl.crawl(A, B)
    judged = judge(crawl)
    assert (lost(crawl, judged), judged.waiting, judged.judged) == ([], 0, 0)


def test_a_reference_behind_eight_that_may_not_be_followed_is_found_by_nobody() -> None:
    crawl = world()
    for number in range(9):
        crawl.crawl(f"https://a.com/{number}", "https://b.com/" if number == 8 else ("https://b.com/", "nofollow"))
    crawl.say(Site(name="b.com"))
    crawl.settle()
    assert crawl.record("https://b.com/") is None
    assert lost(crawl) == []


def test_where_references_within_a_domain_are_not_counted_they_wait_for_their_pages() -> None:
    crawl = world(SITE, Site(name="b.com"))
    crawl.crawl(A, B, "https://b.com/")
    forget(crawl, B, "https://b.com/")
    assert lost(crawl, judge(crawl, counts_within=False)) == [("https://b.com/", "com.a")]


def test_links_that_all_pages_name_are_looked_for_once() -> None:
    crawl = world()
    menu = [f"https://a.com/{number}" for number in range(50)]
    for page in menu:
        crawl.crawl(page, *menu)
    store = CountingStore(crawl.store)
    assert lost(crawl, judge(crawl, reader=store)) == []
    assert store.cells == 2 * len(menu), "the records of the pages, and each link once"
