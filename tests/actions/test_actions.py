"""Actions do the same for whoever calls them, on a control plane in memory."""

from __future__ import annotations

import pytest

from weft.actions.local_seeds import LocalSeeds
from weft.actions.nodes import ask_nodes
from weft.actions.seeds import SeedAdder
from weft.actions.sites import SiteChange, change_site
from weft.clock import ManualClock
from weft.config.sections import DispatcherSettings, UrlserverSettings
from weft.dispatcher.scope import Scope
from weft.errors import NotKnown, UsageError
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeState, NodeType
from weft.model.site import NO_CREDENTIALS, Site, SiteSettings
from weft.model.url import UrlRules


@pytest.fixture
def mgmt() -> MemoryMgmt:
    return MemoryMgmt(ManualClock(1_000_000))


def added(mgmt: MemoryMgmt, scope: str | None, *urls: str) -> SeedAdder:
    adder = SeedAdder(mgmt, UrlRules(), scope)
    for url in urls:
        adder.add(url)
    adder.finish()
    return adder


def test_seeds_make_links_and_sites(mgmt: MemoryMgmt) -> None:
    adder = added(mgmt, "hosts", "https://www.a.com/x", "www.a.com/y", "https://www.a.com/x", "mailto:me")
    assert (adder.new, adder.known, adder.refused) == (2, 1, 1)
    seeds = ["https://www.a.com/x", "https://www.a.com/y"]
    assert mgmt.sites() == [Site(name="www.a.com", seeds=seeds)]
    assert mgmt.counts().links["pending"] == 2


@pytest.mark.parametrize(("scope", "name"), [("hosts", "www.a.com:81"), ("domains", "a.com"), ("any", "*")])
def test_the_scope_names_the_site(mgmt: MemoryMgmt, scope: str, name: str) -> None:
    added(mgmt, scope, "http://www.a.com:81/")
    assert [(site.name, site.scope) for site in mgmt.sites()] == [(name, scope)]


def test_a_refused_url_tells_why_and_leaves_nothing(mgmt: MemoryMgmt) -> None:
    adder = SeedAdder(mgmt, UrlRules(), "hosts")
    refused = adder.add("ftp://a.com/")
    adder.finish()
    assert refused is not None
    assert "its scheme is ftp" in str(refused)
    assert mgmt.sites() == []


@pytest.mark.parametrize("scope", [None, "path", "hosts", "domains", "any"])
@pytest.mark.parametrize("typed", ["http://*/", "*", "//%2a/x", "https://*:8080/"])
def test_no_url_names_the_site_that_stands_for_every_host(mgmt: MemoryMgmt, typed: str, scope: str | None) -> None:
    adder = SeedAdder(mgmt, UrlRules(), scope)
    assert "'*' in its host" in str(adder.add(typed))
    adder.finish()
    assert (mgmt.sites(), mgmt.wishes()) == ([], [])


def test_what_was_stored_for_every_host_goes_on_standing_for_it(mgmt: MemoryMgmt) -> None:
    mgmt.set_sites([Site(name="*", scope="any"), Site(name="a.com", scope="domains")])
    scope = Scope(mgmt.sites(), DispatcherSettings())
    sites = [scope.site_of(UrlRules().identify(url)) for url in ("https://b.com/", "https://www.a.com/")]
    assert [site.name for site in sites if site] == ["*", "a.com"]
    assert [site.is_anywhere for site in scope.sites] == [True, False]


def test_a_site_remembers_a_hundred_seeds_and_no_more(mgmt: MemoryMgmt) -> None:
    added(mgmt, "hosts", *(f"https://a.com/{n}" for n in range(150)))
    (site,) = mgmt.sites()
    assert len(site.seeds) == 100
    assert mgmt.counts().links["pending"] == 150


def test_a_scope_that_is_corrected_is_obeyed_and_one_that_is_not_named_changes_nothing(mgmt: MemoryMgmt) -> None:
    added(mgmt, None, "https://a.com/")
    assert [site.scope for site in mgmt.sites()] == ["hosts"]
    added(mgmt, "domains", "https://a.com/")
    assert [site.scope for site in mgmt.sites()] == ["domains"]
    added(mgmt, None, "https://a.com/x")
    assert [site.scope for site in mgmt.sites()] == ["domains"]
    added(mgmt, "hosts", "https://a.com/")
    assert [site.scope for site in mgmt.sites()] == ["hosts"]


def test_a_seed_with_another_scheme_takes_the_place_of_the_first(mgmt: MemoryMgmt) -> None:
    added(mgmt, None, "a.com")
    added(mgmt, None, "http://a.com/")
    assert [site.seeds for site in mgmt.sites()] == [["http://a.com/"]]
    assert [(wish.url, wish.any_scheme) for wish in mgmt.wishes()] == [("http://a.com/", False)]


