"""One domain: how much is known of it, its pages, and its neighbours."""

from __future__ import annotations

from typing import Any, Final

from weft.answers.domain_overview import DomainAnswer
from weft.web.api import DOMAIN, DomainParams
from weft.web.charts import bars, neighbour_graph
from weft.web.pages.page import Elsewhere, Page
from weft.web.rendering import href
from weft.web.resources import WebResources

_SHOWN: Final = 10
_DEFAULT_LIMIT: Final = DomainParams(domain="").limit


def _more(web: WebResources, asked: DomainParams, found: DomainAnswer) -> dict[str, Any]:
    if asked.domain != found.domain:
        # www.example.com and EXAMPLE.com are one domain, which has one address.
        limit = asked.limit if asked.limit != _DEFAULT_LIMIT else None
        raise Elsewhere(href(f"/domain/{found.domain}", limit=limit))
    with web.borrowed() as index:
        top, changes = index.top(found.domain, limit=_SHOWN), index.changes(found.domain, limit=_SHOWN)
    return {
        "title": found.domain,
        "top": top,
        "changes": changes,
        "states": bars([(str(state), count) for state, count in found.statuses.items()]),
        "graph": neighbour_graph(found.referring[:_SHOWN], found.referred[:_SHOWN]),
    }


PAGES: Final = (Page("/domain/{domain}", "domain.html", "Domain", DOMAIN, _more, "unknown.html"),)
