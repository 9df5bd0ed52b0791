"""The protocol with one of its rules taken away: each must be missed, or nobody knows what it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import NamedTuple
from unittest import mock
from zlib import crc32

from simulation.control_plane import Rules
from simulation.history import Parts
from simulation.holder import Holder
from simulation.owner import Owner
from simulation.session import ModelSession
from simulation.watched_store import WatchedStore
from weft.linkindex.expiry import Expiry
from weft.linkindex.index_state import IndexState
from weft.mgmt.values import TakenBucket
from weft.roles.writing_hold import WritingHold
from weft.store.api import Batch
from weft.store.cassandra import writing
from weft.store.cassandra.bands import RankDelete, RankPut, rank_changes
from weft.store.cassandra.cell_session import Request
from weft.store.cassandra.placement import REMEMBERED, Ranked
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.registry import Taken, decode_batch, encode_batch
from weft.store.cassandra.store import CassandraStore
from weft.store.cassandra.view import SEQ_COLUMN
from weft.store.tables import Table

_REMEMBERED = Table.LINKS.byte + REMEMBERED
_SEQ_ROW = Table.META.byte + SEQ_COLUMN.row


class Removal(NamedTuple):
    rule: str
    parts: Parts = Parts()
    without: Callable[[], AbstractContextManager[object]] = nullcontext
    """What is patched while histories are played."""


# Registering


class EpochUnchecked(Rules):
    def register_batch(self, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
        super().register_batch(self.epoch, before, seq, batch, bucket)


class SeqUnchecked(Rules):
    def register_batch(self, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
        super().register_batch(epoch, self._state.buckets[bucket].seq, seq, batch, bucket)


class AnyBatch(Rules):
    def register_batch(self, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
        known = self._state.buckets[bucket]
        if known.seq == seq:
            self._state.buckets[bucket] = TakenBucket(known.epoch, seq, batch)
        super().register_batch(epoch, before, seq, batch, bucket)


class RegisteredLast(WatchedStore):
    def write(self, batch: Batch, seq: int) -> None:
        before, self.is_open = self.last_seq, False
        kept = {key: value for key, value in batch.cells.items() if key.startswith(_REMEMBERED)}
        sent = Batch({key: value for key, value in batch.cells.items() if key not in kept})
        self._apply(self._groups(sent, seq), seq, lambda: None)
        self._registry.register(self._epoch, before, seq, encode_batch(sent))
        self._memory.apply(kept.items(), seq)
        self.is_open = True


class GoesOnUnfinished(WatchedStore):
    @property
    def _is_unfinished(self) -> bool:
        return False

    @_is_unfinished.setter
    def _is_unfinished(self, value: bool) -> None:
        """Forgotten."""


# Taking over


class LeftInPart(WatchedStore):
    def _write_again(self, last: Taken, may_send: Callable[[], None]) -> None:
        """Left to its owner."""


class UnderFreshSeq(WatchedStore):
    def _refuse_lost_batches(self, complete: int, last: Taken) -> None:
        """It would notice at once."""

    def _write_again(self, last: Taken, may_send: Callable[[], None]) -> None:
        if last.seq:
            CassandraStore.write(self, decode_batch(last.batch, "model"), last.seq + 1)


# Sending


class SentOnce(ModelSession):
    repeats = False


class NeverAsksAgain(ModelSession):
    """Goes on with its batch whenever it wakes up."""

    def write(self, groups: Iterable[Sequence[Request]], may_send: Callable[[], None] = lambda: None) -> None:
        super().write(groups)


class WallClock(ModelSession):
    """Cells under the time of sending, by clocks that do not agree; only the last cell keeps its seq."""

    def write(self, groups: Iterable[Sequence[Request]], may_send: Callable[[], None] = lambda: None) -> None:
        super().write([[self._stamped(request) for request in group] for group in groups], may_send)

    def _stamped(self, request: Request) -> Request:
        if _SEQ_ROW in request.values:
            return request
        return replace(request, values=(self._stage.now + 1 + self._ahead(), *request.values[1:]))

    def _ahead(self) -> int:
        running = self._stage.running
        return crc32(running.name.encode()) % 300 if running else 0


def _both_sent() -> AbstractContextManager[object]:
    def all_deletes(cells: Iterable[tuple[Ranked, bytes | None]]) -> tuple[list[RankPut], list[RankDelete]]:
        known = list(cells)
        return rank_changes(known)[0], rank_changes((ranked, value) for ranked, value in known if value is None)[1]

    return mock.patch.object(writing, "rank_changes", all_deletes)


# Remembering


class GoesOn(Owner):
    ends_at_errors = 0.0


@contextmanager
def _kept_caches() -> Iterator[None]:
    with mock.patch.object(IndexState, "forget"), mock.patch.object(Expiry, "forget"):
        yield


# Holding


class HoldIgnored(Rules):
    def writing_holders(self) -> list[str]:
        return []


class HeldInPart(RegisteredStore):
    def complete(self, last: Taken, is_held: Callable[[], None]) -> None:
        """Read as it is."""


class ReadsInPart(Holder):
    store_class = HeldInPart


class ShortHold(Holder):
    seconds = 30.0


def _late_extension() -> AbstractContextManager[object]:
    def extend(hold: WritingHold) -> None:
        hold._ends, _ = hold._hold()

    return mock.patch.object(WritingHold, "_extend", extend)


def _owner(store: type[WatchedStore], rules: type[Rules] = Rules, owner: type[Owner] = Owner) -> Parts:
    return Parts(owner_class=type("OwnerWithout", (owner,), {"store_class": store}), rules_class=rules)


REMOVALS = (
    Removal("the epoch is checked when a batch is registered", Parts(rules_class=EpochUnchecked)),
    Removal("the seq is checked when a batch is registered", Parts(rules_class=SeqUnchecked)),
    Removal("a batch is registered before it is written", _owner(RegisteredLast)),
    # The store refuses to go on, and the control plane would refuse its next batch: both are taken away.
    Removal("a seq belongs to one batch for good", _owner(GoesOnUnfinished, AnyBatch, GoesOn)),
    Removal("whoever takes over writes the last batch again", _owner(LeftInPart)),
    Removal("the last batch is written again under its own seq", _owner(UnderFreshSeq)),
    Removal("cells have the seq of their batch as timestamp", Parts(session_class=WallClock)),
    Removal("requests are repeated until they are acknowledged", Parts(session_class=SentOnce)),
    Removal("where a put and a delete are one cell, only the put is sent", without=_both_sent),
    Removal("reads ask a quorum", Parts(read_from=1)),
    # Where processes go on after errors: the real one ends, and begins with nothing in memory.
    Removal("caches are dropped when a write fails", Parts(owner_class=GoesOn), _kept_caches),
    Removal("deletes are kept for longer than writes are late", Parts(gc_grace=5)),
    Removal("whoever was stopped for long asks before it sends more", Parts(session_class=NeverAsksAgain)),
    # Without the other rule as well: whoever extends its hold would notice most of it.
    Removal("nothing is registered while writing is held", Parts(rules_class=HoldIgnored), _late_extension),
    Removal(
        "whoever holds writing completes the last batch",
        Parts(holder_class=ReadsInPart, holders=(3,)),
    ),
    Removal("whoever holds writing notices that its hold had ended", Parts(holder_class=ShortHold), _late_extension),
)
