"""New links move forward as pages refer to them: their references are counted again, but seldom."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.dispatcher.records import Place
from weft.dispatcher.work import LinkRound


def is_time_to_count(times: int) -> bool:
    """Whether a link that was seen so often may have moved: with every doubling, as its place goes by powers of 2."""
    return times & (times - 1) == 0


def count_again(links: LinkRound, places: Sequence[tuple[bytes, bytes]]) -> None:
    """Put new links of these (domain, uri) where their present references belong."""
    records = zip(places, links.read(places), strict=True)
    new = {place: record for place, record in records if record is not None and record.place is Place.NEW}
    for (place, record), references in zip(new.items(), links.references(list(new)), strict=True):
        if references.bit_length() != record.references.bit_length():
            links.put(*place, msgspec.structs.replace(record, references=references))