def test_a_seed_typed_without_a_scheme_may_turn_out_to_be_http(mgmt: MemoryMgmt) -> None:
    added(mgmt, None, "a.com", "b.com:81/x", "//c.com", "https://d.com", "HTTP://e.com")
    assert {wish.uri: wish.any_scheme for wish in mgmt.wishes()} == {
        "com.a": True,
        "com.b:81/x": True,
        "com.c": True,
        "com.d": False,
        "com.e": False,
    }


def test_a_host_that_a_redirect_led_to_is_a_site_like_any_other_once_it_is_named(mgmt: MemoryMgmt) -> None:
    mgmt.set_sites([Site(name="www.a.com", settings=NO_CREDENTIALS, led_from="https://a.com/")])
    added(mgmt, None, "https://www.a.com/")
    assert mgmt.sites() == [Site(name="www.a.com", seeds=["https://www.a.com/"])]


@pytest.mark.parametrize("scope", ["hosts", "domains", "any"])
def test_a_local_seed_is_refused_until_the_user_means_it_and_then_its_host_alone_is_open(
    mgmt: MemoryMgmt, scope: str
) -> None:
    def adder(*, is_meant: bool) -> SeedAdder:
        local = LocalSeeds(UrlserverSettings(hosts_file=""), lambda host, where: False, is_meant=is_meant)
        return SeedAdder(mgmt, UrlRules(), scope, local)

    refusing = adder(is_meant=False)
    refused = refusing.add("http://localhost:8010/")
    refusing.finish()
    assert "add --local if you mean it" in str(refused)
    assert mgmt.sites() == []
    opening = adder(is_meant=True)
    assert opening.add("http://localhost:8010/") is None
    opening.finish()
    assert [site.name for site in mgmt.sites() if site.settings.local] == ["localhost:8010"]
    again = adder(is_meant=False)
    assert again.add("http://localhost:8010/x") is None, "nobody is asked twice"


def test_a_change_touches_only_what_it_names(mgmt: MemoryMgmt) -> None:
    added(mgmt, "domains", "https://a.com/")
    change_site(mgmt, "a.com", SiteChange(settings={"depth": 3, "budget": 9}))
    change_site(mgmt, "a.com", SiteChange(is_excluded=True, settings={"budget": None}))
    seeds = ["https://a.com/"]
    expected = Site(name="a.com", scope="domains", is_excluded=True, seeds=seeds, settings=SiteSettings(depth=3))
    assert mgmt.sites() == [expected]


def test_a_change_that_cannot_be_changes_nothing(mgmt: MemoryMgmt) -> None:
    with pytest.raises(UsageError, match="depth: expected an integer"):
        change_site(mgmt, "a.com", SiteChange(is_excluded=True, settings={"budget": 3, "depth": "x"}), is_new=True)
    with pytest.raises(NotKnown, match=r"a\.com is not a site; add --new"):
        change_site(mgmt, "a.com", SiteChange(is_excluded=True))
    assert mgmt.sites() == []


def test_nodes_are_asked_by_address(mgmt: MemoryMgmt) -> None:
    lease = mgmt.register(NodeType.SPIDER, "127.0.0.1:7070")
    ask_nodes(mgmt, "127.0.0.1:7070", NodeState.PAUSED)
    assert mgmt.heartbeat(lease) is NodeState.PAUSED
    with pytest.raises(NotKnown, match="no node has the address elsewhere"):
        ask_nodes(mgmt, "elsewhere", NodeState.PAUSED)


def test_a_web_app_has_nothing_to_pause(mgmt: MemoryMgmt) -> None:
    web, spider = (mgmt.register(kind, f"127.0.0.1:{kind[0]}") for kind in (NodeType.WEB_APP, NodeType.SPIDER))
    for state in (NodeState.PAUSED, NodeState.ONLINE):
        assert [node.address for node in ask_nodes(mgmt, None, state)] == [spider.address]
        assert (mgmt.heartbeat(web), mgmt.heartbeat(spider)) == (NodeState.ONLINE, state)
    with pytest.raises(UsageError, match=f"{web.address} is a web app, which has no work to pause"):
        ask_nodes(mgmt, web.address, NodeState.PAUSED)
    assert len(ask_nodes(mgmt, None, NodeState.DRAINING)) == 2
    assert (mgmt.heartbeat(web), mgmt.heartbeat(spider)) == (NodeState.DRAINING, NodeState.DRAINING)
    mgmt.tell(spider, NodeState.OFFLINE)
    with pytest.raises(NotKnown, match="no node is running"):
        ask_nodes(mgmt, None, NodeState.PAUSED)
