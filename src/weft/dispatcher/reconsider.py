"""Reconsiders links that were left out because of the settings of their site, once those have changed.

A step reads a bounded number of records and references, and writes how far it got together with what it changed. Links
that wait and are no longer wanted are not searched for: they are hidden when their turn comes.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher import site_changes
from weft.dispatcher.budgets import Budgets
from weft.dispatcher.discovery import DiscoveredLink, Discovery, refusal_of
from weft.dispatcher.domain_work import work_column
from weft.dispatcher.fetch_results import rescheduled
from weft.dispatcher.link_records import DOMAIN_ROW, LINK, LinkPhase, LinkRecord, decode_record
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.dispatcher.unknown_references import UnknownReferences
from weft.linkindex import keys
from weft.linkindex.cells import Cells
from weft.linkindex.records import decode_page
from weft.model.domain import plain_domain, reversed_domain
from weft.model.refusal import RECONSIDERED, Refusal, type_in_header
from weft.model.url import Uri, domain_of, identity_of, url_of
from weft.store.api import Column, Reader
from weft.store.tables import Table

LOOKED_AT: Final = 2000
"""Records and references that one step reads."""
TASKS: Final = 64
"""Domains that one step reconsiders, if they are small."""
PAGES: Final = 200
"""Pages of which one step sees whether they are to be looked at again."""
_DOMAINS: Final = 500
"""Domains that one step only compares with the names of the sites."""
_EVERY_DOMAIN: Final = {
    site_changes.HIDDEN: (Table.LINKS, work_column(b"")),
    site_changes.FAILED: (Table.LINKS, work_column(b"")),
    site_changes.REFERENCED: (Table.QUERY, Column(b"d:", keys.DOMAIN, keys.PAGECOUNT)),
}
"""The cell that each domain has one of; its row begins with that of the column."""


class Reconsidered(NamedTuple):
    cells: Cells
    """How far it got."""
    looked_at: int
    """Links, references and domains."""


class Reconsideration:
    """One step of it; changes records in the step's round."""

    def __init__(
        self, reader: Reader, links: LinkRound, scope: Scope, budgets: Budgets, settings: DispatcherSettings, now: int
    ) -> None:
        self._reader, self._links, self._scope, self._budgets = reader, links, scope, budgets
        self._settings, self._now = settings, now
        self._room, self._looked_at = LOOKED_AT, 0
        self._found: list[DiscoveredLink] = []
        self._cells: Cells = {}

    def run(self) -> Reconsidered:
        looks = {
            site_changes.HIDDEN: self._look_at_links,
            site_changes.FAILED: self._look_at_failures,
            site_changes.REFERENCED: self._look_at_references,
        }
        tasks = site_changes.tasks_of_domains(self._reader, TASKS)
        for task in tasks:
            if self._room <= 0:
                break
            what, domain = task.qualifier[:1], task.qualifier[1:]
            rest = looks[what](domain, task.value or None)
            self._cells[site_changes.domain_task_key(what, domain)] = rest
            self._looked_at += 1
        if len(tasks) < TASKS:
            self._find_domains()
        if self._scope.anywhere is not None:
            self._look_at_pages()
        if self._found:
            Discovery(self._settings, remembered=0).offer(self._links, self._scope, self._found, self._now)
        return Reconsidered(self._cells, self._looked_at)

    def _find_domains(self) -> None:
        """Queue some of the domains, if all must be reconsidered."""
        for task in site_changes.tasks_for_all(self._reader)[:1]:
            table, column = _EVERY_DOMAIN[task.qualifier]
            cells = self._reader.column(table, *column, start=column.row + task.value)
            found = [cell.row[len(column.row) :] for cell in islice(cells, _DOMAINS + 1)]
            wanted = (domain for domain in found[:_DOMAINS] if self._scope.concerns(plain_domain(domain.decode())))
            some = list(islice(wanted, TASKS + 1))
            self._cells |= {site_changes.domain_task_key(task.qualifier, domain): b"" for domain in some[:TASKS]}
            rest = some[TASKS:] or found[_DOMAINS:]
            self._cells[site_changes.task_for_all_key(task.qualifier)] = rest[0] if rest else None
            self._looked_at += 1

    def _look_at_pages(self) -> None:
        """Find the links of pages that name domains which may be tried now."""
        for page in self._links.domain_limit.pages_to_look_at(self._settings.max_domains, PAGES):
            domain = reversed_domain(domain_of(Uri(page.decode()))).encode()
            record = self._links.read([(domain, page)])[0]
            cell = self._reader.get(Table.QUERY, [Column(b"p:" + page, keys.PAGE, keys.CUR)])[0]
            outlinks = decode_page(cell.value).outlinks if cell and record else []
            followed = [identity_of(link.url) for link in outlinks if "nofollow" not in link.rel]
            for target in followed:
                name = reversed_domain(target.domain).encode()
                depth = record.depth + 1 if record else 0
                self._found.append(DiscoveredLink(name, target.uri.encode(), target.url, depth, page.decode()))
            self._count(1 + len(followed))
            if self._room <= 0:
                break

    def _look_at_links(self, domain: bytes, start: bytes | None) -> bytes | None:
        """Reconsider hidden links of a domain; returns the uri to continue with."""
        found, rest = self._some_records(domain, start)
        for uri, record in found:
            if record.phase is LinkPhase.HIDDEN and record.refused_as in RECONSIDERED:
                self._judge(domain, uri)
            if record.location:
                self._follow(record, uri)
            self._reschedule(domain, uri, record)
        return rest

    def _look_at_failures(self, domain: bytes, start: bytes | None) -> bytes | None:
        """Have links fetched again that failed, or led elsewhere, under settings that hold no more."""
        found, rest = self._some_records(domain, start)
        for uri, _ in found:
            record = self._links.read([(domain, uri)])[0]
            if record is not None and record.phase is LinkPhase.DUE and (record.error or record.location):
                self._links.put(domain, uri, record.at_once(self._now))
        return rest

    def _some_records(self, domain: bytes, start: bytes | None) -> tuple[list[tuple[bytes, LinkRecord]], bytes | None]:
        """The next records of a domain, and the uri to continue with."""
        room = self._room
        found = list(self._reader.scan(Table.LINKS, DOMAIN_ROW + domain, LINK, start=start, limit=room + 1))
        self._count(min(room, len(found)))
        rest = found[room].qualifier if len(found) > room else None
        return [(cell.qualifier, decode_record(cell.value)) for cell in found[:room]], rest

    def _judge(self, domain: bytes, uri: bytes) -> None:
        record = self._links.read([(domain, uri)])[0]
        if record is None or record.phase is not LinkPhase.HIDDEN:
            return
        link = DiscoveredLink(domain, uri, record.url, record.depth, record.source, redirects=record.redirects)
        refusal = refusal_of(self._scope, link, self._now, self._settings)
        refusal = refusal or self._type_refusal(record) or self._budget_refusal(link, record)
        if refusal is None:
            self._links.put(domain, uri, record.reopen(self._now))
        elif refusal.text != record.reason:
            self._links.put(domain, uri, record.hide(refusal))

    def _type_refusal(self, record: LinkRecord) -> Refusal | None:
        """A file that was left out by its response is asked for again only if its type is wanted now."""
        left_out = type_in_header(record.reason)
        if left_out is None or self._scope.wants_type(record.url, left_out):
            return None
        return Refusal.read(record.reason)

    def _reschedule(self, domain: bytes, uri: bytes, record: LinkRecord) -> None:
        recrawl = self._scope.recrawl_of(record.url)
        if recrawl is None or rescheduled(record, recrawl) == record:
            return
        now = self._links.read([(domain, uri)])[0]
        if now is not None:
            self._links.put(domain, uri, rescheduled(now, recrawl))

    def _budget_refusal(self, link: DiscoveredLink, record: LinkRecord) -> Refusal | None:
        site = self._scope.site_of(link.page)
        return None if record.fetched or site is None else self._budgets.exhausted(site)

    def _follow(self, record: LinkRecord, uri: bytes) -> None:
        """No page may refer to the target of a redirect, which may have been out of scope."""
        target = Uri(record.location)
        scheme = record.url.partition(":")[0]
        domain = reversed_domain(domain_of(target)).encode()
        url, redirects = url_of(target, scheme), record.redirects + 1
        link = DiscoveredLink(domain, target.encode(), url, record.depth, uri.decode(), redirects=redirects)
        if self._scope.site_of(link.page) is not None:
            self._found.append(link)

    def _look_at_references(self, domain: bytes, start: bytes | None) -> bytes | None:
        """Find uris of a domain that pages refer to, the most referenced first; returns where to continue."""
        known = UnknownReferences(self._reader, self._links, domain)
        looked, rest = known.some(start, self._room, lambda uri: self._is_wanted(domain, uri))
        self._found += looked.found
        self._count(looked.cost)
        return rest

    def _is_wanted(self, domain: bytes, uri: bytes) -> bool:
        link = DiscoveredLink(domain, uri, url_of(Uri(uri.decode())), 0, "")
        return self._scope.site_of(link.page) is not None

    def _count(self, looked_at: int) -> None:
        self._room -= looked_at
        self._looked_at += looked_at
