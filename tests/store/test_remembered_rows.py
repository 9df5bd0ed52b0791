"""The list of domains with work in a cluster: its owner's memory, made again by the next one."""

from __future__ import annotations

import pytest

from support.cassandra_store import empty, owned_store, shared_session
from weft.dispatcher.domain_work import WORK, list_row
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.errors import OwnerReplaced
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.model.versions import BASES
from weft.store.api import Batch, Reader
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.registry import decode_batch
from weft.store.memory import MemoryStore
from weft.store.tables import Table

NOW = 1_770_000_000_000
DOMAINS = [b"com.d%02d" % number for number in range(30)]


@pytest.fixture
def mgmt(cassandra_hosts: tuple[str, ...]) -> MemoryMgmt:
    empty(shared_session(cassandra_hosts)[0])
    return MemoryMgmt()


def offer(store: RegisteredStore | MemoryStore, phase: LinkPhase, number: int) -> None:
    """Give each domain a link, in a round of its own."""
    links = LinkRound(store, 2)
    for domain in DOMAINS[:: number + 1]:
        place = domain, b"%s/%d" % (domain, number)
        links.read([place])
        links.put(*place, LinkRecord(url="https://a/", phase=phase, due=NOW + number, discovered=NOW))
    store.write(Batch(links.cells()), store.last_seq + 1)


def offer_all(store: RegisteredStore | MemoryStore) -> None:
    for number, phase in enumerate((LinkPhase.DUE, LinkPhase.NEW, LinkPhase.GIVEN, LinkPhase.DUE, LinkPhase.GIVEN)):
        offer(store, phase, number)


def listed(reader: Reader) -> list[tuple[bytes, bytes]]:
    return [cell[1:3] for base in range(BASES) for cell in reader.scan(Table.LINKS, list_row(base), WORK)]


def test_an_owner_and_the_next_one_list_the_same_domains_as_an_embedded_store(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt
) -> None:
    embedded = MemoryStore()
    offer_all(embedded)
    first = owned_store(cassandra_hosts, mgmt)
    offer_all(first)
    assert listed(first) == listed(embedded) != []
    second = owned_store(cassandra_hosts, mgmt)
    assert listed(second) == listed(embedded)
    assert [cell[:3] for cell in second.scan_rows(Table.LINKS)] == [c[:3] for c in embedded.scan_rows(Table.LINKS)]


def test_the_list_is_neither_sent_nor_registered(cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt) -> None:
    offer_all(owned_store(cassandra_hosts, mgmt))
    registered = decode_batch(mgmt.hold_writing("h", "test", 0.0).batch, "")
    assert registered.cells
    assert not [key for key in registered.cells if key.startswith(b"lw:")]
    session, keyspace = shared_session(cassandra_hosts)
    assert session.run(f"SELECT row FROM {keyspace.id}.cells LIMIT 1")
    rows = session.run(f"SELECT row FROM {keyspace.id}.cells")
    assert not [row for (row,) in rows if row.startswith(b"lw:")]


def test_a_batch_that_was_refused_is_not_remembered(cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt) -> None:
    first = owned_store(cassandra_hosts, mgmt)
    offer(first, LinkPhase.NEW, 0)
    before = listed(first)
    owned_store(cassandra_hosts, mgmt)
    with pytest.raises(OwnerReplaced):
        offer(first, LinkPhase.GIVEN, 0)
    assert listed(first) == before


def test_all_works_are_read_without_reading_links(
    cassandra_hosts: tuple[str, ...], mgmt: MemoryMgmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = owned_store(cassandra_hosts, mgmt)
    offer_all(store)
    asked = []
    pages = store._session.pages

    def counted(request: object) -> object:
        asked.append(request)
        return pages(request)  # type: ignore[arg-type]

    monkeypatch.setattr(store._session, "pages", counted)
    assert len(list(store.column(Table.LINKS, b"l:", b"domain", b"work"))) == len(DOMAINS)
    assert len(asked) == BASES
    assert {request.values[1] for request in asked} == {store.keyspace.shards}  # type: ignore[attr-defined]
