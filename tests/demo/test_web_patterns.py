"""The patterns tell the truth: what a URL is does not depend on the visit, and duplicates are where they are told."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from support.raw_client import get
from weft.config.sections import UrlSettings
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.patterns.catalogue import BY_HOST, PATTERNS
from weft.demo.web.patterns.pattern import Pattern, Server, page_of, split_target
from weft.demo.web.patterns.sites import EXTRA_SITES
from weft.demo.web.server.serving import serving
from weft.html import parse_page
from weft.model.url import UrlRules

ORIGIN = "http://pattern.test"
RULES = UrlRules(UrlSettings().strip)


@cache
def named(href: str) -> str:
    return RULES.identify(ORIGIN + href).url.removeprefix(ORIGIN)


def walked(server: Server, most: int = 400) -> dict[str, str]:
    """Targets by what they are, in the order of their distance from the first page; redirects are no pages."""
    found: dict[str, str] = {}
    waiting, known = ["/"], {"/"}
    for visit, target in enumerate(islice(waiting, most), 1):
        answer = server(*split_target(target), visit)
        assert answer.status in (200, 302), target
        if answer.page:
            found[target] = answer.page
        hrefs = [answer.location] if answer.location else [href for href, _ in answer.links]
        fresh = [each for each in dict.fromkeys(map(named, hrefs)) if each not in known]
        known.update(fresh)
        waiting += fresh
    return found


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.name)
def test_a_pattern_has_duplicates_where_it_says_so_and_leads_to_pages_only(pattern: Pattern) -> None:
    server = pattern.server(5)
    pages = walked(server)
    assert all(page_of(server, target) == page for target, page in pages.items())
    # The first page and its copy under another name are no pattern.
    duplicates = sum(count - 1 for page, count in Counter(pages.values()).items() if page != pages.get("/"))
    has_duplicates = duplicates > 0 or pattern.name == "one text for every URL"
    assert has_duplicates == pattern.has_duplicates


def test_another_seed_is_another_site_and_the_same_seed_the_same() -> None:
    for pattern in PATTERNS:
        assert walked(pattern.server(5), 12) == walked(pattern.server(5), 12)
    assert len({len(walked(BY_HOST["ids.test"].server(seed))) for seed in range(4)}) > 1


def test_the_patterns_are_served_each_visit_anew_and_the_settings_name_their_hosts(tmp_path: Path) -> None:
    plan = WebPlan(hosts=1, pages=1, addresses=2, extra_sites=EXTRA_SITES)
    with serving(plan, tmp_path / "web.log") as served:
        settings = served.settings_text()
        assert all(f'"{host}" = "127.0.0.' in settings for host in BY_HOST)
        first, second = (get(served, f"http://session.test:{served.plan.port}/") for _ in range(2))
        moved = get(served, f"http://session-required.test:{served.plan.port}/p/3")
        missing = get(served, f"http://ids.test:{served.plan.port}/item?id=9999")
    assert first.body != second.body
    assert parse_page(first.body).fingerprint == parse_page(second.body).fingerprint
    assert (moved.status, missing.status) == (302, 404)
