"""The questions: which pages are referenced most, by whom, with what words, and what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self, TypeVar

import msgspec

from weft.answers.anchors import AnchorListing, anchor_items, first_anchors
from weft.answers.budget import Budget
from weft.answers.changes_after import ChangesAfter, changes_after
from weft.answers.domain_overview import DomainAnswer, domain_overview, no_pages
from weft.answers.history import (
    KINDS,
    BatchReader,
    HistoryRange,
    domain_history,
    page_history,
    whole_history,
    with_urls,
)
from weft.answers.near import fold as folded_items
from weft.answers.objects import (
    Baseline,
    ChangeItem,
    ChangeListing,
    DomainItem,
    DomainListing,
    Listing,
    PageAnswer,
    PageListing,
    TopItem,
    TotalsAnswer,
    moment,
)
from weft.answers.page_answer import page_answer
from weft.answers.page_text import PageText, page_text
from weft.answers.paging import Page
from weft.answers.paging import page as paged
from weft.answers.reference_history import HistorySeries, reference_history
from weft.answers.references import inlinks, outlinks
from weft.answers.view import View
from weft.dispatcher.link_records import LinkRecord, decode_record, link_column
from weft.errors import NotKnown, UsageError
from weft.linkindex import keys
from weft.linkindex.changes import baseline, read_block
from weft.linkindex.records import UNKNOWN_URI, DomainInfo, UriInfo
from weft.model.domain import Domain, plain_domain, reversed_domain
from weft.model.url import PageUrl, Uri, UrlRules, domain_of
from weft.store.api import Cell, Column, Reader
from weft.store.encoding import split_descending
from weft.store.tables import Table

MOST = 10_000
"""Items that one answer may hold."""

SomeListing = TypeVar("SomeListing", bound=Listing)


class Index:
    """Answers from one view of the store. Between two answers call `refresh` to see what was committed since."""

    def __init__(self, reader: Reader, rules: UrlRules) -> None:
        self._view, self._rules = View(reader), rules
        self._batches = BatchReader(read_block)

    def within(self, budget: Budget) -> Self:
        """This view of the store, for one answer, which raises TooMuchWork rather than spend more. Not to be closed."""
        bounded = copy(self)
        bounded._view = View(self._view.reader, budget)
        return bounded

    def refresh(self) -> None:
        self._view.reader.refresh()

    def close(self) -> None:
        self._view.reader.close()

    @property
    def seq(self) -> int:
        """Number of the last change that answers see."""
        return self._view.seq

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def totals(self) -> TotalsAnswer:
        """How much the index knows."""
        found = self._view.totals()
        return TotalsAnswer(
            seq=self._view.seq,
            pages=found.pages,
            domains=found.domains,
            references=found.references,
            counting=self._view.counting,
        )

    def top(
        self, domain: str | None = None, *, limit: int = 20, cursor: str | None = None, fold: bool = False
    ) -> Listing:
        """The most linked pages, of all or of one domain.

        With `fold`, an answer has one item for those of its pages that say nearly the same.
        """
        answer = self._top_of(self._domain(domain), limit, cursor) if domain is not None else self._top(limit, cursor)
        if not fold:
            return answer
        items = folded_items(self._view, answer.items)
        return msgspec.structs.replace(answer, items=items, count=len(items))

    def _top(self, limit: int, cursor: str | None) -> Listing:
        scan = self._view.rows_scan(Table.QUERY, b"t:")
        found = paged("top", scan, lambda cell: cell.row, _bounded(limit), cursor)
        items = self._top_items([split_descending(cell.row[2:]) for cell in found.items])
        return self._listing(Listing, found, items, self._view.totals().pages)

    def _top_of(self, domain: Domain, limit: int, cursor: str | None) -> DomainListing:
        row = b"d:" + reversed_domain(domain).encode()
        pages = self._view.value(Table.QUERY, Column(row, keys.DOMAIN, keys.PAGECOUNT))
        if pages is None:
            raise no_pages(domain)
        scan = self._view.row_scan(Table.QUERY, row, keys.RANK)
        found = paged(f"top {domain}", scan, lambda cell: cell.qualifier, _bounded(limit), cursor)
        items = self._top_items([split_descending(cell.qualifier) for cell in found.items])
        return self._listing(DomainListing, found, items, int(pages), domain=domain)

    def _top_items(self, ranked: Sequence[tuple[int, bytes]]) -> list[TopItem]:
        uris = [Uri(uri.decode()) for _, uri in ranked]
        infos = self._view.infos(uris)
        return [
            TopItem(uri, url, references, references + info.docs, bool(info.docs))
            for uri, url, info, (references, _) in zip(uris, self._view.urls(uris, infos), infos, ranked, strict=True)
        ]

    def links(self, url: str, *, out: bool = False, limit: int = 20, cursor: str | None = None) -> PageListing:
        """The pages that reference this one, with what words and since when; or (`out`) those that it references."""
        page, info = self._known(url)
        if out and not info.docs:
            raise NotKnown(f"{page.url} was never loaded, so its links are not known")
        if out:
            found, total = outlinks(self._view, page.uri, _bounded(limit), cursor)
        else:
            found, total = inlinks(self._view, page.uri, _bounded(limit), cursor), info.references
        shown = self._view.urls([page.uri], [info])[0]
        return self._listing(
            PageListing, found, found.items, total, uri=page.uri, url=shown, references=info.references
        )

    def anchors(self, url: str, *, limit: int = 20) -> AnchorListing:
        """With what words a page is referenced, the most frequent first."""
        page, info = self._known(url)
        anchors, is_complete = first_anchors(self._view, page.uri)
        items = anchor_items(anchors)
        return AnchorListing(
            seq=self._view.seq,
            uri=page.uri,
            url=self._view.urls([page.uri], [info])[0],
            references=info.references,
            items=items[: _bounded(limit)],
            distinct=len(items),
            looked_at=len(anchors),
            complete=is_complete,
            counting=self._view.counting,
        )

    def reference_history(self, url: str, *, points: int = 60) -> HistorySeries:
        """How many references a page had over time, as at most so many points."""
        if points < 2:
            raise UsageError(f"points {points} is out of range; expected 2 or more")
        page, info = self._known(url)
        shown = self._view.urls([page.uri], [info])[0]
        return reference_history(self._view, page, info.references, shown, points)

    def _known(self, url: str) -> tuple[PageUrl, UriInfo]:
        """A page that is referenced, loaded, or known to a crawl; raises NotKnown."""
        page = self._rules.identify_typed(url)
        info = self._view.info(page)
        if not (info.references or info.docs or self._link_record(page)):
            raise _not_known(page)
        return page, info

    def page(self, url: str) -> PageAnswer:
        """All that is known of a page, crawled or not."""
        page = self._rules.identify_typed(url)
        answer = page_answer(self._view, page, self._link_record(page))
        if answer is None:
            raise _not_known(page)
        return answer

    def text(self, url: str) -> PageText:
        """What a loaded page says: title, description, headings and text, as they are searched."""
        return page_text(self._view, self._rules.identify_typed(url))

    def _link_record(self, page: PageUrl) -> LinkRecord | None:
        domain = reversed_domain(page.domain).encode()
        value = self._view.value(Table.LINKS, link_column(domain, page.uri.encode()))
        return decode_record(value) if value else None

    def domain(self, name: str, *, limit: int = 10) -> DomainAnswer:
        """One domain at a glance, with up to `limit` domains that reference it, and as many that it references."""
        return domain_overview(self._view, self._domain(name), _bounded(limit))

    def domains(self, by: str = "pages", *, limit: int = 20, cursor: str | None = None) -> Listing:
        """The domains, by the number of their known pages or by references to them."""
        if by not in ("pages", "references"):
            raise UsageError(f"domains cannot be listed by {by!r}; expected pages or references")
        scan = self._view.rows_scan(Table.DOMAINS, b"p:" if by == "pages" else b"r:")
        found = paged(f"domains {by}", scan, lambda cell: cell.row, _bounded(limit), cursor)
        return self._listing(Listing, found, list(map(_domain_item, found.items)), self._view.totals().domains)

    def changes(
        self,
        of: str | None = None,
        *,
        since: int | None = None,
        kind: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> ChangeListing:
        """Links and pages that came, went or changed, newest first: of a page and links to it, of a domain, or all.

        `of` is a URL, or a bare name for a domain; `since` is in milliseconds since 1970; `kind` is links or pages.
        """
        if kind is not None and kind not in KINDS:
            raise UsageError(f"there are no changes of {kind!r}; expected {' or '.join(KINDS)}")
        wanted = HistoryRange(since, kind, _bounded(limit), cursor)
        if of is not None and _is_url(of):
            found = self._changes_of_page(of, wanted)
        elif of is not None:
            found = self._changes_of_domain(self._domain(of), wanted)
        else:
            found = whole_history(self._view, wanted, self._batches)
        began = baseline(self._view.reader)
        items = with_urls(self._view, found.items)
        return self._listing(
            *(ChangeListing, found, items, None),
            baseline=began and Baseline(moment(began.at), began.references, began.pages),
            cut_short=found.is_cut_short,
        )

    def changes_after(self, mark: str | None, *, limit: int = 100) -> ChangesAfter:
        """What changed after `mark`, oldest first, for those who follow the index; None: from now on.

        Pass on the `mark` of each answer. Whoever does so gets every change once, however many come meanwhile.
        """
        return changes_after(self._view, self._batches, mark, _bounded(limit))

    def is_change_of(self, of: str) -> Callable[[ChangeItem], bool]:
        """Tells whether a change is one of those that `changes` lists for a URL, or for a bare name of a domain."""
        page = self._rules.identify_typed(of)
        if _is_url(of):
            return lambda item: item.target == page.uri
        return lambda item: domain_of(Uri(item.target)) == page.domain

    def _changes_of_page(self, of: str, wanted: HistoryRange) -> Page[ChangeItem]:
        page = self._rules.identify_typed(of)
        target = page.uri.encode()
        if self._view.info(page) == UNKNOWN_URI and not self._view.has_history(b"u:" + target):
            raise _not_known(page)
        return page_history(self._view, target, wanted)

    def _changes_of_domain(self, name: Domain, wanted: HistoryRange) -> Page[ChangeItem]:
        domain = reversed_domain(name).encode()
        known = self._view.value(Table.FLUO, keys.domain_info_column(domain))
        if known is None and not self._view.has_history(b"d:" + domain):
            raise NotKnown(f"{name} is not known: none of its pages is loaded or linked from a loaded page")
        return domain_history(self._view, domain, wanted)

    def _listing(
        self, kind: type[SomeListing], found: Page[Any], items: list[Any], total: int | None, **about: Any
    ) -> SomeListing:
        return kind(
            seq=self._view.seq,
            count=len(items),
            total=total,
            items=items,
            next=found.next,
            prev=found.prev,
            counting=self._view.counting,
            **about,
        )

    def _domain(self, text: str) -> Domain:
        """The registrable domain that a person means by a name."""
        return self._rules.identify_typed(text).domain


def _is_url(of: str) -> bool:
    """Of a page; a bare name means a domain."""
    return "/" in of or "?" in of


def _bounded(limit: int) -> int:
    if limit < 1:
        raise UsageError(f"limit {limit} is out of range; expected 1 to {MOST}")
    return min(limit, MOST)


def _not_known(page: PageUrl) -> NotKnown:
    return NotKnown(f"{page.url} is not known: it was never loaded, and no loaded page links to it")


def _domain_item(cell: Cell) -> DomainItem:
    domain = split_descending(cell.row[2:])[1].decode()
    return DomainItem(plain_domain(domain), *DomainInfo.decode(cell.value))
