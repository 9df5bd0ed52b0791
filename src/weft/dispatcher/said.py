"""What the user had said about sites when it was last looked at, and what there is to look at since.

c:  said:<site>             a hash of what was said; of no site: of the settings
    all:<what>              every domain is to be looked at; the one to go on with
    look:<what><domain>     a domain is to be looked at; where to go on

<what> is `l`, links that are hidden, or `r`, references that may never have become links.
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
from weft.model.site import ANYWHERE, Affects, Site
from weft.store.api import Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

ROW, SAID, ALL, LOOK = b"c:", b"said", b"all", b"look"
HIDDEN, REFERENCED = b"l", b"r"
SITES_A_STEP: Final = 1000
"""Sites that changed, of which one step takes note."""

_SETTINGS: Final = ""
_SCHEDULE: Final = ("refresh", "segment", "outstanding", "learn", "rule")
"""How the names of settings begin that do not say which links are crawled at all."""


class Said:
    """Notices that something else is said, once, and makes tasks of it. Kills cost nothing: notes and tasks are one
    batch."""

    def __init__(self, reader: Reader, settings: DispatcherSettings) -> None:
        self._reader, self._settings = reader, _digest_of_settings(settings)
        self._known: dict[str, bytes] | None = None
        self._heard: Scope | None = None

    def changes(self, scope: Scope) -> Cells:
        """The notes and tasks to write, for some of the sites that changed."""
        if scope is self._heard:
            return {}
        known = self._noted()
        now = {_SETTINGS: self._settings, **{site.name: _digest(site) for site in scope.sites}}
        for_all = {_SETTINGS, ANYWHERE, *(site.name for site in scope.sites if site.scope == "any")}
        changed = list(islice((name for name in now if known.get(name) != now[name]), SITES_A_STEP))
        cells: Cells = {}
        for name in changed:
            known[name] = now[name]
            cells[key(SAID, name.encode())] = now[name]
            cells.update(_tasks(name, for_all))
        if len(changed) < SITES_A_STEP:
            self._heard = scope
        return cells

    def _noted(self) -> dict[str, bytes]:
        if self._known is None:
            stored = self._reader.scan(Table.LINKS, ROW, SAID)
            self._known = {cell.qualifier.decode(): cell.value for cell in stored}
        return self._known


def key(family: bytes, qualifier: bytes) -> bytes:
    return cell_key(Table.LINKS.byte, ROW, family, qualifier)


def _tasks(name: str, for_all: set[str]) -> Cells:
    if name in for_all:
        return {key(ALL, what): b"" for what in (HIDDEN, REFERENCED)}
    domain = reversed_domain(domain_of_host(name)).encode()
    return {key(LOOK, what + domain): b"" for what in (HIDDEN, REFERENCED)}


def _digest(site: Site) -> bytes:
    heard = [site.scope, site.is_excluded, *site.settings.of(Affects.SCOPE)]
    return blake2b(msgspec.json.encode(heard), digest_size=16).digest()


def _digest_of_settings(settings: DispatcherSettings) -> bytes:
    names = sorted(field.name for field in fields(settings) if not field.name.startswith(_SCHEDULE))
    return blake2b(msgspec.json.encode([[name, getattr(settings, name)] for name in names]), digest_size=16).digest()
