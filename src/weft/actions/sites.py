"""Changing what may be crawled and how."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import msgspec

from weft.actions.seed_paths import unbounded
from weft.errors import NotKnown
from weft.mgmt.api import OperatorCalls
from weft.model.host import ANYWHERE
from weft.model.similar import did_you_mean
from weft.model.site import Site


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
    changed = _changed(known.get(name, Site(name=name)), change)
    mgmt.set_sites([changed])
    return changed


def change_sites(mgmt: OperatorCalls, names: Collection[str], settings: Mapping[str, object]) -> None:
    """Change these settings of all these sites."""
    change = SiteChange(settings=settings)
    mgmt.set_sites([_changed(site, change) for site in mgmt.sites() if site.name in names])


def unbound_sites(mgmt: OperatorCalls, names: Collection[str]) -> None:
    """Let these sites be crawled outside the paths that `--scope path` bounded them to."""
    mgmt.set_sites([unbounded(site) for site in mgmt.sites() if site.name in names])


def _changed(site: Site, change: SiteChange) -> Site:
    settings = site.settings
    for key, value in change.settings.items():
        settings = settings.with_setting(key, value)
    return msgspec.structs.replace(
        site,
        scope=change.scope or site.scope,
        is_excluded=site.is_excluded if change.is_excluded is None else change.is_excluded,
        settings=settings,
    )
