"""A crawl of any scope enters so many domains and no more."""

from __future__ import annotations

import pytest

from support.dispatcher_world import RULES, CrawlWorld, place_of
from weft.config.sections import DispatcherSettings
from weft.dispatcher import domain_limit
from weft.dispatcher.fetch_results import Fetched, FetchKind, answered
from weft.dispatcher.link_records import LinkPhase
from weft.dispatcher.link_round import LinkRound
from weft.linkindex.cells import Cells
from weft.model.fetch_error import FetchError
from weft.model.refusal import Refusal, RefusalKind
from weft.model.site import Site
from weft.store.api import Batch
from weft.store.encoding import cell_key
from weft.store.tables import Table

SETTINGS = DispatcherSettings(max_domains=3)
ANY = Site(name="*", scope="any")
OTHERS = [f"https://s{n}.com/{m}" for n in range(9) for m in range(2)]


def domains(urls: set[str]) -> set[bytes]:
    return {place_of(url)[0] for url in urls}


def test_so_many_domains_are_entered_and_the_rest_is_counted_and_told() -> None:
    crawl = CrawlWorld(SETTINGS, ANY)
    crawl.crawl("https://a.com/", *OTHERS)
    assert domains(crawl.urls(LinkPhase.NEW)) == {b"com.s0", b"com.s1", b"com.s2"}
    assert crawl.discovery.refused[RefusalKind.DOMAINS] == 12
    told = domain_limit.domain_limit_refusal(crawl.store, crawl.scope, RULES.identify("https://s3.com/"), 3)
    detail = "0 were entered and 3 are tried, and a crawl of any scope may enter 3"
    assert told == Refusal(RefusalKind.DOMAINS, detail)
    assert (
        domain_limit.domain_limit_refusal(crawl.store, crawl.scope, RULES.identify("https://s2.com/other"), 3) is None
    )


def test_the_count_survives_a_start_and_rounds() -> None:
    crawl = CrawlWorld(SETTINGS, ANY)
    for n in range(6):
        crawl.crawl(f"https://s{n}.com/", f"https://s{n}.com/more")
        crawl.start()
    crawl.settle()
    assert domain_limit.entered_count(crawl.store) == 3
    assert crawl.urls(LinkPhase.GIVEN) == {f"https://s{n}.com/more" for n in range(3)}


def test_sites_that_were_named_are_not_counted() -> None:
    crawl = CrawlWorld(SETTINGS, ANY, Site(name="s0.com"), Site(name="s1.com", scope="domains"))
    crawl.crawl("https://a.com/", *OTHERS)
    assert domains(crawl.urls(LinkPhase.NEW)) == {b"com.s%d" % n for n in range(5)}
    assert domain_limit.domain_limit_refusal(crawl.store, crawl.scope, RULES.identify("https://s1.com/x"), 3) is None


def test_when_more_may_be_entered_those_that_were_refused_are() -> None:
    crawl = CrawlWorld(SETTINGS, ANY)
    crawl.crawl("https://a.com/", *OTHERS)
    crawl.settle()
    crawl.settings = DispatcherSettings(max_domains=5)
    crawl.start()
    crawl.settle()
    assert len(domains(crawl.urls(LinkPhase.GIVEN))) == 5
    assert domain_limit.entered_count(crawl.store) == 5


def test_without_any_scope_nothing_is_counted() -> None:
    crawl = CrawlWorld(SETTINGS, *(Site(name=f"s{n}.com") for n in range(9)))
    crawl.crawl("https://a.com/", *OTHERS)
    assert len(domains(crawl.urls(LinkPhase.NEW))) == 9
    assert domain_limit.entered_count(crawl.store) == 0


def names(count: int, of: str) -> list[str]:
    return [f"https://{of}{n}.com/" for n in range(count)]


def settled(settings: DispatcherSettings) -> CrawlWorld:
    """Nothing that this scope might concern was found before."""
    crawl = CrawlWorld(settings, ANY)
    crawl.settle()
    return crawl


def play(crawl: CrawlWorld, exists: str) -> None:
    """Fetch what is given until nothing is, with a restart after every round; names that begin so have a server."""
    crawl.settle()
    while given := sorted(crawl.urls(LinkPhase.GIVEN)):
        crawl.fail(*(url for url in given if not url.startswith(f"https://{exists}")))
        for url in given:
            if url.startswith(f"https://{exists}"):
                crawl.crawl(url)
        crawl.start()
        crawl.settle()


def tries(crawl: CrawlWorld, source: bytes) -> domain_limit.SourceTries:
    return LinkRound(crawl.store, 1).domain_limit.tries_of(source)


