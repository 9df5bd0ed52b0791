"""All pages, in the order in which people meet them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from weft.web.pages import api_docs, crawling, finding, following, one_domain, one_page, operating, rankings
from weft.web.pages.page import Page

PAGES: Final[Sequence[Page[Any]]] = (
    *finding.PAGES,
    *rankings.PAGES,
    *one_domain.PAGES,
    *one_page.PAGES,
    *following.PAGES,
    *crawling.PAGES,
    *operating.PAGES,
    *api_docs.PAGES,
)
