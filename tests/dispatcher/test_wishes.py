"""Whoever names a seed wants it fetched now, with the settings of now, and wherever it leads within its domain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.dispatcher_world import CrawlWorld, place_of
from weft.config.sections import DispatcherSettings
from weft.dispatcher.dispatcher import Dispatcher
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.mgmt.values import Seed
from weft.model.host import web_host_of
from weft.model.site import NO_CREDENTIALS, Site, SiteSettings
from weft.model.url import identity_of

SETTINGS = DispatcherSettings(segment_size=100, redirect_hops=5)
A, WWW = "https://a.com/", "https://www.a.com/"
PLAIN = "http://a.com/"


class SeedWorld(CrawlWorld):
    """Seeds are named and fetched; what is given out is what the control plane would have fetched next."""

    def __init__(self, *sites: Site, settings: DispatcherSettings = SETTINGS) -> None:
        super().__init__(settings, *(sites or [Site(name="a.com")]))
        self.settle()

    def name(self, url: str = A, *, any_scheme: bool = False) -> None:
        self.clock.advance(1)
        self.mgmt.want([Seed(identity_of(url).uri, url, web_host_of(url), any_scheme)])
        self.hear()
        self.settle()

    def hear(self) -> None:
        """The sites are read again, with those that redirects led to."""
        self.sites |= {site.name: site for site in self.mgmt.sites()}
        self._hear()

    def fetched(self, url: str = A, kind: FetchKind = FetchKind.FAILED, **about: Any) -> None:
        """The fetch of a link ended, and all steps that follow from that were made."""
        self.clock.advance(1)
        round_ = LinkRound(self.store, self.dispatcher.low_water)
        place = place_of(url)
        record = round_.read([place])[0] or LinkRecord(url=url)
        if "location" in about and "://" in about["location"] and kind is FetchKind.MOVED:
            about["location"] = identity_of(about["location"]).uri
        round_.put(*place, after_fetch(record, Fetched(kind=kind, at=self.clock.now(), **about), self.settings))
        self.index.apply([], round_.cells())
        for _ in range(3):
            self.settle()
            self.hear()
        self.settle()

    def waits(self, url: str = A) -> bool:
        """Whether the link is fetched next."""
        record = self.record(url)
        return record is not None and record.phase is LinkPhase.GIVEN


@pytest.fixture
def world() -> SeedWorld:
    return SeedWorld()


@pytest.mark.parametrize(
    "error", ["connect", "tls_expired", "port", "private_address", "robots", "http", "redirect_loop"]
)
def test_a_seed_that_failed_again_and_again_is_fetched_at_once(world: SeedWorld, error: str) -> None:
    for _ in range(6):
        world.fetched(error=error)
    assert not world.waits()
    world.name()
    assert world.waits()
    record = world.record(A)
    assert record is not None
    assert record.failures == 0


def test_a_seed_that_was_fetched_well_is_fetched_again(world: SeedWorld) -> None:
    world.fetched(kind=FetchKind.PAGE, status=200)
    world.name()
    assert world.waits()
    world.fetched(kind=FetchKind.PAGE, status=200)
    assert not world.waits()
    assert world.mgmt.wishes() == []


def test_a_seed_is_no_refresh_that_a_share_could_leave_out() -> None:
    world = SeedWorld(settings=replace(SETTINGS, refresh_percentage=0))
    world.fetched(error="dns")
    world.name()
    assert world.waits()


def test_a_link_that_was_found_deep_inside_is_no_hop_away_once_it_is_named(world: SeedWorld) -> None:
    world.crawl(A, "https://a.com/x")
    world.settle()
    world.fetched("https://a.com/x", kind=FetchKind.PAGE)
    world.name("https://a.com/x")
    record = world.record("https://a.com/x")
    assert record is not None
    assert record.depth == 0


def test_a_seed_that_the_settings_refused_is_fetched_when_they_allow_it() -> None:
    world = SeedWorld(Site(name="a.com", settings=SiteSettings(exclude=("/x",))))
    world.crawl(A, "https://a.com/x")
    world.settle()
    world.name("https://a.com/x")
    assert world.urls(LinkPhase.HIDDEN) == {"https://a.com/x"}
    assert world.mgmt.wishes() == [], "nobody waits for what is refused"
    world.say(Site(name="a.com"))
    world.name("https://a.com/x")
    assert world.waits("https://a.com/x")


def test_the_scheme_that_was_typed_last_holds(world: SeedWorld) -> None:
    world.fetched(error="connect")
    world.name(PLAIN)
    record = world.record(A)
    assert record is not None
    assert (record.url, record.phase) == (PLAIN, LinkPhase.GIVEN)


def test_what_works_by_https_is_not_fetched_by_http_again(world: SeedWorld) -> None:
    world.fetched(kind=FetchKind.PAGE, status=200)
    world.name(PLAIN)
    record = world.record(A)
    assert record is not None
    assert record.url == A


@pytest.mark.parametrize(
    ("error", "status", "url"),
    [
        ("connect", 0, PLAIN),
        ("tls_expired", 0, A),
        ("tls_authority", 0, A),
        ("tls", 0, A),
        ("network", 0, A),
        ("unknown_host", 0, A),
        ("http", 503, A),
        ("http", 401, A),
    ],
)
def test_a_seed_without_a_scheme_is_fetched_by_http_only_where_https_cannot_be_connected_to(
    world: SeedWorld, error: str, status: int, url: str
) -> None:
    world.name(any_scheme=True)
    world.fetched(error=error, status=status)
    record = world.record(A)
    assert record is not None
    assert (record.url, world.waits()) == (url, url == PLAIN)
    if url == PLAIN:
        world.fetched(error="connect")
        assert not world.waits(), "there is no third way"
    assert world.mgmt.wishes() == []


def test_a_typed_scheme_is_no_guess(world: SeedWorld) -> None:
    world.name()
    world.fetched(error="connect")
    assert not world.waits()


def test_redirects_of_a_seed_widen_the_scope_within_its_domain_without_credentials(world: SeedWorld) -> None:
    world.name()
    world.fetched(kind=FetchKind.MOVED, status=301, location=WWW)
    assert world.sites["www.a.com"] == Site(name="www.a.com", settings=NO_CREDENTIALS, led_from=A)
    assert world.waits(WWW)
    world.fetched(WWW, kind=FetchKind.MOVED, status=301, location="https://web.a.com/en")
    assert world.sites["web.a.com"].led_from == WWW
    assert world.waits("https://web.a.com/en")


def test_from_http_to_https_to_www(world: SeedWorld) -> None:
    world.name(PLAIN)
    world.fetched(PLAIN, kind=FetchKind.SELF_REDIRECT, status=301, location=A)
    assert world.waits()
    world.fetched(kind=FetchKind.MOVED, status=301, location=WWW)
    assert world.waits(WWW)


def test_a_redirect_to_another_domain_widens_nothing(world: SeedWorld) -> None:
    world.name()
    world.fetched(kind=FetchKind.MOVED, status=301, location="https://a.org/")
    assert set(world.sites) == {"a.com"}
    assert world.mgmt.wishes() == []


def test_a_redirect_of_a_page_that_nobody_named_widens_nothing(world: SeedWorld) -> None:
    world.fetched(kind=FetchKind.MOVED, status=301, location=WWW)
    assert set(world.sites) == {"a.com"}


def test_a_redirect_that_leads_back_comes_to_an_end(world: SeedWorld) -> None:
    world.name()
    world.fetched(kind=FetchKind.MOVED, status=301, location=WWW)
    world.fetched(WWW, kind=FetchKind.MOVED, status=301, location=A)
    assert world.mgmt.wishes() == []
    assert not world.waits()
    assert not world.waits(WWW)


def test_a_scope_of_the_domain_needs_no_widening() -> None:
    world = SeedWorld(Site(name="a.com", scope="domains"))
    world.name()
    world.fetched(kind=FetchKind.MOVED, status=301, location=WWW)
    assert set(world.sites) == {"a.com"}


def test_a_wish_that_cannot_be_granted_for_a_day_is_forgotten(world: SeedWorld) -> None:
    world.name()
    assert len(world.mgmt.wishes()) == 1
    world.clock.advance(86_401)
    world.hear()
    world.settle()
    assert world.mgmt.wishes() == []


@pytest.mark.parametrize("settings", [{"auth": "me:secret"}, {"verify": False}, {"headers": {"X": "1"}}, {"ca": "/x"}])
def test_what_failed_is_fetched_again_when_the_settings_of_its_site_change(
    world: SeedWorld, settings: dict[str, Any]
) -> None:
    world.fetched(error="http", status=401)
    world.fetched("https://a.com/ok", kind=FetchKind.PAGE, status=200)
    world.say(Site(name="a.com", settings=SiteSettings(**settings)))
    world.settle()
    assert world.waits()
    assert not world.waits("https://a.com/ok"), "what worked depended on nothing"


def test_a_change_of_the_scope_alone_tries_nothing_again(world: SeedWorld) -> None:
    world.fetched(error="http", status=401)
    world.say(Site(name="a.com", settings=SiteSettings(depth=3)))
    world.settle()
    assert not world.waits()


def test_what_failed_is_fetched_again_when_addresses_or_ports_are_allowed(world: SeedWorld) -> None:
    world.dispatcher = Dispatcher(world.store, world.mgmt, SETTINGS, world.clock, b"1" * 16)
    world.settle()
    world.fetched(error="port")
    world.settle()
    assert not world.waits(), "the first conditions that are noted are no change"
    world.dispatcher = Dispatcher(world.store, world.mgmt, SETTINGS, world.clock, b"2" * 16)
    world.settle()
    assert world.waits()
