"""The questions of the API about a crawl that runs: what waits for what, and how it went in the last minutes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from weft.answers.queues_now import QueuesNow, queues_of
from weft.mgmt.values import RestingHosts
from weft.roles.run_token import with_run_token
from weft.web.endpoint import Endpoint, NoParams
from weft.web.recent_figures import CrawlFigures
from weft.web.resources import WebResources

_NOTICED: Final = 2000
"""Milliseconds that a host must rest before people are told."""


class WaitingParams(msgspec.Struct, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=1000, description="Most hosts in the answer.")] = 20


class RecentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Taken every two seconds while somebody looks, oldest first; the last ten minutes."""

    items: list[CrawlFigures]


def _queues(web: WebResources, asked: NoParams) -> QueuesNow:
    # The token is that of the run that goes on now.
    settings = with_run_token(web.loaded.settings, web.home.path)
    # Only the nodes are read with the connection that all share: a URL server may take seconds to answer.
    return queues_of(web.control.read(lambda mgmt: mgmt.nodes()), settings)


def _waiting(web: WebResources, asked: WaitingParams) -> RestingHosts:
    return web.control.read(lambda mgmt: mgmt.resting_hosts(_NOTICED, asked.limit))


def _recent(web: WebResources, asked: NoParams) -> RecentAnswer:
    web.control.status()
    return RecentAnswer(items=web.control.recent.all())


QUEUES: Final = Endpoint(
    "/api/queues",
    "The queues of the URL servers that run",
    NoParams,
    QueuesNow,
    _queues,
    is_light=True,
    may_be_unknown=True,
)
WAITING: Final = Endpoint(
    "/api/waiting",
    "Hosts that asked for patience or failed, the largest first",
    WaitingParams,
    RestingHosts,
    _waiting,
    is_light=True,
)
RECENT: Final = Endpoint(
    "/api/recent", "The crawl's figures in the last ten minutes", NoParams, RecentAnswer, _recent, is_light=True
)

CRAWL_ENDPOINTS: Final[Sequence[Endpoint[Any]]] = (QUEUES, WAITING, RECENT)
