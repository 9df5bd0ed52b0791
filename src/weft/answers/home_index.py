"""The questions about a home: those about its index, and those that need its control plane too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from weft.answers.index import Index
from weft.answers.objects import PageAnswer
from weft.errors import MgmtError, NotKnown
from weft.model.page_state import PageState
from weft.model.url import PageUrl, UrlRules
from weft.store.api import Reader

if TYPE_CHECKING:
    from weft.answers.why import Why
    from weft.config import Settings
    from weft.mgmt.api import Mgmt
    from weft.mgmt.values import LinkFacts


class HomeIndex(Index):
    """Answers while a crawl runs, after it ended and after it was killed. The control plane is always asked as of now;
    what the index says is as of the last `refresh`."""

    def __init__(
        self,
        reader: Reader,
        rules: UrlRules,
        read_settings: Callable[[], Settings],
        open_control: Callable[[], Mgmt],
    ) -> None:
        super().__init__(reader, rules)
        self._read_settings, self._open_control = read_settings, open_control

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
