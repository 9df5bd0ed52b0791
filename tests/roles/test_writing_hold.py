"""A hold on writing: whoever has it knows at the end whether the index held still."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from weft.clock import ManualClock
from weft.errors import StoreError
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.mgmt.values import NodeType, TakenBucket
from weft.roles import writing_hold
from weft.roles.writing_hold import WritingHold

SECONDS = 30.0


class SlowMgmt(MemoryMgmt):
    """`on_the_way` happens before the next call that holds writing arrives."""

    on_the_way: Callable[[], None] = staticmethod(lambda: None)

    def hold_writing(self, id_: str, holder: str, seconds: float, bucket: int = 0) -> TakenBucket:
        self.on_the_way()
        return super().hold_writing(id_, holder, seconds, bucket)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock()
    monkeypatch.setattr(writing_hold, "MonotonicClock", lambda: clock)
    return clock


@pytest.fixture
def mgmt(clock: ManualClock) -> SlowMgmt:
    return SlowMgmt(clock)


def owner_of(mgmt: MemoryMgmt) -> int:
    return mgmt.take_bucket(mgmt.register(NodeType.INDEX_BUILDER, "owner")).epoch


def test_a_hold_that_is_extended_in_time_holds_still(clock: ManualClock, mgmt: SlowMgmt) -> None:
    with WritingHold(mgmt, "a test", SECONDS) as hold:
        for _ in range(5):
            clock.advance(20)
            hold._extend()
        hold.check()


def test_a_hold_that_has_ended_does_not(clock: ManualClock, mgmt: SlowMgmt) -> None:
    with WritingHold(mgmt, "a test", SECONDS) as hold:
        clock.advance(SECONDS)
        with pytest.raises(StoreError, match="did not hold still"):
            hold.check()


def test_an_extension_that_arrives_after_the_end_does_not_hide_what_was_written(
    clock: ManualClock, mgmt: SlowMgmt
) -> None:
    epoch = owner_of(mgmt)
    with WritingHold(mgmt, "a test", SECONDS) as hold:
        clock.advance(SECONDS - 1)

        def late() -> None:
            clock.advance(2)
            mgmt.register_batch(epoch, 0, 1, b"one")
            mgmt.on_the_way = lambda: None

        mgmt.on_the_way = late
        hold._extend()
        with pytest.raises(StoreError, match="did not hold still"):
            hold.check()
        hold._extend()
        with pytest.raises(StoreError, match="did not hold still"):
            hold.check()
