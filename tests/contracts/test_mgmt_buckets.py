"""Who owns the index of a cluster, and its last batch: what every control plane promises."""

from __future__ import annotations

import pytest

from support.mgmt_engines import Engine
from weft.errors import IndexOwned, LeaseLost, OwnerReplaced, WritingHeld
from weft.mgmt.api import Mgmt
from weft.mgmt.values import AdoptedIndex, NodeState, NodeType, StoreOwner, TakenBucket


def take(mgmt: Mgmt, bucket: int = 0, address: str = "index@a") -> TakenBucket:
    return mgmt.take_bucket(mgmt.register(NodeType.INDEX_BUILDER, address), bucket)


def test_the_first_owner_finds_nothing(mgmt: Mgmt) -> None:
    assert take(mgmt) == TakenBucket(1, 0, b"")


def test_whoever_takes_over_is_given_the_last_batch(mgmt: Mgmt) -> None:
    epoch = take(mgmt).epoch
    mgmt.register_batch(epoch, 0, 1, b"one")
    mgmt.register_batch(epoch, 1, 5, b"\x00five\xff")
    assert take(mgmt) == TakenBucket(2, 5, b"\x00five\xff")


def test_whoever_was_replaced_registers_nothing_more(mgmt: Mgmt) -> None:
    before = take(mgmt).epoch
    mgmt.register_batch(before, 0, 1, b"one")
    now = take(mgmt).epoch
    with pytest.raises(OwnerReplaced, match="another process"):
        mgmt.register_batch(before, 1, 2, b"two")
    mgmt.register_batch(now, 1, 2, b"mine")
    assert take(mgmt) == TakenBucket(3, 2, b"mine")


def test_the_same_batch_again_is_harmless(mgmt: Mgmt) -> None:
    """A COMMIT may have no answer."""
    epoch = take(mgmt).epoch
    for _ in range(2):
        mgmt.register_batch(epoch, 0, 1, b"one")
    mgmt.register_batch(epoch, 1, 2, b"two")
    with pytest.raises(OwnerReplaced):
        mgmt.register_batch(epoch, 0, 1, b"one")
    assert take(mgmt) == TakenBucket(2, 2, b"two")


def test_a_seq_must_follow_the_last_one(mgmt: Mgmt) -> None:
    epoch = take(mgmt).epoch
    with pytest.raises(OwnerReplaced):
        mgmt.register_batch(epoch, 7, 8, b"eight")
    with pytest.raises(OwnerReplaced):
        mgmt.register_batch(epoch + 1, 0, 1, b"one")
    assert take(mgmt) == TakenBucket(epoch + 1, 0, b"")


def test_buckets_do_not_know_each_other(mgmt: Mgmt) -> None:
    epoch = take(mgmt, 0).epoch
    mgmt.register_batch(epoch, 0, 1, b"one", 0)
    assert take(mgmt, 3) == TakenBucket(1, 0, b"")


def test_nobody_takes_what_a_living_node_owns(mgmt: Mgmt) -> None:
    epoch = take(mgmt).epoch
    with pytest.raises(IndexOwned, match="index@a on machine"):
        take(mgmt, address="index@b")
    mgmt.register_batch(epoch, 0, 1, b"one")  # nothing has changed for the owner


def test_it_is_taken_over_when_the_lease_of_its_owner_has_ended(engine: Engine, mgmt: Mgmt) -> None:
    epoch = take(mgmt).epoch
    engine.clock.advance(44)
    with pytest.raises(IndexOwned):
        take(mgmt, address="index@b")
    engine.clock.advance(2)
    assert take(mgmt, address="index@b").epoch == epoch + 1


def test_it_is_taken_over_at_once_when_its_owner_has_left(mgmt: Mgmt) -> None:
    owner = mgmt.register(NodeType.INDEX_BUILDER, "index@a")
    mgmt.take_bucket(owner)
    mgmt.tell(owner, NodeState.OFFLINE)
    assert take(mgmt, address="index@b").epoch == 2


def test_a_node_without_a_lease_takes_nothing(mgmt: Mgmt) -> None:
    lost = mgmt.register(NodeType.INDEX_BUILDER, "index@a")
    mgmt.tell(lost, NodeState.OFFLINE)
    with pytest.raises(LeaseLost):
        mgmt.take_bucket(lost)


