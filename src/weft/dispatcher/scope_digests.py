"""Hashes of what decides which links are crawled, and how, by which a change of it is noticed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from hashlib import blake2b
from typing import Final

import msgspec

from weft.config.sections import DispatcherSettings
from weft.model.site import NO_SETTINGS, Affects, Site, SiteSettings

DIGEST: Final = 16
"""Bytes of each."""

_SCHEDULE: Final = ("refresh", "retry", "segment", "outstanding", "learn", "rule")
"""Settings whose names begin like this do not decide which links are crawled at all."""


def site_digest(site: Site) -> bytes:
    """Of what decides which of its links are crawled, and when they are crawled again."""
    relevant = [site.scope, site.is_excluded, *site.settings.of(Affects.SCOPE), *site.settings.of(Affects.SCHEDULE)]
    return _hash(relevant)


def fetch_digest(settings: SiteSettings) -> bytes:
    """Of what decides how its pages are fetched. What is set to nothing is as good as not set."""
    return _hash([None if value in ("", {}) else value for value in settings.of(Affects.FETCH)])


def settings_digest(settings: DispatcherSettings) -> bytes:
    names = sorted(field.name for field in fields(settings) if not field.name.startswith(_SCHEDULE))
    return _hash([[name, getattr(settings, name)] for name in names])


def scope_digest(sites: Iterable[Site], settings: DispatcherSettings) -> int:
    """Of all sites and the settings together; never 0."""
    hashed = blake2b(settings_digest(settings), digest_size=7)
    for site in sorted(sites, key=lambda site: site.name):
        hashed.update(site.name.encode() + b"\0" + site_digest(site))
    return int.from_bytes(hashed.digest()) + 1


def _hash(values: object) -> bytes:
    return blake2b(msgspec.json.encode(values), digest_size=DIGEST).digest()


NOTHING_SET: Final = fetch_digest(NO_SETTINGS)
