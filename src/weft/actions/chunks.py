"""Chunks that could not be indexed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import ChunkId


class Retried(msgspec.Struct, frozen=True):
    chunks: int
    """How many are offered to builders again."""


def retry_chunks(mgmt: OperatorCalls, chunks: Sequence[int] = ()) -> Retried:
    """Offer chunks that could not be indexed to builders again: these, or all."""
    return Retried(mgmt.retry([ChunkId(chunk) for chunk in chunks] or None))
