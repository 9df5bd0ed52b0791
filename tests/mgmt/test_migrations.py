"""A control plane of an older weft: opened, it has the schema of this one and every row it had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.mgmt_audit import audit
from weft.errors import MgmtError, MgmtForeign, MgmtOutdated
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.relations import RELATIONS
from weft.mgmt.sql import postgres_database, sqlite_database
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.dialect import DIALECTS, Dialect
from weft.mgmt.sql.mgmt import SqlMgmt
from weft.mgmt.sql.migrations import Migration, migrations
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.story import SERVER, story
from weft.mgmt.values import Address, NewLink, NodeId, NodeState, NodeType, Robots
from weft.model.site import Site

RELEASED = {"001_relations": "6ba81f4b9273798a11bb7bbed86bf36aaae8b0ca5e94f1d5588c8d7e6f374892"}
"""Migrations that users' databases have seen, with a digest of their files."""

ANOTHER_TYPE = """
INSERT INTO host (host, type, state, health, asked, epoch, seen)
VALUES ('10.10.127.103:5000', 'Another Role', 'offline', 'healthy', 'online', 0, 0)
"""


OLD_COLUMNS = {
    "host": '"index", host, type, state, health, asked, epoch, seen, "row", placed, acknowledged',
    "chunk": "id",
    "link": '"index", link, kind, uri, web_host, state, chunk_id, node, claim, losses, priority, known_etag, '
    "known_modified, result_claim, status, error, started, ended, size, retry_after, etag, last_modified, location, "
    "content_type, warc_node, warc_file, warc_offset, warc_length, replacement, replacement_claim",
    "crawler": "*",
    "index_builder": '"index", chunk_id, ib_host, ib_task, attempt, lost_leases, errors, reason',
    "index_server": '"index", "row", chunk_id, is_host, number',
    "pending_host": "web_host, pending, ready_at, slot",
    "robots": "origin, status, body, fetched, expires",
    "address": "web_host, ip, ip_key, expires, reason",
    "slot": "number, node, is_leaving",
    "site": "name, scope, is_excluded, seeds, settings",
    "tally": "*",
}
"""What the tables of 0.1.0 hold, in an order in which rows only refer to rows that are there."""
NEW_COLUMNS = OLD_COLUMNS | {
    "host": OLD_COLUMNS["host"].replace("placed", "1"),
    "index_server": '"index", "row", chunk_id, is_host, "index"',
}
"""What they are filled from."""
NUMBERED = {"host": "index", "chunk": "id", "link": "index", "crawler": "index", "index_server": "index"}


PLACED_AGAIN = """
INSERT INTO index_server ("row", chunk_id, is_host, number) SELECT "row", chunk_id, is_host, 2 FROM index_server
"""
"""A chunk that was built again, because the index was lost, was placed again."""


@dataclass
class Place:
    open: Callable[..., SqlMgmt]
    """With a BeforeMigration, or without."""
    module: object
    """Which runs the migrations."""
    open_another: Callable[[], SqlMgmt]
    """A second, empty control plane."""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    opened: list[SqlMgmt] = []

    def keep(mgmt: SqlMgmt) -> SqlMgmt:
        opened.append(mgmt)
        return mgmt

    if request.param == "sqlite":
        another = tmp_path / "another.db"
        yield Place(
            lambda **about: keep(SqliteMgmt(tmp_path / "mgmt.db", **about)),
            sqlite_database,
            lambda: keep(SqliteMgmt(another)),
        )
    else:
        server, url = request.getfixturevalue("postgres_server"), request.getfixturevalue("postgres_url")
        place = server.url(server.make_schema())
        yield Place(
            lambda **about: keep(PostgresMgmt(url, **about)), postgres_database, lambda: keep(PostgresMgmt(place))
        )
    for mgmt in opened:
        mgmt.close()