def test_names_that_do_not_exist_close_nothing() -> None:
    crawl = settled(DispatcherSettings(max_domains=200))
    crawl.crawl("https://evil.com/", *names(1000, "nobody"))
    crawl.crawl("https://a.com/", "https://good0.com/")
    assert crawl.record("https://good0.com/") is not None
    assert domain_limit.entered_count(crawl.store) == domain_limit.OPEN_MOST + 1
    play(crawl, "good")
    crawl.crawl("https://good0.com/", *names(150, "good"))
    play(crawl, "good")
    assert crawl.urls(LinkPhase.GIVEN) == set()
    assert domain_limit.entered_count(crawl.store) == 150


def test_a_page_with_more_sites_than_are_tried_at_a_time_leads_to_all_of_them() -> None:
    crawl = settled(DispatcherSettings(max_domains=250))
    crawl.crawl("https://a.com/", *names(200, "good"), *names(40, "nobody"), *names(300, "good"))
    play(crawl, "good")
    fetched = {url for url, record in crawl.records().items() if record.status == 200 and "good" in url}
    assert len(fetched) == 250
    assert domain_limit.entered_count(crawl.store) == 250
    assert not list(crawl.store.scan(Table.LINKS, b"s:*", domain_limit.AGAIN)), "nobody looks at the page for ever"


def test_who_names_what_does_not_exist_tries_less_at_a_time_and_recovers() -> None:
    crawl = settled(DispatcherSettings())
    crawl.crawl("https://evil.com/", *names(300, "nobody"))
    play(crawl, "good")
    assert (tries(crawl, b"com.evil").open, tries(crawl, b"com.evil").most) == (0, 1)
    crawl.crawl("https://evil.com/", "https://nobody200.com/", "https://nobody201.com/")
    assert len(crawl.urls(LinkPhase.NEW)) == 1
    for n in range(20):
        crawl.crawl("https://evil.com/", f"https://good{n}.com/")
        play(crawl, "good")
    assert tries(crawl, b"com.evil").most > 10


def test_a_domain_that_did_not_answer_must_find_a_place_again() -> None:
    crawl = CrawlWorld(SETTINGS, ANY)
    crawl.crawl("https://a.com/", "https://gone.com/")
    crawl.settle()
    crawl.fail("https://gone.com/")
    crawl.crawl("https://b.com/", *names(3, "good"))
    play(crawl, "good")
    crawl.clock.advance(2 * 86_400)
    crawl.settle()
    assert "https://gone.com/" in crawl.urls(LinkPhase.DUE)
    crawl.settings = DispatcherSettings(max_domains=4)
    crawl.start()
    crawl.clock.advance(2 * 3600)
    crawl.settle()
    assert "https://gone.com/" in crawl.urls(LinkPhase.GIVEN)
    crawl.crawl("https://gone.com/")
    assert domain_limit.entered_count(crawl.store) == 4


def test_a_link_that_would_not_be_fetched_enters_no_domain() -> None:
    crawl = CrawlWorld(DispatcherSettings(max_depth=0), ANY)
    crawl.crawl("https://a.com/", *OTHERS)
    assert domain_limit.entered_count(crawl.store) == 0
    assert crawl.discovery.refused[RefusalKind.DEPTH] == len(OTHERS)


def test_domains_that_an_older_weft_entered_stay_entered() -> None:
    crawl = CrawlWorld(SETTINGS, ANY)
    cells: Cells = {cell_key(Table.LINKS.byte, b"l:com.old%d" % n, b"entered", b""): b"" for n in range(3)}
    cells[cell_key(Table.LINKS.byte, b"s:*", b"site", b"domains")] = b"3"
    crawl.store.write(Batch(cells), crawl.store.last_seq + 1)
    crawl.crawl("https://a.com/", "https://old0.com/", "https://s0.com/")
    assert domains(crawl.urls(LinkPhase.NEW)) == {b"com.old0"}
    crawl.settle()
    crawl.fail("https://old0.com/")
    assert domain_limit.entered_count(crawl.store) == 3
    told = domain_limit.domain_limit_refusal(crawl.store, crawl.scope, RULES.identify("https://s0.com/"), 3)
    assert told == Refusal(RefusalKind.DOMAINS, "3 were entered, which are all that a crawl of any scope may enter")


@pytest.mark.parametrize(
    ("fetched", "is_answer"),
    [
        (Fetched(kind=FetchKind.PAGE, at=1, status=200), True),
        (Fetched(kind=FetchKind.FAILED, at=1, status=500, error=FetchError.HTTP), True),
        (Fetched(kind=FetchKind.FAILED, at=1, error=FetchError.ROBOTS), True),
        (Fetched(kind=FetchKind.FAILED, at=1, error=FetchError.UNKNOWN_HOST), False),
        (Fetched(kind=FetchKind.FAILED, at=1, error=FetchError.CONNECT), False),
        (Fetched(kind=FetchKind.FAILED, at=1, error=FetchError.LOST), None),
    ],
)
def test_what_is_an_answer(fetched: Fetched, is_answer: bool | None) -> None:
    assert answered(fetched) is is_answer
