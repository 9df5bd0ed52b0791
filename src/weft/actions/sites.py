"""Changing what may be crawled and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from weft.errors import NotKnown, UsageError
from weft.mgmt.api import OperatorCalls
from weft.model.host import ANYWHERE, web_host_of
from weft.model.similar import did_you_mean
from weft.model.site import Site
from weft.model.url import UrlRefused, UrlRules

_MOST_PATTERNS: Final = 100
"""Patterns of one site: every URL is compared with all of them."""


@dataclass(frozen=True, slots=True)
class SiteChange:
    """What becomes different about a site; None leaves a part as it is."""

    scope: str | None = None
    is_excluded: bool | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    """Values by name; None takes a setting back."""

    def __bool__(self) -> bool:
        return self != SiteChange()


def change_site(mgmt: OperatorCalls, name: str, change: SiteChange, *, is_new: bool = False) -> Site:
    """Change a site; with `is_new`, make one if there is none of this name. `*`, for any site, is always there.

    Raises NotKnown if there is none, UsageError for a setting that cannot be; then nothing changes.
    """
    known = {site.name: site for site in mgmt.sites()}
    if name not in known and not is_new and name != ANYWHERE:
        raise NotKnown(f"{name} is not a site{did_you_mean(name, known)}; add --new to make it one")
    site = changed(known.get(name) or Site(name=_checked_name(name)), change)
    mgmt.set_sites([site])
    return site


def exclude(mgmt: OperatorCalls, name: str, pattern: str | None = None, *, is_new: bool = False) -> Site:
    """Crawl no more of a site, or of its URLs that match a pattern; raises as `change_site` does.

    What is pending already is still fetched. With `is_new`, one is made: a host of a domain that is crawled, say.
    """
    if pattern is None:
        return change_site(mgmt, name, SiteChange(is_excluded=True), is_new=is_new)
    patterns = dict.fromkeys((*_excluded_patterns(mgmt, name), pattern))
    if len(patterns) > _MOST_PATTERNS:
        raise UsageError(f"{name} has {_MOST_PATTERNS} patterns already; join some with |, or include some again")
    return change_site(mgmt, name, SiteChange(settings={"exclude": list(patterns)}), is_new=is_new)


def include(mgmt: OperatorCalls, name: str, pattern: str | None = None) -> Site:
    """Crawl a site again that was excluded, or its URLs that match a pattern. Raises NotKnown."""
    if pattern is None:
        return change_site(mgmt, name, SiteChange(is_excluded=False))
    patterns = _excluded_patterns(mgmt, name)
    if pattern not in patterns:
        raise NotKnown(f"{name} does not exclude {pattern!r}; `weft sites {name}` lists its patterns")
    left = [each for each in patterns if each != pattern]
    return change_site(mgmt, name, SiteChange(settings={"exclude": left or None}))


def _excluded_patterns(mgmt: OperatorCalls, name: str) -> tuple[str, ...]:
    return next((site.settings.exclude or () for site in mgmt.sites() if site.name == name), ())


def _checked_name(name: str) -> str:
    """The name of a new site."""
    try:
        is_name = name == ANYWHERE or web_host_of(UrlRules().identify(f"https://{name}/").url) == name
    except UrlRefused:
        is_name = False
    if not is_name:
        raise UsageError(f"{name!r} is no name of a site; expected a host or domain such as www.example.com, or *")
    return name


def changed(site: Site, change: SiteChange) -> Site:
    """The site as it is after the change; raises UsageError for a setting that cannot be."""
    settings = site.settings
    for key, value in change.settings.items():
        settings = settings.with_setting(key, value)
    return msgspec.structs.replace(
        site,
        scope=change.scope or site.scope,
        is_excluded=site.is_excluded if change.is_excluded is None else change.is_excluded,
        settings=settings,
    )
