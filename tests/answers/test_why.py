"""`weft why` from what the store and the control plane hold."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from weft.answers.why import MOST_HOPS, BudgetUse, Hop, Why, why
from weft.cli.why_words import why_lines
from weft.clock import ManualClock
from weft.config.settings import settings_with
from weft.dispatcher.budgets import Budgets
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NewLink, Robots
from weft.model.domain import reversed_domain
from weft.model.site import Site, SiteSettings
from weft.model.url import UrlRules
from weft.store.api import Batch
from weft.store.memory import MemoryStore

NOW = 1_700_000_000_000


class Home:
    def __init__(self) -> None:
        self.store, self.mgmt = MemoryStore(), MemoryMgmt(ManualClock(NOW))
        self.mgmt.set_sites([Site(name="a.com", settings=SiteSettings(budget=10))])

    def know(self, url: str, **about: Any) -> None:
        page = UrlRules().identify(url)
        links = LinkRound(self.store, 1)
        record = msgspec.structs.replace(LinkRecord(url=url, discovered=NOW), **about)
        place = reversed_domain(page.domain).encode(), page.uri.encode()
        links.read([place])
        links.put(*place, record)
        self.store.write(Batch(links.cells()), self.store.last_seq + 1)

    def why(self, url: str) -> tuple[Why, list[str]]:
        rules = UrlRules()
        found = why(self.store, self.mgmt, settings_with({}), rules, rules.identify(url))
        assert msgspec.json.decode(msgspec.json.encode(found)), "it is JSON too"
        return found, why_lines(found)


def test_a_redirect_is_followed_hop_by_hop_to_its_end():
    home = Home()
    home.know("https://a.com/1", phase=LinkPhase.DUE, fetched=NOW, status=301, location="com.a/2")
    home.know("https://a.com/2", phase=LinkPhase.DUE, fetched=NOW, status=302, location="com.b/3")
    home.know("https://b.com/3", phase=LinkPhase.DUE, fetched=NOW, status=200)
    facts, lines = home.why("https://a.com/1")
    assert facts.leads_to == [Hop("com.a/2", "https://a.com/2", 302), Hop("com.b/3", "https://b.com/3", 200)]
    assert "redirect: leads to https://a.com/2 (status 302), then https://b.com/3 (status 200)" in lines


def test_redirects_in_a_circle_and_without_end_are_cut():
    home = Home()
    home.know("https://a.com/1", fetched=NOW, status=301, location="com.a/2")
    home.know("https://a.com/2", fetched=NOW, status=301, location="com.a/1")
    assert [hop.uri for hop in home.why("https://a.com/1")[0].leads_to] == ["com.a/2", "com.a/1"]
    for number in range(30):
        home.know(f"https://a.com/{number}", fetched=NOW, status=301, location=f"com.a/{number + 1}")
    assert len(home.why("https://a.com/0")[0].leads_to) == MOST_HOPS


def test_a_redirect_to_what_nobody_has_fetched():
    home = Home()
    home.know("https://a.com/1", fetched=NOW, status=301, location="com.a/2")
    assert "redirect: leads to https://a.com/2 (not fetched yet)" in home.why("https://a.com/1")[1]


@pytest.mark.parametrize(
    ("place", "reason", "said"),
    [
        (
            LinkPhase.HIDDEN,
            "parameters: lang=en -> com.a/1",
            "canonical: https://a.com/1 (fetched instead, because of a rule)",
        ),
        (LinkPhase.DUE, "", "canonical: https://a.com/1 (named by the page)"),
    ],
)
def test_what_stands_for_a_link_is_told_with_its_reason(place, reason, said):
    home = Home()
    home.know("https://a.com/1?lang=en", phase=place, reason=reason, canonical="com.a/1", due=NOW)
    facts, lines = home.why("https://a.com/1?lang=en")
    assert said in lines
    assert facts.refusal == (reason or None)
    assert (f"not crawled: {reason}" in lines) == bool(reason)


def test_the_budget_of_the_site_is_told():
    home = Home()
    budgets = Budgets(home.store)
    for _ in range(3):
        budgets.take(home.mgmt.sites()[0])
    home.store.write(Batch(budgets.cells()), home.store.last_seq + 1)
    facts, lines = home.why("https://a.com/1")
    assert facts.budget == BudgetUse(most=10, taken=3)
    assert "budget: 3 of 10 links of the site are used" in lines


def test_robots_txt_is_told_with_its_delay_and_when_it_is_asked_for_again():
    home = Home()
    body = b"User-agent: *\nDisallow: /x\nCrawl-delay: 2\nSitemap: /map.xml"
    home.mgmt.save_robots([Robots(origin="https://a.com", status=200, body=body, expires=NOW)])
    home.mgmt.add([NewLink("com.a/x", "https://a.com/x", "a.com")])
    lines = home.why("https://a.com/x")[1]
    assert "robots.txt: refused by 'Disallow: /x'; Crawl-delay 2 s; next check 2023-11-14T22:13:20Z" in lines
    assert "control plane: link 1 is pending" in lines
    assert home.why("https://a.com/map.xml")[0].sitemap_of == "https://a.com"


def test_a_robots_txt_that_cannot_be_had_closes_the_host_until_it_is_tried_again():
    home = Home()
    home.mgmt.save_robots([Robots(origin="https://a.com", status=503, expires=NOW)])
    (line,) = (line for line in home.why("https://a.com/x")[1] if line.startswith("robots.txt"))
    assert line == "robots.txt: refused by 'robots.txt answered 503'; next check 2023-11-14T22:13:20Z"


def test_the_fetch_that_the_index_has_is_told_beside_the_last_one():
    home = Home()
    known = {"phase": LinkPhase.DUE, "decided": NOW, "due": NOW + 60_000}
    home.know("https://a.com/1", **known, fetched=NOW + 1000, status=304, interval=1000)
    home.know("https://a.com/2", **known, fetched=NOW + 1000, error="timeout", failures=1)
    home.know("https://a.com/3", **known, fetched=NOW, status=200, interval=1000, announced=NOW)
    assert home.why("https://a.com/1")[0].record.decided == "2023-11-14T22:13:20Z"
    for url, because in (
        ("1", "by how often it changes, or as its site says"),
        ("2", "another try after a failure"),
        ("3", "a sitemap says that it changed"),
    ):
        facts, lines = home.why(f"https://a.com/{url}")
        assert facts.record.due_because == because
        assert any(f"next fetch due 2023-11-14T22:14:20Z ({because})" in line for line in lines)
        assert ("index: holds what the fetch of 2023-11-14T22:13:20Z found" in lines) == (url != "3")


def test_a_link_that_is_wanted_at_once_is_due_now():
    home = Home()
    home.know("https://a.com/1", phase=LinkPhase.DUE, fetched=NOW, status=200)
    assert any("next fetch due now (wanted at once)" in line for line in home.why("https://a.com/1")[1])
