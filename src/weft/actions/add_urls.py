"""Adding URLs to crawl, with what is set for their sites: what `weft add` and `weft crawl URL` do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from weft.actions.local_seeds import LocalSeeds, Permission
from weft.actions.seeds import SeedAdder
from weft.config import Settings
from weft.errors import LocalRefused, UsageError, WeftError
from weft.mgmt.api import OperatorCalls
from weft.model.site import NO_SETTINGS
from weft.model.url import UrlRules

SCOPES: Final = ("path", "hosts", "domains", "any")
LISTED: Final = 20
"""Refusals that are told; the others are counted."""


class RefusedUrl(msgspec.Struct, frozen=True):
    number: int
    """Which of the URLs it was, from 1 on."""
    why: str
    """A sentence that names it, without what may be secret in it."""
    is_local: bool = False
    """Whether it is taken once the user says that it may be on this machine or in a private network."""


class AddedUrls(msgspec.Struct, frozen=True, kw_only=True):
    """How many URLs are new, were known and are fetched again, or cannot be crawled."""

    new: int
    known: int
    refused: int
    refusals: list[RefusedUrl]
    """The first ones."""
    sites: list[str]
    """The sites that the others belong to."""


def add_urls(
    mgmt: OperatorCalls,
    settings: Settings,
    urls: Iterable[str],
    scope: str | None = None,
    site_settings: Mapping[str, object] | None = None,
    *,
    is_local: bool = False,
    is_permitted: Permission = lambda host, where: False,
    tell: Callable[[WeftError], None] = lambda refused: None,
) -> AddedUrls:
    """Have URLs fetched now, as people type them, and crawl on from there; those that cannot be are left out.

    `scope` is one of SCOPES, or None: sites keep theirs, and new ones are `hosts`. `site_settings` are set for their
    sites. `is_local`: they may be on this machine or in a private network; else `is_permitted` is asked about each
    host. `tell` is called with each of the first LISTED refusals as it comes. Raises UsageError for arguments that
    make no sense, before anything changes.
    """
    check_addition(scope, site_settings or {})
    local = LocalSeeds(settings.urlserver, is_permitted, is_meant=is_local)
    rules = UrlRules(settings.url.strip, settings.url.max_length)
    adder = SeedAdder(mgmt, rules, scope, local, site_settings)
    refusals: list[RefusedUrl] = []
    for number, url in enumerate(urls, 1):
        refused = adder.add(url)
        if refused is not None and len(refusals) < LISTED:
            refusals.append(RefusedUrl(number, str(refused), isinstance(refused, LocalRefused)))
            tell(refused)
    adder.finish()
    return AddedUrls(
        new=adder.new, known=adder.known, refused=adder.refused, refusals=refusals, sites=sorted(adder.named)
    )


def check_addition(scope: str | None, site_settings: Mapping[str, object]) -> None:
    """Raises UsageError for what cannot be, alone or together."""
    if scope not in (None, *SCOPES):
        raise UsageError(f"scope {scope!r}: expected one of {', '.join(SCOPES)}")
    checked = NO_SETTINGS
    for name, value in site_settings.items():
        checked = checked.with_setting(name, value)
    if scope == "path" and checked.include is not None:
        raise UsageError("scope path sets the patterns to include; leave them out, or choose another scope")
    if scope == "any" and checked.has_credentials:
        raise UsageError("headers would be sent to every site with scope any; choose hosts or domains")
