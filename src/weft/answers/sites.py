"""The sites that people named, with their settings, without secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from weft.answers.paging import page as paged
from weft.model.site import Site


class SiteItem(msgspec.Struct, frozen=True, kw_only=True):
    """A site that may be crawled, or that is excluded."""

    name: str
    """A host, a domain, or * for any site."""
    scope: str
    """hosts, domains or any: what belongs to it."""
    is_excluded: bool
    seeds: list[str]
    settings: dict[str, Any]
    """What is set; the values of secrets are hidden."""
    led_from: str
    """The seed whose redirects led to it; empty: somebody named it."""


class SiteListing(msgspec.Struct, frozen=True, kw_only=True):
    count: int
    total: int
    """Of all pages of this listing."""
    items: list[SiteItem]
    next: str | None
    prev: str | None


def site_item(site: Site) -> SiteItem:
    return SiteItem(
        name=site.name,
        scope=site.scope,
        is_excluded=site.is_excluded,
        seeds=site.seeds,
        settings=site.settings.shown(),
        led_from=site.led_from,
    )


def list_sites(sites: Sequence[Site], containing: str, limit: int, cursor: str | None) -> SiteListing:
    """Sites by name, those whose name contains this; raises UsageError for a cursor of another listing."""
    wanted = containing.lower()
    found = sorted((site for site in sites if wanted in site.name), key=_key)

    def scan(start: bytes | None, *, reverse: bool) -> Iterator[Site]:
        for site in reversed(found) if reverse else found:
            if start is None or (_key(site) <= start if reverse else _key(site) >= start):
                yield site

    chosen = paged(f"sites {wanted}", scan, _key, limit, cursor)
    items = list(map(site_item, chosen.items))
    return SiteListing(count=len(items), total=len(found), items=items, next=chosen.next, prev=chosen.prev)


def _key(site: Site) -> bytes:
    return site.name.encode()
