"""`--scope path`: what a seed's path covers, and how the bound comes and goes."""

from __future__ import annotations

import re

import pytest

from weft.actions.seed_paths import bounded_to, path_pattern, unbounded
from weft.actions.seeds import SeedAdder
from weft.clock import ManualClock
from weft.errors import UsageError
from weft.mgmt.memory import MemoryMgmt
from weft.model.site import Site, SiteSettings
from weft.model.url import UrlRules


@pytest.mark.parametrize(
    ("seed", "inside", "outside"),
    [
        ("https://a.com/docs/", ["/docs/", "/docs/x/y?z", "/docs/?q"], ["/", "/doc", "/docs", "/docsx/", "/x/docs/"]),
        ("https://a.com/docs", ["/docs", "/docs/", "/docs/x", "/docs?q"], ["/", "/docsx", "/docs.html"]),
        ("https://a.com/docs/index.html", ["/docs/", "/docs/b.html"], ["/", "/docs"]),
        ("https://a.com/", ["/", "/x"], []),
        ("https://a.com/a+b/(c)/", ["/a+b/(c)/d"], ["/aab/c/d"]),
    ],
)
def test_a_seed_covers_what_is_at_and_below_its_path(seed: str, inside: list[str], outside: list[str]) -> None:
    pattern = re.compile(path_pattern(seed))
    for scheme in ("http", "https"):
        assert all(pattern.search(f"{scheme}://a.com{path}") for path in inside)
        assert not any(pattern.search(f"{scheme}://a.com{path}") for path in outside)
    assert not pattern.search("https://b.a.com/docs/")
    assert not pattern.search("https://b.com/?https://a.com/docs/")


def added(mgmt: MemoryMgmt, scope: str, *urls: str, settings: dict[str, object] | None = None) -> None:
    adder = SeedAdder(mgmt, UrlRules(), scope, settings=settings)
    for url in urls:
        assert adder.add(url) is None
    adder.finish()


def include_of(mgmt: MemoryMgmt) -> tuple[str, ...] | None:
    (site,) = mgmt.sites()
    return site.settings.include


def test_the_paths_of_several_seeds_add_up_and_another_scope_takes_them_back() -> None:
    mgmt = MemoryMgmt(ManualClock(1_770_000_000_000))
    added(mgmt, "path", "https://a.com/docs/", "https://a.com/blog/")
    added(mgmt, "path", "https://a.com/docs/")
    added(mgmt, "path", "https://a.com/news/")
    assert include_of(mgmt) == tuple(f"^https?://a\\.com/{name}/" for name in ("docs", "blog", "news"))
    added(mgmt, "hosts", "https://a.com/docs/")
    assert include_of(mgmt) is None
    assert [site.scope for site in mgmt.sites()] == ["hosts"]


def test_patterns_that_a_user_wrote_stay_when_the_bound_goes_and_go_when_it_comes() -> None:
    site = Site(
        name="a.com", seeds=["https://a.com/docs/"], settings=SiteSettings(include=("x", "^https?://a\\.com/docs/"))
    )
    assert unbounded(site).settings.include == ("x",)
    assert bounded_to(site, "https://a.com/docs/").settings.include == ("^https?://a\\.com/docs/",)


def test_a_site_has_a_bounded_number_of_paths() -> None:
    mgmt = MemoryMgmt(ManualClock(1_770_000_000_000))
    with pytest.raises(UsageError, match="bounded to 100 paths already"):
        added(mgmt, "path", *(f"https://a.com/{n}/" for n in range(101)))


def test_settings_are_stored_for_the_sites_of_the_seeds_and_later_ones_replace_them() -> None:
    mgmt = MemoryMgmt(ManualClock(1_770_000_000_000))
    added(mgmt, "hosts", "https://other.com/")
    for rate in (5.0, 2.0):
        added(mgmt, "hosts", "https://a.com/", "https://b.com/", settings={"rate": rate, "exclude": ("/x",)})
    found = {site.name: site.settings for site in mgmt.sites()}
    changed = SiteSettings(rate=2.0, exclude=("/x",))
    assert found == {"other.com": SiteSettings(), "a.com": changed, "b.com": changed}
