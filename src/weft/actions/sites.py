"""Changing what may be crawled and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from weft.errors import NotKnown
from weft.mgmt.api import OperatorCalls
from weft.model.similar import did_you_mean
from weft.model.site import ANYWHERE, Site


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
    site = known.get(name, Site(name=name))
    settings = site.settings
    for key, value in change.settings.items():
        settings = settings.with_setting(key, value)
    changed = msgspec.structs.replace(
        site,
        scope=change.scope or site.scope,
        is_excluded=site.is_excluded if change.is_excluded is None else change.is_excluded,
        settings=settings,
    )
    mgmt.set_sites([changed])
    return changed
