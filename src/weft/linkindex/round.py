"""One round of an owner: pages and messages in, a plan and messages out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from weft.linkindex import keys
from weft.linkindex.cells import Cells
from weft.linkindex.feed import FeedChanges
from weft.linkindex.index_state import IndexState
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.observers import (
    NOTHING_BEFORE,
    PageDifference,
    SortedPages,
    add_docs,
    combine_domains,
    combine_uris,
    newest,
    observe_domains,
    observe_totals,
    observe_uris,
    page_difference,
    sort_out,
)
from weft.linkindex.page_changes import page_changes
from weft.linkindex.records import DomainInfo, UriInfo, Version, compress_doc, encode_since
from weft.linkindex.updates import LinkChange, Updates


@dataclass(slots=True)
class RoundPlan:
    """What a round decided; nothing has happened yet."""

    cells: Cells = field(default_factory=dict)
    """The observers' own cells and the docs; the rest follows from `updates`."""
    updates: Updates = field(default_factory=Updates)
    outgoing: list[LinkChange] = field(default_factory=list)
    """References to uris of other owners."""
    pages: SortedPages = field(default_factory=SortedPages)
    feed: FeedChanges = field(default_factory=FeedChanges)
    """Whose search documents change."""

    @property
    def uris(self) -> dict[bytes, UriInfo]:
        return {uri: after for uri, _, _, after in self.updates.uris}

    @property
    def domains(self) -> dict[bytes, DomainInfo]:
        return {domain: after for domain, _, after in self.updates.domains}


@dataclass(frozen=True, slots=True)
class CountingRules:
    """How an owner counts, and what is its own."""

    external_only: bool = False
    """Whether references inside one domain are left out."""
    owns: Callable[[bytes], bool] | None = None
    """Whether a domain is this owner's; None: everything is."""
    keeps_history: bool = True
    """Whether changes of pages are told."""


def plan_round(
    state: IndexState,
    pages: Iterable[LoadedPage],
    messages: Sequence[LinkChange] = (),
    rules: CountingRules | None = None,
) -> RoundPlan:
    """Decide what `pages` (this owner's) and `messages` (to this owner, in order) do to the index."""
    rules = rules or CountingRules()
    plan = RoundPlan()
    given = sorted(pages, key=lambda page: page.uri)
    known = state.versions(list(dict.fromkeys(page.uri for page in given)))
    best, moved = newest(given, known)
    plan.pages = sort_out(best, known)
    changes, docs = _observe_pages(plan, state, known, rules)
    for uri, version in moved.items():
        plan.cells[keys.page_version(uri)] = version.encode()
    own = [*messages, *changes]
    # Cells are then made nearly in the order of their keys, which halves the cost of writing them.
    own.sort(key=itemgetter(0))
    deltas = combine_uris(own)
    for uri, domain, step in docs:
        add_docs(deltas, uri, domain, step)
    plan.updates.links = own
    content = {uri for uri, _ in plan.feed.content}
    plan.feed.references = [(uri, delta.domain) for uri, delta in deltas.items() if uri not in content]
    plan.updates.uris = observe_uris(deltas, state.uris({uri: delta.domain for uri, delta in deltas.items()}))
    of_domains = combine_domains(plan.updates.uris)
    plan.updates.domains = observe_domains(of_domains, state.domains(list(of_domains)))
    _add_infos(plan)
    for base, totals in observe_totals(plan.updates.domains, state.totals() if of_domains else {}).items():
        plan.cells[keys.totals(base)] = totals.encode() if totals.domains else None
    return plan


def _observe_pages(
    plan: RoundPlan, state: IndexState, known: Mapping[bytes, Version], rules: CountingRules
) -> tuple[list[LinkChange], list[tuple[bytes, bytes, int]]]:
    """Put the pages' own cells into the plan; return changes of own references, and content that came or went."""
    own: list[LinkChange] = []
    docs: list[tuple[bytes, bytes, int]] = []
    befores = state.befores([page.uri for page in plan.pages.changed if page.uri in known])
    docs_before = state.docs(list(befores))
    for page in plan.pages.unchanged:
        plan.cells[_version_key(page)] = page.version.encode()
        if page.is_gone:
            # All deletions have one content, and a file may be where a redirect was.
            plan.cells[keys.doc(page.uri)] = compress_doc(page.doc) if page.doc else None
            if page.uri not in known:
                plan.feed.content.append((page.uri, page.domain))
    for page in plan.pages.changed:
        before = befores.get(page.uri)
        found = page_difference(page, before or NOTHING_BEFORE)
        _add_page(plan, page, found, is_known=page.uri in known)
        own += _route(plan, page, found.changes, rules)
        doc_before = docs_before.get(page.uri, b"")
        if before is None or page.is_gone or page.doc != doc_before:
            plan.feed.content.append((page.uri, page.domain))
            plan.cells[keys.doc_changed(page.uri)] = None if page.is_gone else b"%d" % page.version.fetched
        if rules.keeps_history:
            plan.updates.page_changes += page_changes(page, before, doc_before)
        if (before is not None) == page.is_gone:
            docs.append((page.uri, page.domain, -1 if page.is_gone else 1))
    return own, docs


def _route(plan: RoundPlan, page: LoadedPage, changes: list[LinkChange], rules: CountingRules) -> list[LinkChange]:
    """The changes that count and are this owner's; those of other owners go into the plan's messages."""
    if rules.external_only:
        changes = [change for change in changes if change[1] != page.domain]
    if rules.owns is None:
        return changes
    plan.outgoing += [change for change in changes if not rules.owns(change[1])]
    return [change for change in changes if rules.owns(change[1])]


def _add_page(plan: RoundPlan, page: LoadedPage, found: PageDifference, *, is_known: bool) -> None:
    cells: Cells = {
        keys.page_version(page.uri): None if page.is_gone else page.version.encode(),
        keys.page_gone(page.uri): page.version.encode() if page.is_gone else None,
        keys.page_cur(page.uri): page.cur or None,
        keys.page_since(page.uri): None if page.is_gone else encode_since(found.since),
        keys.doc(page.uri): compress_doc(page.doc) if page.doc else None,
    }
    # Of a page that was never known there is nothing to delete, and a delete costs as much as a put.
    plan.cells.update(cells if is_known else {key: value for key, value in cells.items() if value is not None})
    plan.updates.pages.append((page.uri, page.domain, page.cur))


def _version_key(page: LoadedPage) -> bytes:
    return keys.page_gone(page.uri) if page.is_gone else keys.page_version(page.uri)


def _add_infos(plan: RoundPlan) -> None:
    for uri, domain, _, after in plan.updates.uris:
        # encode(), written out: there is one for nearly every link.
        plan.cells[keys.uri_info(domain, uri)] = b"%d %d %d" % after if after[0] or after[2] else None
    for domain, _, total in plan.updates.domains:
        plan.cells[keys.domain_info(domain)] = total.encode() if total.pages else None
