"""Changing what may be crawled and how."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import msgspec

from weft.actions.seed_paths import unbounded
from weft.mgmt.api import OperatorCalls
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


def change_site(mgmt: OperatorCalls, name: str, change: SiteChange) -> Site:
    """Change a site, or make one of this name. Raises UsageError for a setting that cannot be; then nothing changes."""
    site = next((site for site in mgmt.sites() if site.name == name), Site(name=name))
    changed = _changed(site, change)
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
