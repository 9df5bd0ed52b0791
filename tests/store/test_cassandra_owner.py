"""Owners of a cluster's index that are killed, replaced and come back: every batch that was begun is whole."""

from __future__ import annotations

import pytest

from support.cassandra_store import empty, owned_store, shared_session
from weft.errors import OwnerReplaced, StoreError, StoreUnwritable
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.store.api import Batch, Column
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.store import CassandraStore
from weft.store.tables import Table, ranked

Q = Table.QUERY
ROWS = [b"r%d" % number for number in range(40)]


class KilledError(Exception):
    """Stands for the end of a process."""


@pytest.fixture
def mgmt(cassandra_hosts: tuple[str, ...]) -> MemoryMgmt:
    empty(shared_session(cassandra_hosts)[0])
    return MemoryMgmt()


def batch(value: bytes) -> Batch:
    """Over many partitions."""
    made = Batch()
    for row in ROWS:
        made.put(Q, row, b"f", b"q", value)
    return made


def values(store: CassandraStore) -> set[bytes | None]:
    return {cell and cell.value for cell in store.get(Q, [Column(row, b"f", b"q") for row in ROWS])}


def test_the_next_owner_completes_what_was_registered(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = owned_store(cassandra_hosts, mgmt)
    first.write(batch(b"one"), 1)
    written = first._session.write

    def half(groups: object) -> None:
        written(list(groups)[::2])  # type: ignore[call-overload]
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(first._session, "write", half)
        with pytest.raises(KilledError):
            first.write(batch(b"two"), 2)
    assert values(first) == {b"one", b"two"}
    second = owned_store(cassandra_hosts, mgmt)
    assert values(second) == {b"two"}
    assert second.last_seq == 2


def test_what_was_not_registered_is_not_there(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = owned_store(cassandra_hosts, mgmt)
    first.write(batch(b"one"), 1)

    def killed(*_: object) -> None:
        raise KilledError

    monkeypatch.setattr(mgmt, "register_batch", killed)
    with pytest.raises(KilledError):
        first.write(batch(b"two"), 2)
    monkeypatch.undo()
    second = owned_store(cassandra_hosts, mgmt)
    assert (values(second), second.last_seq) == ({b"one"}, 1)


def test_after_a_batch_that_was_not_finished_nothing_is_written_until_the_index_is_taken_anew(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = owned_store(cassandra_hosts, mgmt)
    written = store._session.write

    def half(groups: object) -> None:
        written(list(groups)[::2])  # type: ignore[call-overload]
        raise StoreError("here", "the cluster does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(store._session, "write", half)
        with pytest.raises(StoreError, match="does not answer"):
            store.write(batch(b"one"), 1)
    with pytest.raises(StoreUnwritable, match="begun and not finished"):
        store.write(batch(b"other"), 1)
    store.own(store._registry)
    assert values(store) == {b"one"}
    store.write(batch(b"two"), 2)
    assert values(store) == {b"two"}


def test_an_owner_that_was_replaced_changes_nothing(cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt) -> None:
    first = owned_store(cassandra_hosts, mgmt)
    first.write(batch(b"one"), 1)
    second = owned_store(cassandra_hosts, mgmt)
    with pytest.raises(OwnerReplaced):
        first.write(batch(b"late"), 2)
    second.write(batch(b"two"), 2)
    assert values(second) == {b"two"}


def test_one_that_wakes_up_in_the_middle_of_an_old_batch_changes_nothing(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt
) -> None:
    first = owned_store(cassandra_hosts, mgmt)
    first.write(batch(b"one"), 1)
    second = owned_store(cassandra_hosts, mgmt)
    second.write(batch(b"two"), 2)
    CassandraStore.write(first, batch(b"one"), 1)  # it goes on with what it had registered
    assert values(second) == {b"two"}
    assert RegisteredStore.last_seq.fget(second) == 2  # type: ignore[attr-defined]


def test_a_count_that_moves_within_its_band_leaves_nothing_behind(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt
) -> None:
    store = owned_store(cassandra_hosts, mgmt)
    for seq, count in enumerate((1, 2, 63, 64, 65, 66, 200, 3, 0), 1):
        made = Batch()
        for cell in list(store.scan_rows(Q, b"t:")):
            made.delete(Q, *cell[:3])
        made.put(Q, b"t:" + ranked(count, b"com.a"), b"", b"", b"%d" % count)
        store.write(made, seq)
        assert [(cell.row, cell.value, cell.seq) for cell in store.scan_rows(Q, b"t:")] == [
            (b"t:" + ranked(count, b"com.a"), b"%d" % count, seq)
        ]
