"""All sites of a web behind one door, and the answers that are remembered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Final

from weft.demo.web.answering.cache import AnswerCache
from weft.demo.web.answering.page_answers import unless_changed
from weft.demo.web.answering.responses import DemoRequest, DemoResponse, DemoSite, whole
from weft.demo.web.answering.site import GeneratedSite
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.state import Change
from weft.demo.web.definition.world import make_world
from weft.errors import UsageError

CACHE_BYTES: Final = 128 << 20


class Web:
    """Answers requests for any host of the plan, and for the extra sites that it names."""

    def __init__(self, plan: WebPlan, clock: Callable[[], float] = time.time, cache_bytes: int = CACHE_BYTES) -> None:
        self.world = make_world(plan, clock)
        self.extra = extra_sites(plan)
        self._cache = AnswerCache(cache_bytes)
        self.site = lru_cache(maxsize=16_384)(self._find)

    def answer(self, request: DemoRequest) -> DemoResponse:
        encoding = request.headers.get(b"accept-encoding", b"")
        key = (request.host, request.is_secure, request.target, encoding)
        answer = self._cache.get(key, self.world.state.now())
        if answer is None:
            site = self.site(request.host)
            if site is None:
                return whole(PageKind.UNKNOWN_HOST, 404, [("Content-Type", "text/plain")], b"There is no such host.\n")
            answer = site.answer(request)
            self._cache.put(key, answer)
        return unless_changed(request, answer) if answer.status == 200 else answer

    def apply(self, change: Change) -> None:
        self.world.apply(change)
        self._cache.clear()

    def _find(self, name: str) -> DemoSite | None:
        host = self.world.hosts.named(name)
        return GeneratedSite(self.world, host) if host is not None else self.extra.get(name)


def extra_sites(plan: WebPlan) -> Mapping[str, DemoSite]:
    """The sites that `plan.extra_sites` makes, by name."""
    if not plan.extra_sites:
        return {}
    module, _, function = plan.extra_sites.partition(":")
    try:
        make: Callable[[WebPlan], list[DemoSite]] = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"extra sites {plan.extra_sites!r} cannot be found ({error}); expected module:function"
        ) from error
    return {site.name: site for site in make(plan)}