@pytest.fixture
def old(place: Place, monkeypatch: pytest.MonkeyPatch) -> SqlMgmt:
    """As weft 0.1.0 left it, with rows in every relation."""

    def of_version_1(dialect: Dialect) -> list[Migration]:
        return migrations(dialect)[:1]

    new = place.open_another()
    list(story(new))
    new.own_slots(new.register(NodeType.CRAWLER, "10.10.127.104:5000"))
    new.save_robots([Robots(origin="https://a", status=200, body=b"x")])
    new.save_addresses([Address("a", "1.1.1.1", "1.1.1.1", 9)])
    new.set_sites([Site(name="a")])
    with monkeypatch.context() as patched:
        patched.setattr(place.module, "migrations", of_version_1)
        mgmt = place.open()
    for table, columns in OLD_COLUMNS.items():
        found = new._database.read(partial(_all, table, NEW_COLUMNS[table]))
        mgmt._database.write(partial(_fill, table, columns, found))
    if place.module is postgres_database:
        for table, number in NUMBERED.items():
            mgmt._database.write(partial(_continue_numbers, table, number))
    mgmt._database.write(lambda tx: tx.run(PLACED_AGAIN))
    return mgmt


def _continue_numbers(table: str, number: str, tx: Transaction) -> None:
    newest = f'(SELECT max("{number}") FROM {table})'
    tx.rows(f"SELECT setval(pg_get_serial_sequence('{table}', '{number}'), {newest})")


def _all(table: str, columns: str, tx: Transaction) -> list[Row]:
    return sorted(tx.rows(f"SELECT {columns} FROM {table}"), reverse=table == "link")


def _fill(table: str, columns: str, rows: list[Row], tx: Transaction) -> None:
    for row in rows:
        values = {f"v{'x' * number}": value for number, value in enumerate(row)}
        named = "" if columns == "*" else f"({columns})"
        tx.run(f"INSERT INTO {table} {named} VALUES ({', '.join(f':{name}' for name in values)})", **values)


def _run(statement: str, tx: Transaction) -> object:
    return tx.run(statement)


def rows(mgmt: SqlMgmt) -> dict[str, object]:
    others = ("host", "pending_host", "index_server")
    shown = {relation: mgmt.table(relation) for relation in RELATIONS if relation not in others}
    columns = OLD_COLUMNS["pending_host"]
    waiting = mgmt._database.read(lambda tx: tx.rows(f"SELECT {columns} FROM pending_host ORDER BY web_host"))
    slots = mgmt._database.read(lambda tx: tx.rows("SELECT number, node, is_leaving FROM slot ORDER BY number"))
    return shown | {"nodes": mgmt._database.read(_nodes), "pending_host": waiting, "slot": slots}


def _nodes(tx: Transaction) -> object:
    return tx.rows('SELECT "index", host, type, state, asked, epoch, seen, "row" FROM host')


def versions(mgmt: SqlMgmt) -> list[int]:
    found = mgmt._database.read(lambda tx: tx.rows("SELECT version FROM weft_schema ORDER BY version"))
    return [version for (version,) in found]


def test_a_control_plane_of_0_1_0_is_migrated_and_keeps_every_row(place: Place, old: SqlMgmt) -> None:
    before = rows(old)
    assert all(before.values())
    assert versions(old) == [1]
    with pytest.raises(MgmtError, match=r"(?i)check"):
        old._database.write(lambda tx: tx.run(ANOTHER_TYPE))
    old.close()
    new = place.open()
    assert versions(new) == [step.number for step in migrations(DIALECTS["sqlite"])]
    assert rows(new) == before
    audit(new)
    lease = new.register(NodeType.INDEX_SERVER, "10.10.127.105:5000", row=2)
    assert lease.node > 4, "numbers of nodes continue"
    first, second = new.table("index_server")
    assert first == {"index": 1, "row": 1, "chunk_id": 1, "is_host": SERVER, "state": "pending"}, "it is there once"
    assert (second["is_host"], second["state"]) == (lease.address, "pending")
    new.acknowledge(lease, 1)
    assert [row["state"] for row in new.table("index_server")] == ["pending", "indexed"]


def test_whoever_only_asks_is_refused_an_older_one_and_changes_nothing(place: Place, old: SqlMgmt) -> None:
    before = rows(old)
    with pytest.raises(MgmtOutdated, match=r"an older weft made it \(version 1, this one has \d+\)"):
        place.open(before_migration=None)
    assert (versions(old), rows(old)) == ([1], before)
    old.close()
    place.open()
    assert place.open(before_migration=None).sites(), "one that is up to date is read"
    assert place.open_another().counts(), "an empty one is made"


