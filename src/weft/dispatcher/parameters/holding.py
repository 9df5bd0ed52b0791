"""Links that differ in their parameters go a few at a time, so that what is learned of the first spares the others."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from weft.dispatcher.parameters.query import host_of, name_of, query_of, tokens_of

_DOMAINS: Final = 10_000
_KINDS: Final = 1000
"""Remembered, and of each domain; beyond that the oldest are forgotten, and may send more."""
_GROWTH: Final = 4
"""For so many that came back, one more may be under way."""

Kind = tuple[str, frozenset[str]]
"""Host and names of parameters."""


@dataclass(slots=True)
class _UnderWay:
    given: int = 0
    came: int = 0


_NOTHING: Final[OrderedDict[Kind, _UnderWay]] = OrderedDict()


class Holding:
    """Counts, per host and names of parameters, links that were never fetched before and are under way now.

    At most `most` of them, or a quarter of those that came back: where parameters matter, nothing is held for long.
    In memory only: after a start some more go.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._domains: OrderedDict[bytes, OrderedDict[Kind, _UnderWay]] = OrderedDict()

    def holds(self, domain: bytes, uri: str) -> bool:
        """Whether this link has to wait; if not, it is counted as under way."""
        kind = _kind_of(uri)
        if not self._most or kind is None:
            return False
        known = self._known(domain, kind)
        if known.given - known.came >= max(self._most, known.came // _GROWTH):
            return True
        known.given += 1
        return False

    def _known(self, domain: bytes, kind: Kind) -> _UnderWay:
        kinds = self._domains.setdefault(domain, OrderedDict())
        self._domains.move_to_end(domain)
        known = kinds.setdefault(kind, _UnderWay())
        if len(kinds) > _KINDS:
            kinds.popitem(last=False)
        if len(self._domains) > _DOMAINS:
            self._domains.popitem(last=False)
        return known

    def came(self, domain: bytes, uri: str) -> None:
        """A fetch of this link ended, and what it teaches is known."""
        kind, kinds = _kind_of(uri), self._domains.get(domain)
        known = kinds.get(kind) if kind and kinds else None
        if known is not None:
            known.came = min(known.came + 1, known.given)

    def none_is_under_way(self, domain: bytes) -> None:
        """Whatever was counted: no link of this domain is in the control plane's hands."""
        for known in self._domains.get(domain, _NOTHING).values():
            known.came = known.given


def _kind_of(uri: str) -> Kind | None:
    query = query_of(uri)
    return (host_of(uri), frozenset(map(name_of, tokens_of(query)))) if query else None
