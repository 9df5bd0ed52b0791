"""Which hidden links are fetched all the same, to see whether the rules still hold."""

from __future__ import annotations

from typing import Final

from weft.dispatcher.parameters.query import short_hash

_PARTS: Final = 100_000


def is_sampled(uri: str, percent: float, doubt: int = 1) -> bool:
    """Always the same links, so that asking again fetches no more of them."""
    return short_hash("sample:" + uri) % _PARTS < percent * doubt * _PARTS / 100
