"""The web as data: the same from the same plan, and every name and path leads back to what it names."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from urllib.parse import urljoin, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from weft.demo.web.answering.responses import DemoRequest
from weft.demo.web.answering.web import Web
from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.kinds import HTML, SHARE_OF_KIND, PageKind
from weft.demo.web.definition.layout import Layout, layout_by_seed
from weft.demo.web.definition.links import BASE, PageLink
from weft.demo.web.definition.paths import number_of, path_of
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES, SHARES, Profile, profile_with
from weft.demo.web.definition.robots import RobotsRules, robots_text, rules_of
from weft.demo.web.definition.traits import RobotsKind
from weft.demo.web.definition.world import World, make_world
from weft.errors import UsageError
from weft.model.url import UrlRules

SOME = WebPlan(hosts=20, pages=12, port=8000, tls=True, tls_port=8443, profile=PROFILES["all"])
plans = st.builds(
    WebPlan,
    seed=st.sampled_from([0, 1, 2, 2**63 - 1]),
    hosts=st.integers(1, 30),
    pages=st.integers(1, 40),
    addresses=st.integers(1, 9),
    port=st.just(8000),
    tls=st.booleans(),
    tls_port=st.just(8443),
    links=st.just((0, 12)),
    page_bytes=st.just((300, 3_000)),
    profile=st.sampled_from(list(PROFILES.values())),
)


def pages_of(world: World) -> list[tuple[int, int]]:
    return [(host.number, number) for host in world.all_hosts() for number in range(host.layout.count)]


@given(plans)
def test_a_plan_decides_every_byte(plan: WebPlan) -> None:
    first, second = Web(plan, clock=lambda: 2e9), Web(plan, clock=lambda: 2e9)
    names = [host.name for host in first.world.all_hosts()]
    assert names == [host.name for host in second.world.all_hosts()]
    host = first.world.hosts.numbered(plan.hosts - 1)
    for number in range(min(host.layout.pages, 3)):
        request = DemoRequest("GET", host.name, path_of(plan.seed, host, number), {}, host.traits.is_secure)
        assert first.answer(request).rest == second.answer(request).rest


def test_another_seed_is_another_web() -> None:
    one, other = make_world(SOME), make_world(replace(SOME, seed=2))
    assert [host.traits for host in one.all_hosts()] != [host.traits for host in other.all_hosts()]
    assert one.url(3, 4).partition(":8000")[2] != other.url(3, 4).partition(":8000")[2]


@given(plans)
def test_names_lead_back_to_their_hosts(plan: WebPlan) -> None:
    world = make_world(plan)
    hosts = list(world.all_hosts())
    assert [world.hosts.named(host.name) for host in hosts] == hosts
    assert len({host.name for host in hosts}) == len(hosts)
    for wrong in ("", "site99999.demo33333.test", "x.site00000.demo00000.test", hosts[0].name + ".", "localhost"):
        assert world.hosts.named(wrong) is None


@given(plans)
def test_paths_lead_back_to_their_numbers(plan: WebPlan) -> None:
    world = make_world(plan)
    for host, number in pages_of(world):
        found = world.hosts.numbered(host)
        path = path_of(plan.seed, found, number)
        assert number_of(plan.seed, found, path) == number
        assert number_of(plan.seed, found, path + "x") is None
        assert world.place(world.url(host, number)) == (found, number)


@given(st.integers(1, 400), st.integers(), st.booleans())
def test_every_leaf_is_linked_from_a_page_and_every_page_from_another(pages: int, seed: int, has_more: bool) -> None:
    layout = layout_by_seed(pages, PROFILES["all"], Dice(seed), has_closed=has_more, has_sitemap=has_more)
    children = [child for number in range(layout.pages) for child in layout.children(number)]
    leaves = [leaf for number in range(layout.pages) for leaf in layout.leaves_of(number)]
    assert sorted([0, *children]) == list(range(layout.pages))
    assert sorted(leaves) == list(range(layout.pages, layout.pages + layout.leaves))
    assert {layout.kind(number) for number in range(layout.pages + layout.leaves, layout.count)} <= {PageKind.ORPHAN}


def test_the_kinds_of_a_layout_are_as_many_as_it_says() -> None:
    layout = Layout(10, (PageKind.MOVED, PageKind.GONE), (3, 5), 2, 3)
    kinds = Counter(layout.kind(number) for number in range(layout.count))
    assert kinds == {PageKind.PAGE: 10, PageKind.MOVED: 3, PageKind.GONE: 2, PageKind.ORPHAN: 2}


def resolved(page_url: str, link: PageLink, *, has_base: bool) -> str:
    """Where the href leads, by the standard library."""
    base = urljoin(page_url, BASE) if has_base else page_url
    parts = urlsplit(urljoin(base, link.href.strip()).replace("é", "%C3%A9"))
    return parts._replace(netloc=parts.netloc.lower(), fragment="").geturl()


@given(plans)
def test_every_href_leads_where_its_link_says(plan: WebPlan) -> None:
    world = make_world(plan)
    for host, number in pages_of(world)[:20]:
        found = world.hosts.numbered(host)
        if found.layout.kind(number) not in HTML:
            continue
        url, quality = world.url(host, number), world.state.quality(host, number)
        target = url[url.index("/", 8) :]
        for link in world.linker.links(found, number, 0, target):
            assert resolved(url, link, has_base=quality.has_base) == link.url
            assert UrlRules().identify(link.url).url == link.url


def test_links_follow_a_power_law() -> None:
    world = make_world(WebPlan(hosts=30, pages=30, port=8000))
    targets: Counter[str] = Counter()
    for host, number in pages_of(world):
        targets.update(link.url for link in world.linker.links(world.hosts.numbered(host), number, 0, "/x/y"))
    counts = sorted(targets.values(), reverse=True)
    assert counts[0] > 20 * counts[len(counts) // 2]
    assert any(urlsplit(url).hostname != world.hosts.numbered(0).name for url in list(targets)[:50])


def test_a_new_version_keeps_most_links_and_changes_some() -> None:
    world = make_world(WebPlan(hosts=30, pages=30, port=8000, links=(20, 40)))
    host = world.hosts.numbered(3)
    old, new = ({link.url for link in world.linker.links(host, 5, version, "/x/y")} for version in (0, 1))
    assert old != new
    assert len(old & new) > len(old - new)


@pytest.mark.parametrize("share", SHARES)
def test_every_share_of_a_profile_can_be_seen(share: str) -> None:
    """A web with one share at 1 differs from a plain one in some host, layout, quality or link."""
    plain, odd = (make_world(replace(SOME, hosts=5, profile=Profile(**shares))) for shares in ({}, {share: 1.0}))

    def seen(world: World) -> list[object]:
        hosts = list(world.all_hosts())
        qualities = [world.state.quality(1, number) for number in range(1, 5)]
        rels = [link.rel for link in world.linker.links(hosts[1], 1, 0, "/a/b")]
        return [[host.traits for host in hosts], [host.layout for host in hosts], qualities, rels]

    assert seen(plain) != seen(odd)
    assert seen(odd)[0][0] == seen(plain)[0][0], "host 0 is always without oddities"  # type: ignore[index]


def test_all_has_every_share_and_plain_has_none() -> None:
    assert all(getattr(PROFILES["all"], share) > 0 for share in SHARES)
    assert all(getattr(PROFILES["plain"], share) == 0 for share in SHARES)
    assert set(SHARE_OF_KIND.values()) <= set(SHARES)
    assert {f"robots_{kind}" for kind in RobotsKind if kind is not RobotsKind.PLAIN} <= set(SHARES)


def test_a_plan_survives_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(SOME), type=WebPlan) == SOME
    assert len(fields(SOME)) > 10


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("nonsense", [], "there is no profile 'nonsense'; expected one of: plain, "),
        ("plain", ["nonsense=1"], "a profile has no share 'nonsense'"),
        ("plain", ["moved=2"], "expected moved=NUMBER from 0 to 1"),
        ("plain", ["moved"], "expected moved=NUMBER from 0 to 1"),
        ("plain", ["moved=nan"], "expected moved=NUMBER from 0 to 1"),
        ("plain", ["slow_seconds=-1"], "expected slow_seconds=NUMBER from 0 to 86400"),
    ],
)
def test_a_bad_profile_is_one_sentence(name: str, changes: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        profile_with(name, changes)


def test_shares_replace_those_of_the_profile() -> None:
    assert profile_with("all", ["calendars=0", "slow_seconds=3"]) == replace(
        PROFILES["all"], calendars=0.0, slow_seconds=3.0
    )


@pytest.mark.parametrize(
    "wrong", [{"hosts": 0}, {"pages": 0}, {"addresses": 0}, {"seed": -1}, {"port": 70_000}, {"links": (5, 3)}]
)
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="a synthetic web cannot have"):
        WebPlan(**wrong)  # type: ignore[arg-type]


@given(st.integers(), st.booleans())
def test_every_spelling_of_a_robots_txt_holds_its_rules(seed: int, has_rules: bool) -> None:
    rules = RobotsRules(("/priv%C3%A9/",), ("/priv%C3%A9/open-",), 2.5, ("http://a.test/sitemap.xml",))
    text = robots_text(rules if has_rules else RobotsRules(), "weft", Dice(seed)).decode("utf-8-sig").lower()
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    assert ("crawl-delay: 2.5" in lines) == has_rules
    assert ("sitemap: http://a.test/sitemap.xml" in lines) == has_rules
    closed = {"disallow: /priv%c3%a9/", "disallow: /priv%c3%a9/*", "disallow: /privé/"}
    assert bool(closed & set(lines)) == has_rules
    assert "user-agent: weft" in lines or "user-agent: *" in lines


@given(plans)
def test_another_parser_reads_what_the_rules_say(plan: WebPlan) -> None:
    world = make_world(plan)
    for host in world.all_hosts():
        rules = rules_of(host, host.traits, world.linker)
        parsed = Protego.parse(robots_text(rules, "weft", Dice(plan.seed, "robots", host.number)).decode("utf-8-sig"))
        assert (parsed.crawl_delay("weft") or 0.0) == rules.crawl_delay
        assert tuple(parsed.sitemaps) == rules.sitemaps
        for number in range(host.layout.count):
            url = world.url(host.number, number)
            assert parsed.can_fetch(url, "weft") == rules.is_open(url[url.index("/", 8) :])


def test_a_robots_txt_can_be_padded() -> None:
    assert len(robots_text(RobotsRules(), "weft", Dice(1), 600 << 10)) >= 600 << 10
