"""A control plane copied into one of the other engine: every row under its number, and work goes on with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.mgmt_audit import audit
from weft.errors import LeaseLost, MgmtError
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.sql import moving
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.mgmt import SqlMgmt
from weft.mgmt.sql.migrations import MARKER, schema_text
from weft.mgmt.sql.moving import MOVED, STAYING
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.story import story
from weft.mgmt.values import (
    Address,
    AdoptedIndex,
    Lease,
    NewLink,
    NodeState,
    NodeType,
    Robots,
    StoreOwner,
    TakenBucket,
)
from weft.model.site import Site

INDEX = AdoptedIndex(StoreOwner("new", "cassandra://a/weft"), 70, b"batch")


@pytest.fixture(params=["sqlite to postgresql", "postgresql to sqlite"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[SqlMgmt, SqlMgmt]]:
    postgres, sqlite = PostgresMgmt(request.getfixturevalue("postgres_url")), SqliteMgmt(tmp_path / "mgmt.db")
    yield (sqlite, postgres) if request.param.startswith("sqlite") else (postgres, sqlite)
    postgres.close()
    sqlite.close()


def used(mgmt: SqlMgmt) -> Lease:
    """Rows in every relation, and links in every state; a link's replacement comes behind it."""
    list(story(mgmt))
    crawler = mgmt.register(NodeType.CRAWLER, "10.10.127.104:5000")
    mgmt.own_slots(crawler)
    mgmt.add([NewLink(f"com.x/{number}", f"https://x.com/{number}", "x.com") for number in range(9)])
    assert mgmt.claim(crawler, 4) is not None
    mgmt.save_robots([Robots(origin="https://a", status=200, body=b"\x00\xff\n\\.")])
    mgmt.save_addresses([Address("a", "1.1.1.1", "1.1.1.1", 9)])
    mgmt.set_sites([Site(name="ä\t\\N.example")])
    mgmt.agree({"index.count": "all"})
    mgmt.own_store(StoreOwner("old", "here:/home"))
    return crawler


def rows(mgmt: SqlMgmt, table: str) -> list[Row]:
    def read(tx: Transaction) -> list[Row]:
        names = ", ".join(f'"{name}"' for name in sorted(tx.columns(table)))
        return sorted(tx.rows(f"SELECT {names} FROM {table}"), key=repr)

    return mgmt._database.read(read)


def test_every_relation_is_moved_or_left_for_a_reason() -> None:
    moved = {relation.name for relation in MOVED}
    assert not moved & STAYING
    for name in ("sqlite", "postgresql"):
        made = set(re.findall(r"CREATE TABLE (\w+)", schema_text(name))) | {MARKER}
        made = {table for table in made if not table.startswith("new_")}
        assert made | {"client"} == moved | STAYING, name


def test_every_row_is_there_under_its_number(pair: tuple[SqlMgmt, SqlMgmt]) -> None:
    old, new = pair
    used(old)
    before = {relation.name: rows(old, relation.name) for relation in MOVED}
    copied = old.copy_into(new, INDEX, "there")
    assert copied == sum(map(len, before.values()))
    for name, expected in before.items():
        if name != "identity":
            assert rows(new, name) == expected, name
            assert expected or name in ("wanted", "web_token"), name
        assert rows(old, name) == expected, name
    assert new.agree({}) == old.agree({})


def test_the_new_one_is_about_the_new_store(pair: tuple[SqlMgmt, SqlMgmt]) -> None:
    old, new = pair
    used(old)
    old.copy_into(new, INDEX, "there")
    assert new.index_store() == INDEX.store
    assert old.index_store() == StoreOwner("old", "here:/home")
    owner = new.register(NodeType.INDEX_BUILDER, "index@a")
    assert new.take_bucket(owner) == TakenBucket(2, 70, b"batch")


def test_work_goes_on_where_it_was(pair: tuple[SqlMgmt, SqlMgmt]) -> None:
    old, new = pair
    crawler = used(old)
    old.copy_into(new, INDEX, "there")
    for node in new.nodes():
        new.tell(Lease(node.id, node.address, node.epoch), NodeState.OFFLINE)
    audit(new)
    with pytest.raises(LeaseLost):
        new.claim(crawler)
    fresh = new.register(NodeType.CRAWLER, "10.10.127.105:5000")
    chunk = new.claim(fresh, 100)
    assert chunk is not None
    assert len(chunk.links) == 9
    assert chunk.id > 2
    new.add([NewLink("com.y", "https://y.com/", "y.com")])
    assert new.claim(fresh, 5) is not None
    audit(new)


def test_many_rows_are_read_page_after_page(pair: tuple[SqlMgmt, SqlMgmt], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "_PAGE", 3)
    old, new = pair
    used(old)
    old.copy_into(new, INDEX, "there")
    assert rows(new, "link") == rows(old, "link")
    assert len(rows(new, "link")) == 15


def test_one_that_is_in_use_is_refused_and_left_alone(pair: tuple[SqlMgmt, SqlMgmt]) -> None:
    old, new = pair
    used(old)
    assert new.is_unused()
    new.set_sites([Site(name="mine")])
    assert not new.is_unused()
    with pytest.raises(MgmtError, match="control plane there: it is not empty; expected a new database"):
        old.copy_into(new, INDEX, "there")
    assert [site.name for site in new.sites()] == ["mine"]
    assert rows(new, "link") == []


def test_a_copy_that_fails_leaves_nothing(pair: tuple[SqlMgmt, SqlMgmt], monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = pair
    used(old)

    def failing(*_: object) -> None:
        raise MgmtError("lost")

    with monkeypatch.context() as patch:
        patch.setattr(moving, "adopt_index", failing)
        with pytest.raises(MgmtError, match="lost"):
            old.copy_into(new, INDEX, "there")
    assert new.is_unused()
    old.copy_into(new, INDEX, "there")
    assert rows(new, "link") == rows(old, "link")
