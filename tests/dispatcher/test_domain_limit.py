"""A crawl of any scope enters so many domains and no more."""

from __future__ import annotations

from support.dispatcher_world import RULES, CrawlWorld, place_of
from weft.config.sections import DispatcherSettings
from weft.dispatcher import domain_limit
from weft.dispatcher.link_records import LinkPhase
from weft.model.refusal import Refusal, RefusalKind
from weft.model.site import Site

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
    assert told == Refusal(RefusalKind.DOMAINS, "3 were entered, which are all that a crawl of any scope may enter")
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
