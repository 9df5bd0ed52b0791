"""The crawl at a glance: how fast, how fresh, what waits for what, what went wrong, and who runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from weft.answers.link_outcomes import by_outcome, failures_of, refusals_of
from weft.answers.nodes import is_crawling
from weft.answers.queues_now import QueuesNow, longest_queues
from weft.answers.status import Status
from weft.errors import WeftError
from weft.mgmt.values import NodeState
from weft.model.fetch_error import FetchError
from weft.web.api import STATUS
from weft.web.crawl_api import QUEUES, WAITING, WaitingParams
from weft.web.endpoint import NoParams
from weft.web.pages.crawl_words import rest_words, skip_sentence, wait_words
from weft.web.pages.live_charts import HEIGHT, WIDTH, LiveChart, live_chart
from weft.web.pages.page import Page
from weft.web.pages.roles import role_of
from weft.web.resources import WebResources

_CHARTS: Final = (
    ("rate", "Pages a second", ""),
    ("queued", "URLs in queues", ""),
    ("fresh", "From fetch to answer", "s"),
)
_SHOWN_QUEUES: Final = 12
_SHOWN_HOSTS: Final = 10


class Tally(NamedTuple):
    """How many links had this end, and what it means."""

    name: str
    links: int
    sentence: str


def _crawl(web: WebResources, asked: NoParams, found: Status) -> dict[str, Any]:
    return {
        "outcomes": _outcomes(found),
        "failures": _tallies(failures_of(found.errors), lambda name: FetchError.of(name).sentence),
        "skipped": _tallies({**found.refused, **refusals_of(found.errors)}, skip_sentence),
        "roles": [role_of(node) for node in found.nodes],
        "charts": _charts(web),
        "wait_words": wait_words,
        "rest_words": rest_words,
        "width": WIDTH,
        "height": HEIGHT,
        "waiting": WAITING.ask(web, WaitingParams(limit=_SHOWN_HOSTS)),
        "is_crawling": found.is_crawling,
        "is_paused": any(is_crawling(node) and node.asked is NodeState.PAUSED for node in found.nodes),
        "is_working": any(is_crawling(node) and node.asked is NodeState.ONLINE for node in found.nodes),
        **_queues(web, found),
    }


def _outcomes(found: Status) -> list[tuple[str, int]]:
    """Zeros are left out."""
    return [each for each in by_outcome(found.links, found.statuses, found.errors).items() if each[1]]


def _charts(web: WebResources) -> list[LiveChart]:
    figures, now = web.control.recent.all(), time.time()
    return [live_chart(name, title, unit, figures, now) for name, title, unit in _CHARTS]


def _tallies(counts: Mapping[str, int], sentence: Callable[[str], str]) -> list[Tally]:
    """The largest first; zeros are left out."""
    found = [Tally(name, count, sentence(name)) for name, count in counts.items() if count]
    return sorted(found, key=lambda tally: (-tally.links, tally.name))


def _queues(web: WebResources, found: Status) -> dict[str, Any]:
    """Of the URL servers that run; the page is of use without them."""
    if "urlserver" not in found.running:
        return {"servers": [], "silent": []}
    try:
        queues: QueuesNow = QUEUES.ask(web, NoParams())
    except WeftError as error:
        return {"servers": [], "silent": [str(error)]}
    servers = [(server, longest_queues(server, _SHOWN_QUEUES)) for server in queues.items]
    return {"servers": servers, "silent": list(queues.silent.values())}


PAGES: Final = (Page("/crawl", "crawl.html", "Crawl", STATUS, _crawl),)
