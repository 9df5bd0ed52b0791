"""Owners of a cluster's index that are killed, replaced and come back: every batch that was begun is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from random import Random
from threading import Thread

import pytest

from support.cassandra_store import LIFETIME, empty, owned_store, shared_session
from weft.dispatcher.domain_work import listed_cells
from weft.errors import BatchRefused, OwnerReplaced, StoreError, StoreForeign, StoreUnwritable
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.mgmt.values import NodeState, NodeType, TakenBucket
from weft.roles.store_registry import MgmtRegistry
from weft.roles.writing_hold import WritingHold
from weft.store.api import Batch, Column
from weft.store.cassandra.cell_session import Request, Row
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.store import CassandraStore
from weft.store.cassandra.view import CassandraView
from weft.store.cassandra.writing import LARGEST
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

    def half(groups: Iterable[list[Request]], may_send: Callable[[], None]) -> None:
        written(list(groups)[::2], may_send)
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

    def half(groups: Iterable[list[Request]], may_send: Callable[[], None]) -> None:
        written(list(groups)[::2], may_send)
        raise StoreError("here", "the cluster does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(store._session, "write", half)
        with pytest.raises(StoreError, match="does not answer"):
            store.write(batch(b"one"), 1)
    with pytest.raises(StoreUnwritable, match="begun and not finished"):
        store.write(batch(b"other"), 1)
    store.own(store._registry, listed_cells)
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


def test_a_name_that_is_moving_between_two_bands_is_shown_to_readers_once_and_to_checks_twice(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt
) -> None:
    store = owned_store(cassandra_hosts, mgmt)
    for seq, count in ((1, 3), (2, 5)):
        made = Batch()
        made.put(Q, b"t:" + ranked(count, b"com.a"), b"", b"", b"%d" % count)
        made.put(Q, b"t:" + ranked(4, b"com.b"), b"", b"", b"4")
        store.write(made, seq)  # the delete of 3 is still on its way
    reader = CassandraView(*shared_session(cassandra_hosts))
    assert [cell.value for cell in reader.scan_rows(Q, b"t:")] == [b"5", b"4"]
    assert [cell.value for cell in store.scan_rows(Q, b"t:")] == [b"5", b"4", b"3"]


def test_rows_of_a_ranking_hold_nothing_else(cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt) -> None:
    """Whoever reads the top asks the ranking alone, and would not find it."""
    store = owned_store(cassandra_hosts, mgmt)
    for row, family in ((b"t:row", b""), (b"t:" + ranked(3, b"com.a"), b"family")):
        made = Batch()
        made.put(Q, row, family, b"", b"1")
        with pytest.raises(BatchRefused, match="is no place in a ranking"):
            store.write(made, 1)


def test_the_top_is_read_from_its_ranking_alone(cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt) -> None:
    store = owned_store(cassandra_hosts, mgmt)
    made = Batch()
    for number in range(300):
        made.put(Q, b"t:" + ranked(number % 7, b"com.a/%d" % number), b"", b"", b"%d" % (number % 7))
    store.write(made, 1)
    asked, pages = list[Request](), store._session.pages

    def counted(request: Request) -> Iterator[list[Row]]:
        asked.append(request)
        return pages(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store._session, "pages", counted)
        best = [cell.row for cell in islice(store.scan_rows(Q, b"t:"), 20)]
        assert len(asked) == 65, "one request for the head, and one for each base"
        assert best == [cell.row for cell in store.scan_rows(Q, b"t:")][:20]
        assert len(list(store.scan_rows(Q, b"t:"))) == 300, "pages beyond the first"


def test_a_row_of_many_pages_is_read_to_its_end_once(cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt) -> None:
    store, made = owned_store(cassandra_hosts, mgmt), Batch()
    names = [b"%05d" % number for number in range(5_000)]
    for name in names:
        made.put(Q, b"row", b"f", name, b"")
    store.write(made, 1)
    assert [cell.qualifier for cell in islice(store.scan(Q, b"row", b"f"), 9_999)] == names
    assert [cell.qualifier for cell in islice(store.scan(Q, b"row", b"f", reverse=True), 9_999)] == names[::-1]


def test_a_store_that_knows_more_than_the_control_plane_is_refused(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt
) -> None:
    owned_store(cassandra_hosts, mgmt).write(batch(b"one"), 1)
    put_back = MemoryMgmt()
    with pytest.raises(StoreForeign, match=r"holds batches up to seq 1, and the control plane \(mgmt.url\) knows of 0"):
        owned_store(cassandra_hosts, put_back)


def test_one_that_is_replaced_while_it_takes_over_does_not_think_that_batches_were_lost(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt
) -> None:
    session, keyspace = shared_session(cassandra_hosts)
    slow, lease = RegisteredStore(session, keyspace, LIFETIME), mgmt.register(NodeType.INDEX_BUILDER, "index@slow")

    class Overtaken(MgmtRegistry):
        def take(self) -> TakenBucket:
            taken = super().take()
            mgmt.tell(lease, NodeState.OFFLINE)
            owned_store(cassandra_hosts, mgmt).write(batch(b"one"), 1)
            return taken

    slow.own(Overtaken(mgmt, lease), listed_cells)
    with pytest.raises(OwnerReplaced):
        slow.write(batch(b"late"), 1)
    assert values(slow) == {b"one"}


def test_whoever_holds_writing_completes_the_last_batch(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = owned_store(cassandra_hosts, mgmt)
    owner.write(batch(b"one"), 1)

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(owner._session, "write", killed)
        with pytest.raises(KilledError):
            owner.write(batch(b"two"), 2)
    session, keyspace = shared_session(cassandra_hosts)
    reader = RegisteredStore(session, keyspace, LIFETIME)
    assert values(reader) == {b"one"}
    with WritingHold(mgmt, "`weft verify`") as hold:
        reader.complete(hold.last, hold.check)
        assert (values(reader), reader.last_seq) == ({b"two"}, 2)
        hold.check()


def test_an_owner_waits_while_writing_is_held(cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt) -> None:
    owner = owned_store(cassandra_hosts, mgmt)
    with WritingHold(mgmt, "`weft verify`") as hold:
        writing = Thread(target=owner.write, args=(batch(b"one"), 1))
        writing.start()
        writing.join(0.3)
        assert writing.is_alive()
        assert hold.last.seq == owner.complete_to() == 0
    writing.join(30)
    assert (values(owner), owner.last_seq) == ({b"one"}, 1)


def test_a_hold_that_could_not_be_extended_is_told(mgmt: MemoryMgmt) -> None:
    with WritingHold(mgmt, "`weft verify`", seconds=0.0) as hold, pytest.raises(StoreError, match="did not hold still"):
        hold.check()


def test_a_cell_that_the_cluster_would_refuse_is_refused_before_it_is_registered(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt
) -> None:
    store = owned_store(cassandra_hosts, mgmt)
    large = Batch()
    large.put(Q, b"large", b"f", b"q", Random(1).randbytes(LARGEST))
    with pytest.raises(BatchRefused, match="a cell of query large has"):
        store.write(large, 1)
    nearly = Batch()
    nearly.put(Q, b"large", b"f", b"q", Random(1).randbytes(LARGEST - 1_000))
    store.write(nearly, 1)  # nothing has happened before
    assert store.last_seq == 1
