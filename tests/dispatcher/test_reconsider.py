"""What is said about sites holds for what was found before: hidden links and references are looked at again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from support.dispatcher_world import CountingStore, CrawlWorld, place_of
from weft.config.sections import DispatcherSettings
from weft.dispatcher import reconsider, site_changes, unknown_references
from weft.dispatcher.discovery import DiscoveredLink, refusal_of
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.model.site import Site, SiteSettings
from weft.model.url import identity_of
from weft.store.api import Batch
from weft.store.tables import Table

SETTINGS = DispatcherSettings(segment_size=100)
A = "https://a.com/"


def site(name: str = "a.com", **about: Any) -> Site:
    plain = {key: about.pop(key) for key in ("scope", "is_excluded") if key in about}
    return Site(name=name, settings=msgspec.convert(about, SiteSettings), **plain)


def numbered(count: int, host: str = "a.com") -> list[str]:
    return [f"https://{host}/{n}" for n in range(count)]


def world(*sites: Site, settings: DispatcherSettings = SETTINGS) -> CrawlWorld:
    made = CrawlWorld(settings, *(sites or [site()]))
    made.settle()
    return made


def test_a_site_that_is_excluded_and_included_again_goes_on() -> None:
    crawl = world()
    crawl.crawl(A, *numbered(5))
    crawl.say(site(is_excluded=True))
    crawl.settle()
    assert crawl.urls(LinkPhase.HIDDEN) == {*numbered(5)}
    crawl.say(site())
    crawl.settle()
    assert crawl.urls(LinkPhase.GIVEN) == {*numbered(5)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (site(exclude=["/[0-4]"]), site()),
        (site(exclude=["/[0-4]"]), site(exclude=["/x"])),
        (site(include=["/$"]), site(include=["/$", "/[0-4]"])),
        (site(depth=0), site(depth=1)),
        (site(budget=0), site(budget=5)),
        (site(is_excluded=True), site()),
    ],
)
def test_links_that_were_hidden_are_crawled_when_their_reason_is_gone(before: Site, after: Site) -> None:
    crawl = world(before)
    crawl.crawl(A, *numbered(5))
    crawl.settle()
    assert crawl.urls(LinkPhase.HIDDEN) == {*numbered(5)}
    crawl.say(after)
    crawl.settle()
    assert crawl.urls(LinkPhase.GIVEN) == {*numbered(5)}
    assert {record.reason for record in crawl.records().values()} == {""}


def test_a_seed_is_crawled_again_even_if_it_is_not_included_itself_but_not_if_it_is_excluded() -> None:
    crawl = world(site(include=["/docs/"]))
    crawl.crawl(A, f"{A}docs/x", f"{A}y")
    crawl.say(site(include=["/docs/"], recrawl=0))
    crawl.settle()
    assert crawl.urls(LinkPhase.GIVEN) == {f"{A}docs/x", A}
    assert crawl.urls(LinkPhase.HIDDEN) == {f"{A}y"}
    crawl.say(site(exclude=["/$"], recrawl=0))
    crawl.crawl(A)
    crawl.say(site(exclude=["/$"], recrawl=0.001))
    crawl.settle()
    assert A in crawl.urls(LinkPhase.HIDDEN)


def test_files_of_types_that_are_not_wanted_are_left_out_by_their_suffix_until_they_are() -> None:
    crawl = world(site(types=["pdf"]))
    pictures, wanted = [f"{A}x.png", f"{A}y.JPG?big"], [f"{A}z.pdf", f"{A}page", f"{A}sitemap.xml.gz"]
    crawl.crawl(A, *pictures, *wanted)
    crawl.settle()
    assert crawl.urls(LinkPhase.GIVEN) == {*wanted}
    assert crawl.urls(LinkPhase.HIDDEN) == {*pictures}
    record = crawl.record(pictures[0])
    assert record is not None
    assert record.reason == "type: image/png by its suffix; wanted: html, pdf"
    crawl.say(site(types=["image"]))
    crawl.settle()
    assert crawl.urls(LinkPhase.GIVEN) == {*wanted, *pictures}


def test_a_file_that_was_left_out_by_its_header_is_asked_for_again_only_when_its_type_is_wanted() -> None:
    from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
    from weft.dispatcher.link_round import LinkRound

    crawl = world(site(types=["pdf"]))
    url = f"{A}picture"
    crawl.crawl(A, url)
    crawl.settle()
    links = LinkRound(crawl.store, 1)
    (record,) = links.read([place_of(url)])
    assert record is not None
    fetched = Fetched(
        kind=FetchKind.FAILED, at=crawl.clock.now(), status=200, error="unwanted_type", content_type="image/png; q=1"
    )
    links.put(*place_of(url), after_fetch(record, fetched, SETTINGS))
    crawl.store.write(Batch(links.cells()), crawl.store.last_seq + 1)

    def phase_after(**settings: Any) -> LinkPhase:
        crawl.say(site(**settings))
        crawl.settle()
        found = crawl.record(url)
        assert found is not None
        assert (found.reason == "type: image/png by the header of its response") == (found.phase is LinkPhase.HIDDEN)
        return found.phase

    assert phase_after(types=["pdf"], depth=7) is LinkPhase.HIDDEN, "another setting changed"
    assert phase_after(types=["video"]) is LinkPhase.HIDDEN
    assert phase_after(types=["image"]) is LinkPhase.GIVEN


def test_pages_that_wait_are_scheduled_by_the_interval_that_their_site_sets_now() -> None:
    crawl = world()
    crawl.crawl(A)
    before = crawl.record(A)
    assert before is not None
    for seconds in (10.0, 100 * 86_400.0, 0.0):
        crawl.say(site(recrawl=seconds))
        crawl.settle()
        record = crawl.record(A)
        assert record is not None
        if seconds:
            assert (record.due, record.interval) == (before.fetched + 1000 * seconds, 1000 * seconds)
    assert crawl.urls(LinkPhase.GIVEN) == {A}, "0 seconds: as often as there is room"


def test_a_page_that_fails_waits_as_long_as_its_error_says_whatever_its_site_sets() -> None:
    from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch, rescheduled

    failed = after_fetch(
        LinkRecord(url=A), Fetched(kind=FetchKind.FAILED, at=9, error="timeout"), SETTINGS, recrawl=1.0
    )
    assert failed.due == 9 + 600_000
    assert rescheduled(failed, 1.0) == failed


def test_a_setting_that_changed_is_heard_after_a_start() -> None:
    crawl = world(settings=DispatcherSettings(max_depth=0))
    crawl.crawl(A, *numbered(5))
    assert crawl.urls(LinkPhase.HIDDEN) == {*numbered(5)}
    crawl.settings = SETTINGS
    crawl.start()
    crawl.settle()
    assert crawl.urls(LinkPhase.GIVEN) == {*numbered(5)}


@pytest.mark.parametrize(
    "wider",
    [
        [site(scope="domains")],
        [site(scope="any")],
        [site("*", scope="any")],
        [site("b.a.com")],
        [site("b.a.com", scope="domains")],
    ],
)
def test_references_that_were_out_of_scope_become_links_when_it_is_widened(wider: list[Site]) -> None:
    crawl = world()
    inside, outside = numbered(5, "b.a.com"), numbered(5, "c.org")
    crawl.crawl(A, *inside, *outside, ("https://b.a.com/not", "nofollow"))
    crawl.settle()
    assert not crawl.urls(LinkPhase.GIVEN)
    crawl.say(*wider)
    crawl.settle()
    expected = {*inside, *outside} if any(each.scope == "any" for each in wider) else {*inside}
    assert crawl.urls(LinkPhase.GIVEN) == expected
    record = crawl.record(inside[0])
    assert record is not None
    assert (record.depth, record.source, record.references) == (1, "com.a", 1)


def test_a_reference_is_reached_by_the_nearest_page_that_may_be_followed() -> None:
    crawl = world(site(), site("afar.com"), site("b.com"))
    crawl.crawl("https://b.com/", "https://afar.com/")
    crawl.crawl("https://afar.com/", "http://x.org/")
    crawl.crawl("https://b.com/1", "http://x.org/")
    crawl.crawl(A, ("https://x.org/", "nofollow"))
    crawl.say(site("x.org"))
    crawl.settle()
    record = crawl.record("https://x.org/")
    assert record is not None
    assert (record.url, record.depth, record.source) == ("http://x.org/", 1, "com.b/1")


def test_what_waits_and_is_no_longer_wanted_is_hidden_when_its_turn_comes() -> None:
    crawl = world(site(scope="domains"))
    crawl.crawl(A, *numbered(3, "b.a.com"), *numbered(2))
    crawl.say(site(scope="hosts"))
    crawl.settle()
    assert crawl.urls(LinkPhase.GIVEN) == {*numbered(2)}
    assert {crawl.records()[url].reason for url in crawl.urls(LinkPhase.HIDDEN)} == {"out of scope"}
    assert crawl.urls(LinkPhase.HIDDEN) == {*numbered(3, "b.a.com")}


def test_a_link_that_stays_hidden_has_the_reason_of_today() -> None:
    crawl = world(site(depth=0))
    crawl.crawl(A, *numbered(1))
    crawl.say(site(depth=3, exclude=["/0"]))
    crawl.settle()
    assert crawl.records()[numbered(1)[0]].reason == "pattern: excluded by '/0'"


def test_a_raised_budget_is_used_and_not_more() -> None:
    crawl = world(site(budget=2))
    crawl.crawl(A, *numbered(9))
    crawl.settle()
    assert len(crawl.urls(LinkPhase.GIVEN)) == 2
    crawl.say(site(budget=5))
    crawl.settle()
    assert len(crawl.urls(LinkPhase.GIVEN)) == 5
    crawl.say(site(budget=5, exclude=["/none"]))
    before = crawl.records()
    crawl.settle()
    assert crawl.records() == before


@pytest.mark.parametrize("what", ["hidden", "references"])
def test_a_step_looks_at_so_much_and_goes_on_after_a_kill(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconsider, "LOOKED_AT", 40)
    monkeypatch.setattr(unknown_references, "_GROUP", 10)
    links = numbered(300)
    hidden = what == "hidden"
    crawl = world(site(is_excluded=True) if hidden else site("b.com"), settings=DispatcherSettings(segment_size=1))
    for n in range(10):
        crawl.crawl(f"https://b.com/{n}", *links[n::10])
    crawl.settle()
    crawl.say(site())
    steps = 0
    while len(crawl.records()) - len(crawl.urls(LinkPhase.HIDDEN)) < 310:
        crawl.start()
        counting = CountingStore(crawl.store)
        crawl.dispatcher._store = counting
        crawl.step(room=1)
        assert counting.cells < 250
        steps += 1
        assert steps < 40
    assert steps > 5


def test_all_domains_are_looked_at_and_then_nothing_is_left_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = world(site("*", scope="any", exclude=[r"\.org"]), site("c.com", is_excluded=True))
    monkeypatch.setattr(reconsider, "TASKS", 2)
    monkeypatch.setattr(reconsider, "_DOMAINS", 3)
    for n in range(20):
        crawl.crawl(f"https://s{n}.com/", f"https://t{n}.org/")
    crawl.say(site("*", scope="any"))
    assert crawl.settle() > 10
    assert crawl.urls(LinkPhase.GIVEN) == {f"https://t{n}.org/" for n in range(20)}
    left = [
        cell
        for family in (site_changes.ALL_DOMAINS, site_changes.ONE_DOMAIN)
        for row in crawl.store.rows(Table.LINKS, site_changes.ROWS)
        for cell in crawl.store.scan(Table.LINKS, row, family)
    ]
    assert left == []
    crawl.start()
    assert crawl.settle() == 0


def test_what_is_known_of_a_site_lies_with_the_base_of_its_domain() -> None:
    crawl = world(site("*", scope="any"), site("www.c.com", is_excluded=True, drop_parameters=["x"]))
    crawl.settle()
    found = {
        (row[:2], cell.family, cell.qualifier): row[2:]
        for begin in (b"c:", b"r:")
        for row in crawl.store.rows(Table.LINKS, begin)
        for cell in crawl.store.scan(Table.LINKS, row)
    }
    assert found == {
        (b"c:", b"said", b""): b"00",
        (b"c:", b"said", b"*"): b"00",
        (b"c:", b"said", b"www.c.com"): b"28",
        (b"r:", b"hand", b"www.c.com"): b"28",
    }


def test_a_redirect_that_led_out_of_scope_is_followed_when_it_is_widened() -> None:
    from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
    from weft.dispatcher.link_records import LinkRecord
    from weft.dispatcher.link_round import LinkRound
    from weft.store.api import Batch

    crawl = world()
    round_ = LinkRound(crawl.store, 9)
    assert round_.read([(b"com.a", b"com.a")]) == [None]
    moved = Fetched(kind=FetchKind.MOVED, at=crawl.clock.now(), status=301, location="com.a.www")
    round_.put(b"com.a", b"com.a", after_fetch(LinkRecord(url="http://a.com/"), moved, SETTINGS))
    crawl.store.write(Batch(round_.cells()), crawl.store.last_seq + 1)
    crawl.say(site(scope="domains"))
    crawl.settle()
    assert crawl.urls(LinkPhase.GIVEN) == {"http://www.a.com/"}


HOSTS = ["a.com", "www.a.com", "b.org", "x.b.org"]
URLS = [f"https://{host}/{n}" for host in HOSTS for n in range(3)]
SITES = st.builds(
    Site,
    name=st.sampled_from([*HOSTS, "*"]),
    scope=st.sampled_from(["hosts", "domains"]),
    is_excluded=st.booleans(),
    settings=st.fixed_dictionaries(
        {},
        optional={
            "depth": st.integers(0, 3),
            "exclude": st.sampled_from([["/1"], ["/[12]"], []]),
            "include": st.sampled_from([["/[01]"], []]),
        },
    ).map(lambda some: msgspec.convert(some, SiteSettings)),
)


class Saying(RuleBasedStateMachine):
    """Whatever is said when: at rest, what is crawled is what the present words allow of all that was ever found."""

    def __init__(self) -> None:
        super().__init__()
        self.crawl = CrawlWorld(DispatcherSettings(segment_size=100), site())
        self.links: dict[str, set[str]] = {}
        self.ever: set[str] = set()

    @rule(change=SITES)
    def say(self, change: Site) -> None:
        self.crawl.say(change)

    @rule(
        url=st.sampled_from(URLS),
        links=st.lists(st.sampled_from(URLS), max_size=4),
        closed=st.lists(st.sampled_from(URLS), max_size=2),
    )
    def fetch(self, url: str, links: list[str], closed: list[str]) -> None:
        closed = [link for link in closed if link not in links]
        self.crawl.crawl(url, *links, *((link, "nofollow") for link in closed))
        self.links[url] = {*links}
        self.ever |= {url, *links}

    @rule()
    def step(self) -> None:
        self.crawl.step()

    @rule()
    def restart(self) -> None:
        self.crawl.start()

    @rule()
    def settle(self) -> None:
        self.crawl.settle()
        scope, records = self.crawl.scope, self.crawl.records()
        referenced_now = {link for links in self.links.values() for link in links}
        assert {url for url in referenced_now if scope.site_of(identity_of(url))} <= records.keys()
        for url, record in records.items():
            link = DiscoveredLink(*place_of(url), url, record.depth, "")
            refusal = refusal_of(scope, link, self.crawl.clock.now(), self.crawl.settings)
            if refusal is None:
                assert record.phase is not LinkPhase.HIDDEN, (url, record)
            elif record.phase is LinkPhase.HIDDEN:
                assert record.reason == refusal.text
            else:
                # It was handed over while it was allowed, or its next turn is yet to come.
                assert record.phase in (LinkPhase.GIVEN, LinkPhase.DUE)

    @invariant()
    def only_what_was_found_is_known(self) -> None:
        assert self.crawl.records().keys() <= self.ever


TestSaying = Saying.TestCase
TestSaying.settings = hypothesis_settings(max_examples=60, stateful_step_count=25, deadline=None)
