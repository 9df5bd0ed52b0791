"""Who owns the index of a cluster, and that owner's last batch, from which whoever takes over makes it whole."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from weft.errors import StoreError
from weft.store.api import Batch

_LONGEST: Final = 2 << 30
"""Bytes that a registered batch may unpack to."""


class Taken(Protocol):
    """What a new owner is given."""

    @property
    def epoch(self) -> int: ...

    @property
    def seq(self) -> int:
        """Of the last registered batch; 0: there is none."""

    @property
    def batch(self) -> bytes:
        """That batch, encoded: it may be in the store whole, in part, or not at all."""


class Registry(Protocol):
    """Every call is one transaction, durable when it returns, and harmless when it is repeated."""

    def take(self) -> Taken:
        """Become the owner: whoever was it before can register nothing more."""

    def register(self, epoch: int, before: int, seq: int, batch: bytes) -> None:
        """Keep `batch` as the last one, in place of the one with seq `before`.

        The same call again is harmless. Raises OwnerReplaced when the epoch is not the owner's any more.
        """


def encode_batch(batch: Batch) -> bytes:
    packed = msgspec.msgpack.encode(list(batch.cells.items()))
    return ZstdCompressor(level=1).compress(packed)


def decode_batch(data: bytes, where: object) -> Batch:
    try:
        packed = ZstdDecompressor().decompress(data, max_output_size=_LONGEST)
        return Batch(dict(msgspec.msgpack.decode(packed, type=list[tuple[bytes, bytes | None]])))
    except Exception as error:
        raise StoreError(str(where), f"its last registered batch cannot be read: {error}") from error
