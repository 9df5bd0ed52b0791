"""Notices that the settings of sites changed, and queues the domains that must be reconsidered because of it.

c:  said:<site>             a hash of the site's settings; under an empty name, of the dispatcher's own settings
    all:<what>              every domain must be reconsidered; the value is the domain to continue with
    look:<what><domain>     this domain must be reconsidered; the value is where to continue

<what> is `l`, hidden links, or `r`, references that may never have become links.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from weft.config.sections import DispatcherSettings
from weft.dispatcher.scope import Scope
from weft.dispatcher.scope_digests import settings_digest, site_digest
from weft.linkindex.cells import Cells
from weft.model.domain import reversed_domain
from weft.model.host import domain_of_host
from weft.model.site import ANYWHERE
from weft.store.api import Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

ROW, SEEN, ALL_DOMAINS, ONE_DOMAIN = b"c:", b"said", b"all", b"look"
HIDDEN, REFERENCED = b"l", b"r"
SITES_A_STEP: Final = 1000
"""Changed sites that one step handles."""

_SETTINGS: Final = ""


class SiteChanges:
    """Compares the sites with their stored hashes. New hashes and tasks are written in one batch, so a crash loses
    neither."""

    def __init__(self, reader: Reader, settings: DispatcherSettings) -> None:
        self._reader, self._settings = reader, settings_digest(settings)
        self._known: dict[str, bytes] | None = None
        self._handled: Scope | None = None

    def cells(self, scope: Scope) -> Cells:
        """The hashes and tasks to write, for some of the sites that changed."""
        if scope is self._handled:
            return {}
        known = self._stored()
        now = {_SETTINGS: self._settings, **{site.name: site_digest(site) for site in scope.sites}}
        for_all = {_SETTINGS, ANYWHERE, *(site.name for site in scope.sites if site.scope == "any")}
        changed = list(islice((name for name in now if known.get(name) != now[name]), SITES_A_STEP))
        cells: Cells = {}
        for name in changed:
            known[name] = now[name]
            cells[key(SEEN, name.encode())] = now[name]
            cells.update(_tasks(name, for_all))
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


def _tasks(name: str, for_all: set[str]) -> Cells:
    if name in for_all:
        return {key(ALL_DOMAINS, what): b"" for what in (HIDDEN, REFERENCED)}
    domain = reversed_domain(domain_of_host(name)).encode()
    return {key(ONE_DOMAIN, what + domain): b"" for what in (HIDDEN, REFERENCED)}
