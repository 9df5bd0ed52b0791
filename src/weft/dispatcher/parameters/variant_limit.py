"""How many links that differ only in their parameters are fetched at a time: the first may make the others needless."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from weft.dispatcher.parameters.query import host_of, name_of, query_of, tokens_of

_DOMAINS: Final = 10_000
_KINDS: Final = 1000
"""Domains, and kinds per domain, that are remembered; beyond that the oldest are forgotten and may send more."""
_GROWTH: Final = 8
"""For this many fetches that ended, one more may be under way."""

VariantKind = tuple[str, frozenset[str]]
"""Host and names of parameters."""


@dataclass(slots=True)
class _UnderWay:
    given: int = 0
    ended: int = 0


_NOTHING: Final[OrderedDict[VariantKind, _UnderWay]] = OrderedDict()


class VariantLimit:
    """Counts, per host and names of parameters, links that were never fetched before and are under way now.

    At most `most` of them, or an eighth of those that ended: where parameters matter, nothing waits for long.
    Kept in memory only: after a restart a few more are sent.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._domains: OrderedDict[bytes, OrderedDict[VariantKind, _UnderWay]] = OrderedDict()

    def must_wait(self, domain: bytes, uri: str) -> bool:
        """Whether this link has to wait; if not, it is counted as under way."""
        kind = _kind_of(uri)
        if not self._most or kind is None:
            return False
        known = self._known(domain, kind)
        if known.given - known.ended >= max(self._most, known.ended // _GROWTH):
            return True
        known.given += 1
        return False

    def _known(self, domain: bytes, kind: VariantKind) -> _UnderWay:
        kinds = self._domains.setdefault(domain, OrderedDict())
        self._domains.move_to_end(domain)
        known = kinds.setdefault(kind, _UnderWay())
        if len(kinds) > _KINDS:
            kinds.popitem(last=False)
        if len(self._domains) > _DOMAINS:
            self._domains.popitem(last=False)
        return known

    def fetch_ended(self, domain: bytes, uri: str) -> None:
        """A fetch of this link ended, and what was learned from it is known."""
        kind, kinds = _kind_of(uri), self._domains.get(domain)
        known = kinds.get(kind) if kind and kinds else None
        if known is not None:
            known.ended = min(known.ended + 1, known.given)

    def none_is_under_way(self, domain: bytes) -> None:
        """Whatever was counted: no link of this domain is handed over now."""
        for known in self._domains.get(domain, _NOTHING).values():
            known.ended = known.given


def _kind_of(uri: str) -> VariantKind | None:
    query = query_of(uri)
    return (host_of(uri), frozenset(map(name_of, tokens_of(query)))) if query else None