# Holding still.


def test_nothing_is_registered_while_writing_is_held(mgmt: Mgmt) -> None:
    epoch = take(mgmt).epoch
    mgmt.register_batch(epoch, 0, 1, b"one")
    assert mgmt.hold_writing("h", "`weft verify` on b", 30) == TakenBucket(epoch, 1, b"one")
    with pytest.raises(WritingHeld, match="`weft verify` on b holds writing"):
        mgmt.register_batch(epoch, 1, 2, b"two")
    assert mgmt.hold_writing("h", "`weft verify` on b", 30) == TakenBucket(epoch, 1, b"one")
    assert mgmt.writing_holders() == ["`weft verify` on b"]
    mgmt.release_writing("h")
    mgmt.register_batch(epoch, 1, 2, b"two")
    assert mgmt.writing_holders() == []


def test_all_who_hold_writing_must_let_go(mgmt: Mgmt) -> None:
    epoch = take(mgmt).epoch
    mgmt.hold_writing("h", "one", 30)
    mgmt.hold_writing("i", "other", 30)
    mgmt.release_writing("h")
    with pytest.raises(WritingHeld, match="other"):
        mgmt.register_batch(epoch, 0, 1, b"one")
    mgmt.release_writing("i")
    mgmt.register_batch(epoch, 0, 1, b"one")


def test_a_hold_that_nobody_extends_ends_by_itself(engine: Engine, mgmt: Mgmt) -> None:
    epoch = take(mgmt).epoch
    mgmt.hold_writing("h", "killed", 30)
    engine.clock.advance(20)
    mgmt.hold_writing("h", "killed", 30)
    engine.clock.advance(20)
    with pytest.raises(WritingHeld):
        mgmt.register_batch(epoch, 0, 1, b"one")
    engine.clock.advance(11)
    mgmt.register_batch(epoch, 0, 1, b"one")


def test_an_index_that_nobody_owns_can_be_held(mgmt: Mgmt) -> None:
    assert mgmt.hold_writing("h", "one", 30) == TakenBucket(0, 0, b"")
    assert take(mgmt) == TakenBucket(1, 0, b"")


def test_another_store_takes_the_place_of_the_present_one(mgmt: Mgmt) -> None:
    epoch = take(mgmt).epoch
    mgmt.register_batch(epoch, 0, 1, b"one")
    mgmt.own_store(StoreOwner("old", "here"))
    adopted = AdoptedIndex(StoreOwner("new", "there"), 40, b"last")
    for _ in range(2):
        mgmt.adopt_index(adopted)
    assert mgmt.index_store() == adopted.store
    with pytest.raises(OwnerReplaced):
        mgmt.register_batch(epoch, 1, 2, b"two")
    taken = take(mgmt, address="index@b")
    assert (taken.seq, taken.batch) == (40, b"last")
    mgmt.register_batch(taken.epoch, 40, 41, b"next")


def test_batches_of_a_store_that_was_replaced_are_forgotten(mgmt: Mgmt) -> None:
    mgmt.own_store(StoreOwner("one", "a"))
    epoch = take(mgmt).epoch
    mgmt.register_batch(epoch, 0, 7, b"of the other")
    mgmt.own_store(StoreOwner("one", "moved"), replaces=True)
    mgmt.register_batch(epoch, 7, 8, b"still its own")
    mgmt.own_store(StoreOwner("two", "b"), replaces=True)
    with pytest.raises(OwnerReplaced):
        mgmt.register_batch(epoch, 8, 9, b"late")
    assert take(mgmt) == TakenBucket(epoch + 2, 0, b"")


def test_no_other_batch_takes_the_place_of_one_with_its_seq(mgmt: Mgmt) -> None:
    epoch = take(mgmt).epoch
    mgmt.register_batch(epoch, 0, 1, b"one")
    with pytest.raises(OwnerReplaced):
        mgmt.register_batch(epoch, 0, 1, b"another one")
    mgmt.register_batch(epoch, 0, 1, b"one")
    assert take(mgmt) == TakenBucket(epoch + 1, 1, b"one")
