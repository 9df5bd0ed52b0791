"""Links that pages name again and again: remembered in memory, and moved forward as their references grow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from weft.dispatcher.link_records import LinkPhase
from weft.dispatcher.link_round import LinkRound

ENTRY: Final = 140
"""Bytes that an entry takes beyond its uri."""


class SeenLinks:
    """Uris with how often each was seen, at most about `most` bytes. When there are too many, the older half is
    forgotten."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}
        self._young_size = 0

    def see(self, uri: bytes) -> int:
        """How often it was seen, including now; 0 if it is not remembered."""
        times = self._young.get(uri) or self._old.get(uri)
        if times is None:
            return 0
        if uri not in self._young:
            self._young_size += len(uri) + ENTRY
        self._young[uri] = times + 1
        return times + 1

    def add(self, uris: Iterable[bytes]) -> None:
        new = dict.fromkeys(uris, 1)
        self._young.update(new)
        self._young_size += sum(map(len, new)) + len(new) * ENTRY
        if self._young_size > self._half:
            self._old, self._young, self._young_size = self._young, {}, 0

    def forget(self) -> None:
        self._young, self._old, self._young_size = {}, {}, 0


def is_time_to_recount(times: int) -> bool:
    """Whether a link that was seen so often may move: at every doubling, for new links are ordered by powers of 2."""
    return times & (times - 1) == 0


def recount_references(links: LinkRound, places: Sequence[tuple[bytes, bytes]]) -> None:
    """Put new links of these (domain, uri) where their present number of references belongs."""
    records = zip(places, links.read(places), strict=True)
    new = {place: record for place, record in records if record is not None and record.phase is LinkPhase.NEW}
    for (place, record), references in zip(new.items(), links.references(list(new)), strict=True):
        if references.bit_length() != record.references.bit_length():
            links.put(*place, msgspec.structs.replace(record, references=references))
