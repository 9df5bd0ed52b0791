"""Sitemaps that robots.txt names: the site's own, in scope, so many, and never forgotten."""

from __future__ import annotations

import msgspec
import pytest

from weft.cli.run_urlserver import sitemaps_in_scope
from weft.clock import ManualClock
from weft.config.sections import UrlserverSettings
from weft.config.settings import settings_with
from weft.errors import MgmtUnavailable
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeType, Robots
from weft.model.site import Site, SiteSettings
from weft.model.url import UrlRules
from weft.urlserver.address_policy import AddressPolicy
from weft.urlserver.mgmt_gateway import Clocks, MgmtGateway, RobotsPolicy
from weft.urlserver.mgmt_messages import MgmtReplies, MgmtRequests, RobotsAnswer
from weft.urlserver.robots_sitemaps import MOST, MOST_NAMED, sitemaps_of
from weft.urlserver.site_cache import SITES_AGE

NOW = 1_700_000_000_000
ORIGIN = "https://www.a.com"


def robots(*lines: str, status: int = 200, expires: int = NOW + 1000) -> Robots:
    body = "\n".join(["User-agent: *", "Disallow: /x", *lines]).encode()
    return Robots(origin=ORIGIN, status=status, body=body, expires=expires)


def named(*lines: str, **more: int) -> list[str]:
    return [page.url for page in sitemaps_of(robots(*lines, **more), UrlRules(), 512_000)]


def test_sitemaps_of_the_same_domain_are_taken_each_once_in_order():
    assert named(
        "Sitemap: https://www.a.com/one.xml",
        "SITEMAP: http://other.a.com/two.xml",
        "Site-map: /three.xml",
        "Sitemap: https://www.a.com/one.xml#again",
        "Sitemap: http://www.a.com/one.xml",
    ) == ["https://www.a.com/one.xml", "http://other.a.com/two.xml", "https://www.a.com/three.xml"]


def test_a_host_of_a_home_of_before_that_is_refused_now_names_none():
    known = msgspec.structs.replace(robots("Sitemap: /one.xml", "Sitemap: https://b.com/"), origin="http://a,b.com")
    assert sitemaps_of(known, UrlRules(), 512_000) == []


def test_only_so_many_names_are_looked_at():
    foreign = [f"Sitemap: https://b{number}.com/" for number in range(MOST_NAMED - 1)]
    own = [f"Sitemap: https://www.a.com/{number}" for number in range(5)]
    assert named(*foreign, *own) == ["https://www.a.com/0"]


@pytest.mark.parametrize(
    "line",
    [
        "Sitemap: https://b.com/sitemap.xml",
        "Sitemap: https://a.com.evil.org/sitemap.xml",
        "Sitemap: ftp://www.a.com/sitemap.xml",
        "Sitemap: javascript:alert(1)",
        "Sitemap: https://www.a.com/" + "x" * 3000,
        "Sitemap:",
        "# Sitemap: https://www.a.com/sitemap.xml",
    ],
)
def test_what_is_foreign_or_no_url_is_left_alone(line):
    assert named(line) == []


def test_no_more_than_fifty_are_taken():
    assert MOST == 50
    assert len(named(*(f"Sitemap: /{number}.xml" for number in range(60)))) == MOST


def test_a_page_of_an_error_names_nothing():
    assert named("Sitemap: /sitemap.xml", status=404) == []


class Story:
    def __init__(self, *sites: Site, mgmt: MemoryMgmt | None = None) -> None:
        self.clock = ManualClock(NOW)
        self.mgmt = mgmt or MemoryMgmt(self.clock)
        for site in sites:
            self.mgmt.set_sites([site])
        self.lease = self.mgmt.register(NodeType.CRAWLER, "127.0.0.1:1")
        settings = settings_with({"dispatcher.max_depth": 3})
        self.gateway = MgmtGateway(
            self.mgmt,
            Clocks(self.clock, self.clock),
            RobotsPolicy("weft", 512_000, 60_000),
            AddressPolicy(UrlserverSettings()),
            sitemaps_in_scope(settings, self.mgmt),
        )

    def settle(self, *lines: str) -> None:
        self.mgmt.save_robots([robots(*lines)])
        self.gateway.run(self.lease, MgmtRequests(settle_robots={ORIGIN: RobotsAnswer(200, 0)}), MgmtReplies())

    def read(self) -> None:
        self.gateway.run(self.lease, MgmtRequests(read_robots=[ORIGIN]), MgmtReplies())

    def links(self) -> list[object]:
        return [row["link"] for row in self.mgmt.table("link")]


SITEMAPS = ("Sitemap: https://www.a.com/one.xml", "Sitemap: https://other.a.com/two.xml")


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        (Site(name="www.a.com"), ["https://www.a.com/one.xml"]),
        (Site(name="a.com", scope="domains"), ["https://www.a.com/one.xml", "https://other.a.com/two.xml"]),
        (Site(name="*", scope="any"), ["https://www.a.com/one.xml", "https://other.a.com/two.xml"]),
        (Site(name="a.com", is_excluded=True), []),
        (Site(name="www.a.com", settings=SiteSettings(exclude=(r"\.xml$",))), []),
        (Site(name="b.com"), []),
    ],
)
def test_only_what_is_in_scope_becomes_a_link(site, expected):
    story = Story(site)
    story.settle(*SITEMAPS)
    assert story.links() == expected


def test_a_sitemap_that_is_known_is_left_as_it_is_and_its_site_gives_the_priority():
    story = Story(Site(name="www.a.com", settings=SiteSettings(priority=7)))
    story.settle(*SITEMAPS)
    story.settle(*SITEMAPS)
    story.read()
    (link,) = story.mgmt._state.links.values()
    assert (link.url, link.web_host, link.priority) == ("https://www.a.com/one.xml", "www.a.com", 7)


def test_a_robots_txt_that_was_stored_before_a_crash_still_gives_its_sitemaps():
    story = Story(Site(name="www.a.com"))
    story.mgmt.save_robots([robots(*SITEMAPS)])
    story.read()
    assert story.links() == ["https://www.a.com/one.xml"]


def test_an_expired_robots_txt_gives_nothing():
    story = Story(Site(name="www.a.com"))
    story.mgmt.save_robots([robots(*SITEMAPS, expires=NOW)])
    story.read()
    assert story.links() == []


class BreakingMgmt(MemoryMgmt):
    is_broken = True

    def add(self, links):
        if self.is_broken:
            raise MgmtUnavailable("the database went away")
        return super().add(links)


def test_a_control_plane_that_goes_away_loses_no_sitemap():
    mgmt = BreakingMgmt(ManualClock(NOW))
    story = Story(Site(name="www.a.com"), mgmt=mgmt)
    story.mgmt.save_robots([robots(*SITEMAPS)])
    requests = MgmtRequests(settle_robots={ORIGIN: RobotsAnswer(200, 0)})
    with pytest.raises(MgmtUnavailable):
        story.gateway.run(story.lease, requests, MgmtReplies())
    mgmt.is_broken = False
    story.gateway.run(story.lease, requests, MgmtReplies())
    assert story.links() == ["https://www.a.com/one.xml"]


def test_a_change_of_sites_counts_a_moment_later():
    story = Story()
    story.settle(*SITEMAPS)
    story.mgmt.set_sites([Site(name="www.a.com")])
    story.clock.advance(SITES_AGE / 1000)
    story.settle(*SITEMAPS)
    assert story.links() == ["https://www.a.com/one.xml"]
