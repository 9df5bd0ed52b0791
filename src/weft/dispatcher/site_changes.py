"""Notices that the settings of sites changed, and queues the domains that must be reconsidered because of it.

c:<base>  said:<site>           two hashes of the site's settings: of those that decide what is crawled, and of those
                                that decide how
          look:<what><domain>   this domain must be reconsidered; the value is where to continue
c:00      said:                 the same of the settings of all sites
          all:<what>            every domain must be reconsidered; the value is the domain to continue with

<base> is that of the domain, or of the site's domain. <what> is `l`, hidden links, `r`, references that may never have
become links, or `f`, links whose last fetch failed or led elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher.scope import Scope
from weft.dispatcher.scope_digests import DIGEST, NOTHING_SET, fetch_digest, settings_digest, site_digest
from weft.linkindex.cells import Cells
from weft.linkindex.keys import base_row
from weft.model.domain import reversed_domain
from weft.model.host import ANYWHERE, domain_of_host
from weft.store.api import Cell, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

ROWS, SEEN, ALL_DOMAINS, ONE_DOMAIN = b"c:", b"said", b"all", b"look"
HIDDEN, REFERENCED, FAILED = b"l", b"r", b"f"
SITES_A_STEP: Final = 1000
"""Changed sites that one step handles."""

_FOR_ALL: Final = ROWS + b"00"
_SETTINGS: Final = ""


class SiteChanges:
    """Compares the sites with their stored hashes. New hashes and tasks are written in one batch, so a crash loses
    neither."""

    def __init__(self, reader: Reader, settings: DispatcherSettings, fetch_conditions: bytes = b"") -> None:
        self._reader, self._settings = reader, settings_digest(settings) + fetch_conditions
        self._known: dict[str, bytes] | None = None
        self._handled: Scope | None = None

    def cells(self, scope: Scope) -> Cells:
        """The hashes and tasks to write, for some of the sites that changed."""
        if scope is self._handled:
            return {}
        known, now, for_all = self._stored(), self._now(scope), self.for_all(scope)
        changed = list(islice((name for name in now if known.get(name) != now[name]), SITES_A_STEP))
        cells: Cells = {}
        for name in changed:
            # An older weft did not note the conditions of its fetches; of a new site nothing was set.
            unnoted = now[name][DIGEST:] if name == _SETTINGS else NOTHING_SET
            cells.update(_tasks(name, for_all, _what_to_look_at(known.get(name, b""), now[name], unnoted)))
            known[name] = now[name]
            cells[_key(_row_of_site(name), SEEN, name.encode())] = now[name]
        if len(changed) < SITES_A_STEP:
            self._handled = scope
        return cells

    def of_scope(self, scope: Scope) -> set[str]:
        """The sites, and "" for the settings, by which other links are crawled than the stored hashes say."""
        known, now = self._stored(), self._now(scope)
        return {name for name in now if known.get(name, b"")[:DIGEST] != now[name][:DIGEST]}

    def for_all(self, scope: Scope) -> set[str]:
        """Those whose change concerns every domain."""
        return {_SETTINGS, ANYWHERE, *(site.name for site in scope.sites if site.scope == "any")}

    def _now(self, scope: Scope) -> dict[str, bytes]:
        of_sites = {site.name: site_digest(site) + fetch_digest(site.settings) for site in scope.sites}
        return {_SETTINGS: self._settings, **of_sites}

    def _stored(self) -> dict[str, bytes]:
        if self._known is None:
            self._known = {cell.qualifier.decode(): cell.value for cell in _cells_of_all(self._reader, SEEN)}
        return self._known


class Unsettled(NamedTuple):
    """Whose references the dispatcher has yet to look at, because sites or settings changed since it last ran."""

    is_all: bool
    domains: frozenset[bytes]

    def covers(self, domain: bytes) -> bool:
        return self.is_all or domain in self.domains


def unsettled(reader: Reader, scope: Scope, settings: DispatcherSettings) -> Unsettled:
    """What was noticed and is not done yet, and what the next look at the sites will notice."""
    changes = SiteChanges(reader, settings)
    noticed = {cell.qualifier[1:] for cell in _cells_of_all(reader, ONE_DOMAIN) if cell.qualifier[:1] == REFERENCED}
    is_all = any(cell.qualifier == REFERENCED for cell in tasks_for_all(reader))
    changed = changes.of_scope(scope)
    named = {_domain_of_site(name) for name in changed if name not in (_SETTINGS, ANYWHERE)}
    return Unsettled(is_all or bool(changed & changes.for_all(scope)), frozenset(noticed | named))


def tasks_of_domains(reader: Reader, limit: int) -> list[Cell]:
    """Domains that must be reconsidered."""
    return list(islice(_cells_of_all(reader, ONE_DOMAIN, limit), limit))


def tasks_for_all(reader: Reader) -> list[Cell]:
    """What must be reconsidered in every domain."""
    return list(reader.scan(Table.LINKS, _FOR_ALL, ALL_DOMAINS))


def domain_task_key(what: bytes, domain: bytes) -> bytes:
    return _key(base_row(ROWS, domain), ONE_DOMAIN, what + domain)


def task_for_all_key(what: bytes) -> bytes:
    return _key(_FOR_ALL, ALL_DOMAINS, what)


def _cells_of_all(reader: Reader, family: bytes, limit: int | None = None) -> Iterator[Cell]:
    for row in reader.rows(Table.LINKS, ROWS):
        yield from reader.scan(Table.LINKS, row, family, limit=limit)


def _key(row: bytes, family: bytes, qualifier: bytes) -> bytes:
    return cell_key(Table.LINKS.byte, row, family, qualifier)


def _row_of_site(name: str) -> bytes:
    return _FOR_ALL if name in (_SETTINGS, ANYWHERE) else base_row(ROWS, _domain_of_site(name))


def _domain_of_site(name: str) -> bytes:
    return reversed_domain(domain_of_host(name)).encode()


def _what_to_look_at(before: bytes, now: bytes, unnoted: bytes) -> tuple[bytes, ...]:
    """What the settings that changed had decided."""
    of_scope = (HIDDEN, REFERENCED) if before[:DIGEST] != now[:DIGEST] else ()
    return (*of_scope, FAILED) if (before[DIGEST:] or unnoted) != now[DIGEST:] else of_scope


def _tasks(name: str, for_all: set[str], whats: tuple[bytes, ...]) -> Cells:
    if name in for_all:
        return {task_for_all_key(what): b"" for what in whats}
    domain = _domain_of_site(name)
    return {domain_task_key(what, domain): b"" for what in whats}
