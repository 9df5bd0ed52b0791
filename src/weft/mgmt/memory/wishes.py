"""Pages that people want fetched now, in the memory twin."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from weft.mgmt.memory.links import MemoryLinks
from weft.mgmt.rules.wishes import forgotten_origins, is_unusable
from weft.mgmt.values import LinkKind, LinkState, NewLink, Seed, Wish


class MemoryWishes(MemoryLinks):
    def want(self, seeds: Sequence[Seed]) -> int:
        new = self.add([NewLink(seed.uri, seed.url, seed.web_host) for seed in seeds])
        last = {seed.uri: seed for seed in seeds}
        for seed in last.values():
            self._correct(seed)
            self._state.end_wait(seed.web_host, self._clock.now())
            self._state.wanted[seed.uri] = Wish(seed.uri, seed.url, seed.any_scheme, 0, self._clock.now())
        for origin in forgotten_origins(last.values()):
            robots = self._state.robots.get(origin)
            if robots is not None and is_unusable(robots):
                self._state.robots[origin] = replace(robots, expires=robots.fetched)
        return new

    def _correct(self, seed: Seed) -> None:
        link = self._state.by_uri[LinkKind.PAGE, seed.uri]
        is_open = link.result is None or bool(link.result.error)
        if link.state is LinkState.PENDING and link.web_host == seed.web_host and is_open:
            link.url = seed.url

    def wishes(self, after: str = "", limit: int = 1000) -> list[Wish]:
        return [self._state.wanted[uri] for uri in sorted(self._state.wanted) if uri > after][:limit]

    def settle_wishes(self, granted: Sequence[Wish], instead: Sequence[Wish] = ()) -> None:
        for wish in granted:
            known = self._state.wanted.get(wish.uri)
            if known is not None and known.asked == wish.asked:
                del self._state.wanted[wish.uri]
        self._state.wanted.update({wish.uri: wish for wish in instead})
