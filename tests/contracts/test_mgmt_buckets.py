"""Who owns the index of a cluster, and its last batch: what every control plane promises."""

from __future__ import annotations

import pytest

from weft.errors import OwnerReplaced
from weft.mgmt.api import Mgmt
from weft.mgmt.values import TakenBucket


def test_the_first_owner_finds_nothing(mgmt: Mgmt) -> None:
    assert mgmt.take_bucket() == TakenBucket(1, 0, b"")


def test_whoever_takes_over_is_given_the_last_batch(mgmt: Mgmt) -> None:
    epoch = mgmt.take_bucket().epoch
    mgmt.register_batch(epoch, 0, 1, b"one")
    mgmt.register_batch(epoch, 1, 5, b"\x00five\xff")
    assert mgmt.take_bucket() == TakenBucket(2, 5, b"\x00five\xff")


def test_whoever_was_replaced_registers_nothing_more(mgmt: Mgmt) -> None:
    before = mgmt.take_bucket().epoch
    mgmt.register_batch(before, 0, 1, b"one")
    now = mgmt.take_bucket().epoch
    with pytest.raises(OwnerReplaced, match="another process"):
        mgmt.register_batch(before, 1, 2, b"two")
    mgmt.register_batch(now, 1, 2, b"mine")
    assert mgmt.take_bucket() == TakenBucket(3, 2, b"mine")


def test_the_same_batch_again_is_harmless(mgmt: Mgmt) -> None:
    """A COMMIT may have no answer."""
    epoch = mgmt.take_bucket().epoch
    for _ in range(2):
        mgmt.register_batch(epoch, 0, 1, b"one")
    mgmt.register_batch(epoch, 1, 2, b"two")
    with pytest.raises(OwnerReplaced):
        mgmt.register_batch(epoch, 0, 1, b"one")
    assert mgmt.take_bucket() == TakenBucket(2, 2, b"two")


def test_a_seq_must_follow_the_last_one(mgmt: Mgmt) -> None:
    epoch = mgmt.take_bucket().epoch
    with pytest.raises(OwnerReplaced):
        mgmt.register_batch(epoch, 7, 8, b"eight")
    with pytest.raises(OwnerReplaced):
        mgmt.register_batch(epoch + 1, 0, 1, b"one")
    assert mgmt.take_bucket() == TakenBucket(epoch + 1, 0, b"")


def test_buckets_do_not_know_each_other(mgmt: Mgmt) -> None:
    epoch = mgmt.take_bucket(0).epoch
    mgmt.register_batch(epoch, 0, 1, b"one", 0)
    assert mgmt.take_bucket(3) == TakenBucket(1, 0, b"")