def test_what_is_seen_to_before_a_migration_may_refuse_it(place: Place, old: SqlMgmt) -> None:
    before, asked = rows(old), list[int]()

    def refuse(version: int) -> None:
        asked.append(version)
        if len(asked) == 1:
            raise MgmtForeign("the store cannot be opened")

    with pytest.raises(MgmtForeign, match="the store cannot be opened"):
        place.open(before_migration=refuse)
    assert (versions(old), rows(old)) == ([1], before)
    old.close()
    place.open(before_migration=refuse).close()
    place.open(before_migration=refuse)
    assert asked == [1, 1], "once for each try"


def test_slots_of_an_older_weft_keep_their_owners(place: Place, old: SqlMgmt) -> None:
    old.close()
    new = place.open()
    owners = new._database.read(lambda tx: tx.rows("SELECT DISTINCT pool, node FROM slot"))
    assert sorted(owners, key=str) == [("addresses", 4), ("addresses", None)]
    other = new.register(NodeType.CRAWLER, "10.10.127.106:5000")
    mine = new.own_slots(other)
    assert mine == frozenset(range(128, 213)), "the first half is another's"
    new.tell(replace(other, node=NodeId(4), epoch=1), NodeState.OFFLINE)
    assert new.own_slots(other) == frozenset(range(43)) | mine


def test_waits_that_an_older_weft_set_while_its_clock_was_ahead_are_cut(place: Place, old: SqlMgmt) -> None:
    day = 86_400_000
    old._database.write(lambda tx: tx.run("UPDATE pending_host SET ready_at = ready_at + :day", day=day))
    old._database.write(lambda tx: tx.run("UPDATE host SET seen = seen + :day", day=day))
    old.close()
    new = place.open()
    host = next(str(row["web_host"]) for row in new.table("pending_host") if row["web_host"] != "a")
    new.add([NewLink("z", "https://z/", host)])
    assert new.claim(new.register(NodeType.CRAWLER, "10.10.127.106:5000")) is not None
    assert new.counts().clock_jump is not None


def test_waits_that_an_older_weft_set_have_no_reason(place: Place, old: SqlMgmt) -> None:
    old._database.write(lambda tx: tx.run("UPDATE pending_host SET ready_at = ready_at + 3600000 WHERE web_host = 'a'"))
    old.close()
    new = place.open()
    new.add([NewLink("a", "https://a/", "a")])
    assert [(host.web_host, host.reason) for host in new.resting_hosts(0).hosts] == [("a", "")]
    new.defer({"a": 7_200_000}, {"a": "timeout"})
    assert [host.reason for host in new.resting_hosts(0).hosts] == ["timeout"]


def test_references_to_nodes_are_still_enforced(place: Place, old: SqlMgmt) -> None:
    old.close()
    new = place.open()
    for change in ("DELETE FROM host", "UPDATE crawler SET c_host = 'nobody'", "UPDATE slot SET node = 99"):
        with pytest.raises(MgmtError, match=r"(?i)foreign key"):
            new._database.write(partial(_run, change))


def test_states_of_nodes_are_still_checked(place: Place, old: SqlMgmt) -> None:
    old.close()
    new = place.open()
    for change in ("state = 'up'", "health = 'fine'", "asked = 'offline'"):
        with pytest.raises(MgmtError, match=r"(?i)check"):
            new._database.write(partial(_run, f"UPDATE host SET {change}"))


def test_a_new_type_of_node_needs_no_migration_and_stops_no_older_weft(place: Place) -> None:
    mgmt = place.open()
    mgmt._database.write(lambda tx: tx.run(ANOTHER_TYPE))
    mgmt._database.write(lambda tx: tx.run("UPDATE host SET state = 'online', seen = :lately", lately=tx.now - 120_000))
    lease = mgmt.register(NodeType.CRAWLER, "10.10.127.100:5000")
    mgmt.heartbeat(lease)
    states = mgmt._database.read(lambda tx: tx.rows("SELECT state FROM host WHERE type = 'Another Role'"))
    assert states == [("offline",)], "its lease has ended, whatever it was"
    with pytest.raises(
        MgmtForeign, match=r"its type is 'Another Role', registered by a newer weft; expected one of: Craw"
    ):
        mgmt.nodes()


def test_a_released_migration_is_never_edited() -> None:
    folder = files("weft.mgmt.sql.schema")
    for name, digest in RELEASED.items():
        found = sorted(file.name for file in folder.iterdir() if file.name.startswith(f"{name}."))
        text = b"".join((folder / file).read_bytes() for file in found)
        assert sha256(text).hexdigest() == digest, f"{name} was edited; add the next number instead"
