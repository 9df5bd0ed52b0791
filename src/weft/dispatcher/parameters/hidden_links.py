"""Links that are hidden because another is fetched in their place, and reconsidered when their rule is dropped."""

from __future__ import annotations

from itertools import islice
from typing import Final, NamedTuple, Protocol

import msgspec

from weft.dispatcher.domain_work import domains
from weft.dispatcher.link_records import DOMAIN_ROW, LINK, LinkPhase, LinkRecord, decode_record
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.parameters import evidence_cells
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.dispatcher.parameters.reduction import Reduced, user_rules
from weft.dispatcher.scope import Scope
from weft.linkindex.cells import Cells
from weft.model.domain import reversed_domain
from weft.model.host import ANYWHERE, domain_of_host
from weft.model.refusal import RefusalKind
from weft.model.site import Site
from weft.model.url import PageUrl, identity_of
from weft.store.api import Reader
from weft.store.tables import Table

LOOKED_AT: Final = 2000
"""Links that one step reconsiders."""
_SWEEPS: Final = 16


REFUSED_BY_THE_WAY: Final = frozenset({RefusalKind.DEPTH, RefusalKind.REDIRECTS})
"""Refusals of the way that led to a link: a shorter one may open it."""


class Way(Protocol):
    """How a link was reached: a record or a link that was found."""

    @property
    def depth(self) -> int: ...
    @property
    def redirects(self) -> int: ...
    @property
    def source(self) -> str: ...


class Swept(NamedTuple):
    cells: Cells
    looked_at: int
    reopened: int


def stand_in(rules: ParameterRound, scope: Scope, domain: bytes, page: PageUrl, depth: int) -> Reduced | None:
    """The page to fetch in place of a link in scope; None if there is none or it may not be crawled itself."""
    if "?" not in page.uri:
        return None
    reduced = rules.reduce(domain, page, user_rules(scope.site_of(page)))
    return None if reduced is None or scope.judge(reduced.page, depth).refusal else reduced


def hidden(record: LinkRecord, reduced: Reduced) -> LinkRecord:
    return record.hide(reduced.refusal, canonical=str(reduced.page.uri))


def make_known(links: LinkRound, domain: bytes, reduced: Reduced, like: LinkRecord) -> None:
    """Make the page known that is fetched in place of a link, as near as the link was."""
    place = domain, reduced.page.uri.encode()
    known = links.read([place])[0]
    if known is None:
        about = {name: getattr(like, name) for name in ("discovered", "depth", "redirects", "source", "references")}
        links.put(*place, LinkRecord(url=reduced.page.url, **about))
    else:
        come_closer(links, place, known, like)


def postpone(links: LinkRound, domain: bytes, reduced: Reduced, fetched: LinkRecord) -> None:
    """This page was just fetched under another URL: the one that stands for it is first fetched when that one is due.

    It takes its place then: a URL with a session in it does not stay good for ever.
    """
    place = domain, reduced.page.uri.encode()
    make_known(links, domain, reduced, fetched)
    known = links.read([place])[0]
    if known is not None and known.phase is LinkPhase.NEW:
        links.put(*place, msgspec.structs.replace(known, phase=LinkPhase.DUE, due=fetched.due, wanted=fetched.wanted))


def come_closer(links: LinkRound, place: tuple[bytes, bytes], record: LinkRecord, way: Way) -> None:
    """Move a waiting link forward if a shorter way to it was found; a straighter one opens a chain of redirects."""
    if record.phase not in (LinkPhase.NEW, LinkPhase.HIDDEN):
        return
    refused_as = record.refused_as
    is_straighter = refused_as is RefusalKind.REDIRECTS and way.redirects < record.redirects
    if way.depth < record.depth or is_straighter:
        closer = msgspec.structs.replace(record, depth=way.depth, redirects=way.redirects, source=way.source)
        is_opened = refused_as in REFUSED_BY_THE_WAY
        links.put(*place, msgspec.structs.replace(closer, phase=LinkPhase.NEW, reason="") if is_opened else closer)


def sweep(reader: Reader, links: LinkRound, rules: ParameterRound, scope: Scope, now: int) -> Swept:
    """Reconsider some links after rules changed; the cells say how far that got.

    Hidden ones whose rule was dropped are opened again, and what stands for a page that was fetched can wait.
    """
    cells: Cells = {}
    room, reopened = LOOKED_AT, 0
    for task in islice(evidence_cells.task_cells(reader, evidence_cells.SWEEP, _SWEEPS), _SWEEPS):
        domain, prefix = evidence_cells.split_sweep(task.qualifier)
        start = task.value or None
        found = list(reader.scan(Table.LINKS, DOMAIN_ROW + domain, LINK, prefix=prefix, start=start, limit=room + 1))
        is_done = len(found) <= room
        for cell in found[:room]:
            record = decode_record(cell.value)
            if record.phase is LinkPhase.HIDDEN and record.refused_as is RefusalKind.PARAMETERS:
                reopened += _look_again(links, rules, scope, domain, cell.qualifier, now)
            elif record.phase is LinkPhase.DUE and record.is_page:
                _postpone_stand_in(links, rules, scope, domain, record)
        cells[evidence_cells.key_of(evidence_cells.sweep_column(domain, prefix))] = (
            None if is_done else found[room].qualifier
        )
        room -= min(room, len(found))
        if not room:
            break
    return Swept(cells, LOOKED_AT - room, reopened)


def _look_again(links: LinkRound, rules: ParameterRound, scope: Scope, domain: bytes, uri: bytes, now: int) -> int:
    record = links.read([(domain, uri)])[0]
    if record is None:
        return 0
    reduced = stand_in(rules, scope, domain, identity_of(record.url), record.depth)
    if reduced is None:
        links.put(domain, uri, record.reopen(now))
        return 1
    if reduced.page.uri != record.canonical or reduced.refusal.text != record.reason:
        links.put(domain, uri, hidden(record, reduced))
        make_known(links, domain, reduced, record)
    return 0


def _postpone_stand_in(
    links: LinkRound, rules: ParameterRound, scope: Scope, domain: bytes, record: LinkRecord
) -> None:
    reduced = stand_in(rules, scope, domain, identity_of(record.url), record.depth)
    if reduced is not None:
        postpone(links, domain, reduced, record)


class UserRuleChanges:
    """Notices changes of the sites' parameter settings, and queues the hidden links of those sites."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[str, bytes] | None = None

    def changes(self, scope: Scope) -> Cells:
        now = {site.name: _encoded(site) for site in scope.sites if _encoded(site)}
        if self._known is None:
            stored = evidence_cells.task_cells(self._reader, evidence_cells.USER_RULES)
            self._known = {cell.qualifier.decode(): cell.value for cell in stored}
        changed = {name for name in now.keys() | self._known.keys() if now.get(name) != self._known.get(name)}
        cells: Cells = {
            evidence_cells.key_of(evidence_cells.user_rules_column(name)): now.get(name) for name in changed
        }
        for name in changed:
            for domain in self._domains_of(name):
                cells[evidence_cells.key_of(evidence_cells.sweep_column(domain, b""))] = b""
        self._known = now
        return cells

    def forget(self) -> None:
        """A round was not written."""
        self._known = None

    def _domains_of(self, name: str) -> list[bytes]:
        if name == ANYWHERE:
            return list(domains(self._reader))
        return [reversed_domain(domain_of_host(name)).encode()]


def _encoded(site: Site) -> bytes:
    rules = user_rules(site)
    return msgspec.msgpack.encode(rules) if rules.keep or rules.drop else b""
