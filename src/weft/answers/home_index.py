"""The questions about a home: those about its index, and those that need its control plane too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Self

import msgspec

from weft.answers.budget import Budget
from weft.answers.index import Index
from weft.answers.objects import PageAnswer
from weft.errors import MgmtError, NotKnown, UsageError
from weft.model.page_state import PageState
from weft.model.url import PageUrl, UrlRules
from weft.store.api import Reader

if TYPE_CHECKING:
    from weft.answers.capture import Capture, Records
    from weft.answers.rules import RuleListing
    from weft.answers.search import SearchListing
    from weft.answers.why import Why
    from weft.config import Settings
    from weft.mgmt.api import Mgmt
    from weft.mgmt.values import LinkFacts
    from weft.search.search import Shards


class HomeIndex(Index):
    """Answers while a crawl runs, after it ended and after it was killed. The control plane is always asked as of now;
    what the index says is as of the last `refresh`."""

    def __init__(
        self,
        reader: Reader,
        rules: UrlRules,
        read_settings: Callable[[], Settings],
        open_control: Callable[[], Mgmt],
        open_search: Callable[[], Shards],
        open_records: Callable[[], Records],
    ) -> None:
        super().__init__(reader, rules)
        self._read_settings, self._open_control, self._open_search = read_settings, open_control, open_search
        self._open_records = open_records
        self._shards: Shards | None = None

    def within(self, budget: Budget) -> Self:
        bounded = super().within(budget)
        bounded._open_search = self._opened_search
        return bounded

    def refresh(self) -> None:
        super().refresh()
        if self._shards is not None:
            self._shards.refresh()

    def close(self) -> None:
        super().close()
        if self._shards is not None:
            self._shards.close()

    def search(
        self,
        text: str,
        *,
        limit: int = 10,
        cursor: str | None = None,
        per_domain: int | None = None,
        fold: bool = True,
        explain: bool = False,
    ) -> SearchListing:
        """The pages that match these words, the best first; see docs/search.md for what a query may say.

        `per_domain` bounds the results of one domain on a page of results (None: two, unless the query names a site;
        0: no bound). With `fold`, pages that say nearly the same are one result.
        """
        # Imported when it is asked: other questions do not need tantivy.
        from weft.answers.search import SearchOptions, search_listing

        options = SearchOptions(limit=limit, cursor=cursor, per_domain=per_domain, fold=fold, explain=explain)
        return search_listing(self._view, self._opened_search(), text, options)

    def page(self, url: str) -> PageAnswer:
        """All that is known of a page, crawled or not."""
        try:
            return super().page(url)
        except NotKnown:
            if answer := self._waiting_page(url):
                return answer
            raise

    def why(self, url: str) -> Why:
        """Why a URL was or was not fetched, and when it is due; `known` is False if weft has never met it."""
        # Imported when it is asked: it needs much that other questions do not.
        from weft.answers.why import why as explained

        page = self._rules.identify_typed(url)
        with closing(self._open_control()) as mgmt:
            return explained(self._view.reader, mgmt, self._read_settings(), self._rules, page)

    def rules(
        self, domain: str | None = None, *, url: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> RuleListing:
        """Which query parameters weft ignores, for one domain or for all; with `url`, for its domain, and what the URL
        is reduced to."""
        from weft.answers.rules import list_rules, reduce_url

        if domain and url:
            raise UsageError("give a domain or a URL, not both")
        settings, reader = self._read_settings().dispatcher, self._view.reader
        named = self._rules.identify_typed(url or domain or "") if url or domain else None
        found = list_rules(reader, settings, named.domain if named else None, limit, cursor)
        if not url or named is None:
            return found
        with closing(self._open_control()) as mgmt:
            explained = reduce_url(reader, mgmt.sites(), settings, named)
        return msgspec.structs.replace(found, explained=explained)

    def capture(self, url: str) -> Capture:
        """The archived response that the index has a page from; its body as text, if it is one."""
        # Imported when it is asked: other questions do not need the archive.
        from weft.answers.capture import capture_at, position_of

        page = self._rules.identify_typed(url)
        at = position_of(page, self._link_record(page))
        with closing(self._open_records()) as records:
            return capture_at(page, at, records, self._rules)

    def _opened_search(self) -> Shards:
        if self._shards is None:
            self._shards = self._open_search()
        return self._shards

    def _waiting_page(self, url: str) -> PageAnswer | None:
        """A page that only the control plane knows: it was added, and its first fetch is not in the index yet."""
        page = self._rules.identify_typed(url)
        link = self._link(page)
        if link is None:
            return None
        return PageAnswer(
            seq=self._view.seq,
            uri=page.uri,
            url=link.url,
            domain=page.domain,
            references=0,
            score=0,
            crawled=False,
            state=PageState.NOT_FETCHED,
            counting=self._view.counting,
        )

    def _link(self, page: PageUrl) -> LinkFacts | None:
        try:
            with closing(self._open_control()) as mgmt:
                return mgmt.known([page.uri]).get(page.uri)
        except MgmtError:
            return None  # a damaged or missing control plane is no answer to a question about the index
