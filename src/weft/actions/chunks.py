"""Chunks that could not be indexed."""

from __future__ import annotations

from collections.abc import Sequence

from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import ChunkId


def retry_chunks(mgmt: OperatorCalls, chunks: Sequence[int] = ()) -> int:
    """Offer chunks that could not be indexed to builders again: these, or all; returns how many are offered."""
    return mgmt.retry([ChunkId(chunk) for chunk in chunks] or None)
