"""Actions do the same for whoever calls them, on a control plane in memory."""

from __future__ import annotations

import pytest

from weft.actions.nodes import ask_nodes
from weft.actions.seeds import SeedAdder
from weft.actions.sites import SiteChange, change_site
from weft.clock import ManualClock
from weft.errors import NotKnown, UsageError
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeState, NodeType
from weft.model.site import Site, SiteSettings
from weft.model.url import UrlRules


@pytest.fixture
def mgmt() -> MemoryMgmt:
    return MemoryMgmt(ManualClock(1_000_000))


def added(mgmt: MemoryMgmt, scope: str, *urls: str) -> SeedAdder:
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


def test_a_site_remembers_a_hundred_seeds_and_no_more(mgmt: MemoryMgmt) -> None:
    added(mgmt, "hosts", *(f"https://a.com/{n}" for n in range(150)))
    (site,) = mgmt.sites()
    assert len(site.seeds) == 100
    assert mgmt.counts().links["pending"] == 150


def test_a_change_touches_only_what_it_names(mgmt: MemoryMgmt) -> None:
    added(mgmt, "domains", "https://a.com/")
    change_site(mgmt, "a.com", SiteChange(settings={"depth": 3, "budget": 9}))
    change_site(mgmt, "a.com", SiteChange(is_excluded=True, settings={"budget": None}))
    seeds = ["https://a.com/"]
    expected = Site(name="a.com", scope="domains", is_excluded=True, seeds=seeds, settings=SiteSettings(depth=3))
    assert mgmt.sites() == [expected]


def test_a_change_that_cannot_be_changes_nothing(mgmt: MemoryMgmt) -> None:
    with pytest.raises(UsageError, match="depth: expected an integer"):
        change_site(mgmt, "a.com", SiteChange(is_excluded=True, settings={"budget": 3, "depth": "x"}))
    assert mgmt.sites() == []


def test_nodes_are_asked_by_address(mgmt: MemoryMgmt) -> None:
    lease = mgmt.register(NodeType.SPIDER, "127.0.0.1:7070")
    ask_nodes(mgmt, "127.0.0.1:7070", NodeState.PAUSED)
    assert mgmt.heartbeat(lease) is NodeState.PAUSED
    with pytest.raises(NotKnown, match="no node has the address elsewhere"):
        ask_nodes(mgmt, "elsewhere", NodeState.PAUSED)
