"""Notices that the settings of sites changed, and queues the domains that must be reconsidered because of it.

c:  said:<site>             two hashes of the site's settings: of those that decide what is crawled, and of those that
                            decide how; under an empty name, of the settings of all sites
    all:<what>              every domain must be reconsidered; the value is the domain to continue with
    look:<what><domain>     this domain must be reconsidered; the value is where to continue

<what> is `l`, hidden links, `r`, references that may never have become links, or `f`, links whose last fetch failed or
led elsewhere.
"""

from __future__ import annotations

from dataclasses import fields
from hashlib import blake2b
from itertools import islice
from typing import Final

import msgspec

from weft.config.sections import DispatcherSettings
from weft.dispatcher.scope import Scope
from weft.linkindex.cells import Cells
from weft.model.domain import reversed_domain
from weft.model.host import domain_of_host
from weft.model.site import ANYWHERE, NO_SETTINGS, Affects, Site, SiteSettings
from weft.store.api import Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

ROW, SEEN, ALL_DOMAINS, ONE_DOMAIN = b"c:", b"said", b"all", b"look"
HIDDEN, REFERENCED, FAILED = b"l", b"r", b"f"
SITES_A_STEP: Final = 1000
"""Changed sites that one step handles."""

_DIGEST: Final = 16
_SETTINGS: Final = ""
_SCHEDULE: Final = ("refresh", "segment", "outstanding", "learn", "rule")
"""Settings whose names begin like this do not decide which links are crawled at all."""


class SiteChanges:
    """Compares the sites with their stored hashes. New hashes and tasks are written in one batch, so a crash loses
    neither."""

    def __init__(self, reader: Reader, settings: DispatcherSettings, fetch_conditions: bytes = b"") -> None:
        self._reader, self._settings = reader, _digest_of_settings(settings) + fetch_conditions
        self._known: dict[str, bytes] | None = None
        self._handled: Scope | None = None

    def cells(self, scope: Scope) -> Cells:
        """The hashes and tasks to write, for some of the sites that changed."""
        if scope is self._handled:
            return {}
        known = self._stored()
        now = {_SETTINGS: self._settings, **{site.name: _digest(site) for site in scope.sites}}
        for_all = {_SETTINGS, ANYWHERE, *(site.name for site in scope.sites if site.scope == "any")}
        changed = list(islice((name for name in now if known.get(name) != now[name]), SITES_A_STEP))
        cells: Cells = {}
        for name in changed:
            # An older weft did not note the conditions of its fetches; of a new site nothing was set.
            unnoted = now[name][_DIGEST:] if name == _SETTINGS else _NOTHING_SET
            cells.update(_tasks(name, for_all, _what_to_look_at(known.get(name, b""), now[name], unnoted)))
            known[name] = now[name]
            cells[key(SEEN, name.encode())] = now[name]
        if len(changed) < SITES_A_STEP:
            self._handled = scope
        return cells

    def _stored(self) -> dict[str, bytes]:
        if self._known is None:
            stored = self._reader.scan(Table.LINKS, ROW, SEEN)
            self._known = {cell.qualifier.decode(): cell.value for cell in stored}
        return self._known


def key(family: bytes, qualifier: bytes) -> bytes:
    return cell_key(Table.LINKS.byte, ROW, family, qualifier)


def _what_to_look_at(before: bytes, now: bytes, unnoted: bytes) -> tuple[bytes, ...]:
    """What the settings that changed had decided."""
    of_scope = (HIDDEN, REFERENCED) if before[:_DIGEST] != now[:_DIGEST] else ()
    return (*of_scope, FAILED) if (before[_DIGEST:] or unnoted) != now[_DIGEST:] else of_scope


def _tasks(name: str, for_all: set[str], whats: tuple[bytes, ...]) -> Cells:
    if name in for_all:
        return {key(ALL_DOMAINS, what): b"" for what in whats}
    domain = reversed_domain(domain_of_host(name)).encode()
    return {key(ONE_DOMAIN, what + domain): b"" for what in whats}


def _digest(site: Site) -> bytes:
    of_scope = [site.scope, site.is_excluded, *site.settings.of(Affects.SCOPE)]
    return _hash(of_scope) + _hash(_fetch_settings(site.settings))


def _fetch_settings(settings: SiteSettings) -> list[object]:
    """What is set to nothing is as good as not set."""
    return [None if value in ("", {}) else value for value in settings.of(Affects.FETCH)]


def _digest_of_settings(settings: DispatcherSettings) -> bytes:
    names = sorted(field.name for field in fields(settings) if not field.name.startswith(_SCHEDULE))
    return _hash([[name, getattr(settings, name)] for name in names])


def _hash(values: object) -> bytes:
    return blake2b(msgspec.json.encode(values), digest_size=_DIGEST).digest()


_NOTHING_SET: Final = _hash(_fetch_settings(NO_SETTINGS))
