"""The links and the dispatcher: nothing is lost, nothing is given twice, and choosing costs a segment."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.clock import ManualClock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.dispatcher import Dispatcher
from weft.dispatcher.domain_work import DOMAIN, WORK, decode_work, list_row, split_listed
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.link_records import (
    DUE,
    LINK,
    NEW,
    LinkPhase,
    LinkRecord,
    decode_record,
    due_moment,
    split_due,
    uri_of_new,
)
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.dispatcher.segment import choose
from weft.dispatcher.traps import trap
from weft.errors import UsageError
from weft.mgmt.memory import MemoryMgmt
from weft.model.domain import reversed_domain
from weft.model.host import web_host_of
from weft.model.refusal import RefusalKind
from weft.model.site import Site, SiteSettings
from weft.model.url import UrlRules
from weft.model.versions import BASES
from weft.store.api import Batch
from weft.store.memory import MemoryStore
from weft.store.tables import Table

SECOND, DAY = 1000, 86_400_000
RULES = UrlRules()
SETTINGS = DispatcherSettings(segment_size=4)
SITES = [Site(name="a.com", scope="domains"), Site(name="b.com"), Site(name="c.com", scope="domains", is_excluded=True)]


def found(url: str, depth: int = 0, references: int = 0) -> DiscoveredLink:
    page = RULES.identify(url)
    domain = reversed_domain(page.domain).encode()
    return DiscoveredLink(domain, page.uri.encode(), page.url, depth, "com.source", references)


class Crawl:
    """A store, a control plane and a dispatcher with a clock of their own."""

    def __init__(self, settings: DispatcherSettings = SETTINGS, sites: list[Site] = SITES) -> None:
        self.clock = ManualClock(DAY)
        self.store, self.mgmt, self.settings = MemoryStore(), MemoryMgmt(self.clock), settings
        self.scope = Scope(sites, settings)
        self.discovery = Discovery(settings)
        self.dispatcher = Dispatcher(self.store, self.mgmt, settings, self.clock)

    def write(self, links: LinkRound) -> None:
        if cells := links.cells():
            self.store.write(Batch(cells), self.store.last_seq + 1)

    def discover(self, *links: DiscoveredLink) -> int:
        round_ = LinkRound(self.store, self.dispatcher.low_water)
        added = self.discovery.offer(round_, self.scope, links, self.clock.now())
        self.write(round_)
        return added

    def step(self, room: int = 1000) -> int:
        return self.dispatcher.step(self.scope, room).given

    def finish(self, url: str, kind: FetchKind = FetchKind.PAGE, **about: Any) -> None:
        link = found(url)
        round_ = LinkRound(self.store, self.dispatcher.low_water)
        record = round_.read([(link.domain, link.uri)])[0] or LinkRecord(url=link.url)
        fetched = Fetched(kind=kind, at=self.clock.now(), status=200, **about)
        round_.put(link.domain, link.uri, after_fetch(record, fetched, self.settings))
        self.write(round_)

    def records(self) -> dict[bytes, LinkRecord]:
        cells = self.store.scan_rows(Table.LINKS, b"l:")
        return {cell.qualifier: decode_record(cell.value) for cell in cells if cell.family == LINK}

    def places(self) -> dict[str, str]:
        return {record.url: record.phase.value for record in self.records().values()}

    def check(self) -> None:
        """Everything that follows from the records is what the store holds."""
        listed = {
            split_listed(cell.qualifier)[::-1]
            for base in range(BASES)
            for cell in self.store.scan(Table.LINKS, list_row(base), WORK)
        }
        expected_listed = set()
        for row in self.store.rows(Table.LINKS, b"l:"):
            cells = list(self.store.scan(Table.LINKS, row))
            records = {c.qualifier: decode_record(c.value) for c in cells if c.family == LINK}
            waiting = {uri_of_new(c.qualifier) for c in cells if c.family == NEW}
            assert waiting == {uri for uri, record in records.items() if record.phase is LinkPhase.NEW}
            due = {split_due(c.qualifier)[::-1] for c in cells if c.family == DUE}
            assert due == {(uri, due_moment(r)) for uri, r in records.items() if r.phase is LinkPhase.DUE}
            work = next(decode_work(c.value) for c in cells if c.family == DOMAIN)
            turns = [moment for _, moment in due]
            assert work.first == (0 if waiting else min(turns, default=None))
            assert work.outstanding == Counter(record.phase for record in records.values())[LinkPhase.GIVEN]
            assert work.links == len(records)
            assert work.listed == (work.first if work.outstanding < self.dispatcher.low_water else None)
            if work.listed is not None:
                expected_listed.add((row[2:], work.listed))
        assert listed == expected_listed


def test_found_links_are_given_once_and_come_back_when_they_are_due() -> None:
    crawl = Crawl()
    assert crawl.discover(found("https://a.com/1"), found("https://a.com/2"), found("https://a.com/1")) == 2
    assert crawl.discover(found("https://a.com/1")) == 0
    assert crawl.step() == 2
    assert crawl.step() == 0
    assert crawl.mgmt.counts().links["pending"] == 2
    crawl.finish("https://a.com/1")
    assert crawl.places() == {"https://a.com/1": "due", "https://a.com/2": "given"}
    crawl.check()
    assert crawl.step() == 0
    crawl.clock.advance(SETTINGS.refresh_first)
    crawl.check()
    round_ = LinkRound(crawl.store, 9)
    assert [chosen.why for chosen in choose(crawl.store, round_, b"com.a", SETTINGS, crawl.clock.now())] == [
        "due for 0 s, crawled 86,400 s ago"
    ]


def test_a_domain_gets_its_next_segment_when_the_last_one_is_nearly_used_up() -> None:
    crawl = Crawl()
    crawl.discover(*(found(f"https://a.com/{n}") for n in range(10)))
    assert crawl.step() == 4
    assert crawl.step() == 0
    for n in range(3):
        crawl.finish(f"https://a.com/{n}")
        crawl.check()
    assert crawl.step() == 4


def test_new_links_go_by_fewer_hops_then_more_references_then_age() -> None:
    crawl = Crawl()
    crawl.discover(found("https://a.com/old", depth=1, references=1))
    crawl.clock.advance(1)
    crawl.discover(
        found("https://a.com/deep", depth=2, references=99),
        found("https://a.com/known", depth=1, references=50),
        found("https://a.com/young", depth=1, references=1),
    )
    chosen = choose(crawl.store, LinkRound(crawl.store, 9), b"com.a", SETTINGS, crawl.clock.now())
    assert [each.uri for each in chosen] == [b"com.a/known", b"com.a/old", b"com.a/young", b"com.a/deep"]


@pytest.mark.parametrize(
    ("percentage", "new", "due", "expected"),
    [(25, 20, 20, (6, 2)), (25, 0, 20, (0, 8)), (25, 20, 1, (7, 1)), (0, 3, 20, (3, 0)), (100, 20, 20, (0, 8))],
)
def test_the_share_of_links_crawled_again(percentage: int, new: int, due: int, expected: tuple[int, int]) -> None:
    settings = replace(SETTINGS, segment_size=8, refresh_percentage=percentage)
    crawl = Crawl(settings)
    for n in range(due):
        crawl.finish(f"https://a.com/due{n}")
    crawl.clock.advance(settings.refresh_first)
    crawl.discover(*(found(f"https://a.com/new{n}") for n in range(new)))
    chosen = choose(crawl.store, LinkRound(crawl.store, 9), b"com.a", settings, crawl.clock.now())
    kinds = Counter(each.record.phase for each in chosen)
    assert (kinds[LinkPhase.NEW], kinds[LinkPhase.DUE]) == expected


def test_scope_is_never_left_and_refusals_have_a_reason() -> None:
    crawl = Crawl(
        sites=[*SITES, Site(name="d.com", settings=SiteSettings(exclude=(r"/private/",), include=(r"\.html$",)))]
    )
    urls = [
        "https://www.a.com/",
        "https://www.b.com/",
        "https://c.com/",
        "https://d.com/x.html",
        "https://d.com/private/x.html",
        "https://d.com/x.pdf",
        "https://elsewhere.com/",
    ]
    crawl.discover(*(found(url, depth=1) for url in urls))
    reasons = {record.url: record.reason for record in crawl.records().values()}
    assert reasons == {
        "https://www.a.com/": "",
        "https://c.com/": "excluded: site c.com",
        "https://d.com/x.html": "",
        "https://d.com/private/x.html": "pattern: excluded by '/private/'",
        "https://d.com/x.pdf": "pattern: included by none of the site's patterns",
    }
    assert crawl.step() == 2
    assert crawl.discovery.refused[RefusalKind.OUT_OF_SCOPE] == 2


def test_a_link_that_was_too_deep_is_crawled_once_a_shorter_way_is_found() -> None:
    crawl = Crawl(replace(SETTINGS, max_depth=2))
    crawl.discover(found("https://a.com/x", depth=3))
    assert crawl.step() == 0
    crawl.discovery.forget()
    crawl.discover(found("https://a.com/x", depth=2))
    crawl.check()
    assert crawl.step() == 1


def test_what_the_user_said_since_holds_when_links_are_chosen() -> None:
    crawl = Crawl()
    crawl.discover(found("https://a.com/x"))
    crawl.scope = Scope([Site(name="a.com", scope="domains", is_excluded=True)], SETTINGS)
    assert crawl.step() == 0
    assert crawl.records()[b"com.a/x"].reason == "excluded: site a.com"
    crawl.check()


def test_a_budget_bounds_the_links_that_are_ever_chosen() -> None:
    crawl = Crawl(sites=[Site(name="a.com", scope="domains", settings=SiteSettings(budget=3))])
    crawl.discover(*(found(f"https://a.com/{n}") for n in range(9)))
    total = 0
    for _ in range(4):
        total += crawl.step()
        for url, place in crawl.places().items():
            if place == "given":
                crawl.finish(url)
        crawl.check()
    assert total == 3
    assert Counter(record.reason.split(":")[0] for record in crawl.records().values()) == {"": 3, "budget": 6}


def test_a_cut_between_handing_over_and_writing_gives_nothing_twice() -> None:
    crawl = Crawl()
    crawl.discover(found("https://a.com/x"))
    before = crawl.store.snapshot()
    assert crawl.step() == 1
    again = Dispatcher(before, crawl.mgmt, SETTINGS, crawl.clock)
    again.step(crawl.scope, 10)
    assert crawl.mgmt.counts().links["pending"] == 1


def test_every_domain_is_served_in_turn() -> None:
    crawl = Crawl(replace(SETTINGS, segment_size=1), [Site(name="*", scope="any")])
    names = [f"https://s{n}.com/{m}" for n in range(120) for m in range(2)]
    crawl.discover(*map(found, names))
    first = crawl.step(room=60)
    assert first == 50
    served = {web_host_of(url) for url, place in crawl.places().items() if place == "given"}
    for url, place in crawl.places().items():
        if place == "given":
            crawl.finish(url)
    crawl.step(room=60)
    later = {web_host_of(url) for url, place in crawl.places().items() if place == "given"}
    assert len(later) == 50
    assert not served & later


def test_intervals_halve_when_a_page_changed_and_double_when_not() -> None:
    crawl = Crawl()
    intervals = []
    for kind in (FetchKind.PAGE, FetchKind.SAME, FetchKind.SAME, FetchKind.PAGE, FetchKind.PAGE):
        crawl.finish("https://a.com/x", kind)
        intervals.append(crawl.records()[b"com.a/x"].interval / DAY)
        crawl.clock.advance(intervals[-1] * 86_400)
    assert intervals == [1, 2, 4, 2, 1]


def test_bounds_of_intervals_hold_and_a_minimum_of_nothing_means_by_age() -> None:
    crawl = Crawl(replace(SETTINGS, refresh_first=0, refresh_min=0, refresh_max=0))
    crawl.finish("https://a.com/x")
    crawl.clock.advance(1)
    crawl.finish("https://a.com/y", FetchKind.SAME)
    chosen = choose(crawl.store, LinkRound(crawl.store, 9), b"com.a", crawl.settings, crawl.clock.now())
    assert [each.uri for each in chosen] == [b"com.a/x", b"com.a/y"]


def test_failures_wait_longer_each_time_by_their_class_and_a_success_ends_that() -> None:
    crawl = Crawl()
    waits = []
    for _ in range(3):
        crawl.finish("https://a.com/x", FetchKind.FAILED, error="network")
        waits.append((crawl.records()[b"com.a/x"].due - crawl.clock.now()) / 60_000)
    assert waits == [10, 20, 40]
    crawl.finish("https://a.com/x", FetchKind.FAILED, error="http", retry_after=DAY * 9)
    assert crawl.records()[b"com.a/x"].due == crawl.clock.now() + 9 * DAY
    crawl.finish("https://a.com/x")
    assert crawl.records()[b"com.a/x"].failures == 0


def test_a_redirect_to_the_same_uri_is_followed_once_and_never_back_to_http() -> None:
    crawl = Crawl()
    crawl.discover(found("http://a.com/x"))
    crawl.finish("http://a.com/x", FetchKind.SELF_REDIRECT, location="https://a.com/x")
    record = crawl.records()[b"com.a/x"]
    assert (record.url, record.due) == ("https://a.com/x", crawl.clock.now())
    crawl.finish("http://a.com/x", FetchKind.SELF_REDIRECT, location="http://a.com/x")
    assert crawl.records()[b"com.a/x"].error == "redirect_loop"


def test_validators_are_kept_only_while_the_page_stands() -> None:
    crawl = Crawl()
    crawl.finish("https://a.com/x", etag='"1"')
    crawl.finish("https://a.com/x", FetchKind.SAME)
    assert crawl.records()[b"com.a/x"].etag == '"1"'
    crawl.finish("https://a.com/x", FetchKind.GONE)
    assert crawl.records()[b"com.a/x"].etag == ""


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/" + "x" * 1024, "1025 characters"),
        ("/a" * 3 + "/a", "'a' stands 4 times"),
        ("/" + "/".join(map(str, range(21))), "21 parts"),
        ("/?" + "&".join(f"p{n}=1" for n in range(13)), "13 parameters"),
        ("/a/b/a/c?x=1&y=2", ""),
        ("/", ""),
    ],
)
def test_traps_are_told_by_their_shape(target: str, reason: str) -> None:
    refusal = trap(target, SETTINGS)
    assert (refusal is not None and reason in refusal.detail) if reason else refusal is None


def test_a_pattern_that_is_none_is_said() -> None:
    scope = Scope([Site(name="a.com", settings=SiteSettings(exclude=("(",)))], SETTINGS)
    with pytest.raises(UsageError, match="is no pattern"):
        scope.judge(RULES.identify("https://a.com/"), 0)


URLS = [f"https://{host}/{n}" for host in ("a.com", "www.a.com", "b.com", "x.org") for n in range(3)]


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("found"), st.sampled_from(URLS), st.integers(0, 20)),
            st.tuples(st.just("step"), st.just(""), st.integers(1, 9)),
            st.tuples(st.sampled_from(list(FetchKind)), st.sampled_from(URLS), st.integers(0, 3)),
        ),
        max_size=40,
    )
)
def test_after_any_history_every_cell_is_what_the_records_say(steps: list[tuple[str, str, int]]) -> None:
    crawl = Crawl()
    for name, url, number in steps:
        crawl.clock.advance(number * 3600)
        if name == "found":
            crawl.discover(found(url, depth=number))
        elif name == "step":
            crawl.step(number)
        else:
            location = url if name == FetchKind.SELF_REDIRECT else found(url).uri.decode()
            crawl.finish(url, FetchKind(name), location=location, error="network")
        crawl.check()
    for _ in range(20):
        crawl.step()
    left = [r for r in crawl.records().values() if r.phase is LinkPhase.NEW and crawl.dispatcher.low_water > 0]
    given_per_domain = Counter(r.phase for r in crawl.records().values())[LinkPhase.GIVEN]
    assert not left or given_per_domain >= crawl.dispatcher.low_water


def test_a_record_survives_its_encoding() -> None:
    record = LinkRecord(url="https://a.com/", phase=LinkPhase.DUE, due=5, fingerprint=2**64 - 1)
    assert decode_record(msgspec.msgpack.encode(record)) == record


def refuse(crawl: Crawl, url: str, retry_after: int = 0) -> None:
    crawl.finish(url, FetchKind.FAILED, error="busy", retry_after=retry_after)
    crawl.check()


def test_a_page_refused_for_haste_is_due_when_its_server_allows_and_put_off_after_five_tries() -> None:
    crawl, url = Crawl(), "https://a.com/1"
    crawl.discover(found(url))
    crawl.step()
    for _ in range(4):
        refuse(crawl, url, retry_after=3000)
        assert crawl.dispatcher.retrying() == 1
        crawl.clock.advance(2.9)
        assert crawl.step() == 0
        crawl.clock.advance(0.1)
        assert crawl.step() == 1
        assert crawl.dispatcher.retrying() == 0, "it is under way"
    refuse(crawl, url, retry_after=3000)
    assert crawl.dispatcher.retrying() == 0
    (record,) = crawl.records().values()
    assert record.due - record.fetched == 3_600_000
    crawl.clock.advance(3600)
    assert crawl.step() == 1
    refuse(crawl, url)
    assert crawl.dispatcher.retrying() == 1, "another crawl tries five times again"


def test_a_page_is_not_waited_for_if_its_server_asks_for_too_much_patience() -> None:
    crawl, url = Crawl(), "https://a.com/1"
    crawl.discover(found(url))
    crawl.step()
    refuse(crawl, url, retry_after=7_200_000)
    assert crawl.dispatcher.retrying() == 0
    (record,) = crawl.records().values()
    assert record.due - record.fetched == 7_200_000
    assert not record.retry_soon


def test_what_became_of_a_refused_page_ends_its_retries() -> None:
    for ending in (FetchKind.PAGE, FetchKind.GONE, FetchKind.SAME):
        crawl, url = Crawl(), "https://a.com/1"
        crawl.discover(found(url))
        crawl.step()
        refuse(crawl, url)
        crawl.clock.advance(1)
        crawl.step()
        crawl.finish(url, ending)
        crawl.check()
        assert not next(iter(crawl.records().values())).retry_soon
        assert crawl.dispatcher.retrying() == 0


def test_refused_pages_are_fetched_again_even_if_no_page_is_ever_fetched_twice() -> None:
    crawl = Crawl(replace(SETTINGS, refresh_percentage=0))
    crawl.discover(*(found(f"https://a.com/{n}") for n in range(4)))
    crawl.step()
    for n in range(3):
        crawl.finish(f"https://a.com/{n}")
    refuse(crawl, "https://a.com/3")
    crawl.clock.advance(SETTINGS.refresh_first)
    assert crawl.step() == 1
    assert crawl.places()["https://a.com/3"] == "given"
