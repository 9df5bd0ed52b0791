"""A node refuses to read over very many tombstones at once: then less is asked for, and somebody is told."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cassandra import own_cluster
from support.cassandra_store import new_registered_store
from tools.cassandra.shape import Shape
from weft.errors import StoreError
from weft.store.api import Batch
from weft.store.cassandra.cluster_session import ClusterSession
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.encoding import cell_key, descending
from weft.store.tables import Table

CLUSTER_PAGE = Path(__file__).parents[2] / "docs/cluster.md"
DOMAIN = b"d:com.c"
STEPS = 20


@pytest.fixture(scope="module")
def limited(request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    """A node that takes 300 tombstones for too many, where others do so at 100,000."""
    limits = {"tombstone_warn_threshold": 200, "tombstone_failure_threshold": 300}
    with own_cluster(request, Shape(settings=limits, is_brief=True)) as cluster:
        yield tuple(cluster.shape.hosts())


@pytest.fixture
def store(limited: tuple[str, ...]) -> Iterator[RegisteredStore]:
    with new_registered_store(limited) as made:
        yield made


def rise(store: RegisteredStore, ends: dict[bytes, int]) -> None:
    """Pages gain references one by one, through every band of the domain's ranking, up to these counts."""
    for count in range(1, max(ends.values()) + 1):
        moved = [name for name, end in ends.items() if count <= end]
        cells: dict[bytes, bytes | None] = {_rank(count, name): b"" for name in moved}
        cells |= {_rank(count - 1, name): None for name in moved if count > 1}
        store.write(Batch(cells), store.last_seq + 1)


def _rank(count: int, name: bytes) -> bytes:
    return cell_key(Table.QUERY.byte, DOMAIN, b"rank", descending(count) + name)


def test_a_ranking_with_many_tombstones_between_its_names_is_read_in_small_pages(store: RegisteredStore) -> None:
    ends = {b"com.c/%d" % number: 1 + number % STEPS for number in range(200)}
    rise(store, ends)
    expected = sorted(descending(count) + name for name, count in ends.items())
    assert [cell.qualifier for cell in store.scan(Table.QUERY, DOMAIN, b"rank")] == expected
    walked = [cell.qualifier for block in store.walk(Table.QUERY) for cell in block.cells]
    assert sorted(walked) == expected


def test_one_with_more_in_a_row_than_the_limit_is_refused_at_once_with_the_setting(store: RegisteredStore) -> None:
    rise(store, {b"com.c/%d" % number: STEPS for number in range(200)})
    session = store._session
    assert isinstance(session, ClusterSession)
    assert session.patience is not None
    with pytest.raises(StoreError, match="tombstone_failure_threshold"):
        list(store.scan(Table.QUERY, DOMAIN, b"rank"))


def documented_limit() -> int:
    """What docs/cluster.md tells everybody to set."""
    found = re.search(r"^tombstone_failure_threshold: (\d+)$", CLUSTER_PAGE.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


@pytest.mark.long
def test_a_page_that_lost_nearly_a_million_references_is_read_with_the_documented_limit(
    request: pytest.FixtureRequest,
) -> None:
    """A delete leaves the same tombstone whether the cell was there or not, so none is put before."""
    limit, left, at_once = documented_limit(), 3, 50_000
    limits = {"tombstone_failure_threshold": limit}
    with (
        own_cluster(request, Shape(settings=limits)) as cluster,
        new_registered_store(tuple(cluster.shape.hosts())) as store,
    ):
        for first in range(left, limit, at_once):
            gone = {_reference(number): None for number in range(first, min(first + at_once, limit))}
            store.write(Batch(dict(gone)), store.last_seq + 1)
        # The last ones: every tombstone is in the way of them.
        store.write(Batch({_reference(limit + number): b"" for number in range(left)}), store.last_seq + 1)
        began = time.monotonic()
        found = list(store.scan(Table.QUERY, b"p:com.c/", b"inlinks"))
        print(f"{left} references behind {limit - left:,} deleted ones: {time.monotonic() - began:.1f} s")
        assert len(found) == left


def _reference(number: int) -> bytes:
    return cell_key(Table.QUERY.byte, b"p:com.c/", b"inlinks", b"com.a/%08d" % number)
