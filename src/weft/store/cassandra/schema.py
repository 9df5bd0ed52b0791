"""The keyspace: its tables, and what was decided for good when it was made."""

# ruff: noqa: S608 - the keyspace is a name that parse_address has checked

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from weft.errors import StoreError, StoreForeign, StoreMissing, UsageError

if TYPE_CHECKING:
    from weft.store.cassandra.cluster_session import ClusterSession

VERSION: Final = 2
SHARDS: Final = 16
"""Partitions stay below 100 MB up to about two hundred million links."""
GC_GRACE: Final = 3 * 24 * 3600
"""Longer than the longest time that a write may be late, with the time between two repairs: a delete that was forgotten
before would let a late put live again."""
_OPTIONS: Final = (
    f"gc_grace_seconds = {GC_GRACE} AND compression = {{'class': 'LZ4Compressor', 'chunk_length_in_kb': 16}} "
    "AND compaction = {'class': 'UnifiedCompactionStrategy', 'only_purge_repaired_tombstones': '%s'}"
)
_CELLS: Final = (
    "(base smallint, shard smallint, row blob, column blob, value blob, PRIMARY KEY ((base, shard), row, column))"
)
# All have the same partitions: what a batch does to one of them is one request, and each node's log has it in whole.
TABLES: Final = {
    "cells": _CELLS,
    "history": _CELLS,
    "ranking": (
        "(base smallint, shard smallint, list blob, domain blob, band bigint, name blob, count bigint, value blob, "
        "PRIMARY KEY ((base, shard), list, domain, band, name)) "
        "WITH CLUSTERING ORDER BY (list ASC, domain ASC, band DESC, name ASC)"
    ),
    "notes": "(name text PRIMARY KEY, value text)",
}
_NOTED: Final = "SELECT value FROM %s.notes WHERE name = 'keyspace'"


class Keyspace(NamedTuple):
    """What is fixed for good."""

    version: int
    shards: int
    id: str
    """Names this store, wherever it is reached from."""
    datacenter: str = ""
    """Where its owners and readers are: a quorum is one of this data centre. Empty: anywhere."""
    made: int = 0
    """When, in milliseconds since 1970."""


def schema_text(keyspace: str, replication: int, datacenter: str = "", *, purge_repaired: bool = True) -> list[str]:
    """The statements that make a keyspace, in order."""
    where = f"'class': 'NetworkTopologyStrategy', '{datacenter or 'replication_factor'}': {replication}"
    # Where each cell has one copy nothing is ever repaired, and tombstones would stay for good.
    options = _OPTIONS % ("true" if purge_repaired and replication > 1 else "false")
    made = [f"CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {{{where}}} AND durable_writes = true"]
    for name, columns in TABLES.items():
        joint = "AND" if " WITH " in columns else "WITH"
        made.append(f"CREATE TABLE IF NOT EXISTS {keyspace}.{name} {columns} {joint} {options}")
    return made


def notes_text(keyspace: str, made: Keyspace) -> list[str]:
    """Written last, and only if nobody else has: a keyspace without them is not finished."""
    stamp = "USING TIMESTAMP 1"
    return [
        f"INSERT INTO {keyspace}.notes (name, value) VALUES ('keyspace', '{_encoded(made)}') {stamp}",
    ]


def make_keyspace(session: ClusterSession, replication: int, now: int, shards: int = SHARDS) -> tuple[Keyspace, bool]:
    """The keyspace of the session's address, and whether it was made now; one that is there is left as it is.

    Killed at any moment, it may be run again: the notes are written last.
    """
    try:
        return read_keyspace(session), False
    except StoreMissing:
        pass
    if replication > session.nodes:
        raise UsageError(
            f"--replication {replication}: data centre {session.datacenter} of {session.name} has {session.nodes} "
            f"node{'s' if session.nodes > 1 else ''}; expected at most that many"
        )
    name, made = session.address.keyspace, Keyspace(VERSION, shards, uuid.uuid4().hex, session.datacenter, now)
    for text in (*schema_text(name, replication, session.datacenter), *notes_text(name, made)):
        session.run(text)
    return read_keyspace(session), True


def empty_keyspace(session: ClusterSession) -> None:
    """Drop every cell at once: one that is deleted by itself would hide what is written later under a lower seq."""
    for table in TABLES:
        if table != "notes":
            session.run(f"TRUNCATE {session.address.keyspace}.{table}")


def made_at(session: ClusterSession) -> int:
    """When the keyspace was made, as one node knows it: for people."""
    found = session.run(_NOTED % session.address.keyspace, from_one_node=True)
    return _decoded(session, found[0][0]).made if found else 0


def read_keyspace(session: ClusterSession) -> Keyspace:
    """Raises StoreMissing or StoreForeign with the command that helps."""
    name = session.address.keyspace
    known = session.run(f"SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{name}'")
    tables = {row[0] for row in known}
    unfinished = "this keyspace (store.url) is unfinished; `weft schema cassandra --apply` finishes it"
    if not tables:
        problem = "there is no such keyspace (store.url); `weft schema cassandra --apply` makes it"
        raise StoreMissing(session.name, problem)
    if tables - TABLES.keys() and TABLES.keys() - tables:
        problem = "this keyspace (store.url) holds tables of another program; nothing was changed"
        raise StoreForeign(session.name, problem)
    if TABLES.keys() - tables:
        raise StoreMissing(session.name, unfinished)
    found = session.run(_NOTED % name)
    if not found:
        raise StoreMissing(session.name, unfinished)
    made = _decoded(session, found[0][0])
    if made.version != VERSION:
        problem = f"this keyspace (store.url) has version {made.version} of weft's tables; this weft uses {VERSION}"
        raise StoreForeign(session.name, problem)
    return made


def _encoded(made: Keyspace) -> str:
    return msgspec.json.encode(made._asdict()).decode()


def _decoded(session: ClusterSession, text: str) -> Keyspace:
    try:
        return Keyspace(**msgspec.json.decode(text, type=dict[str, int | str]))  # type: ignore[arg-type]
    except (msgspec.DecodeError, TypeError) as error:
        raise StoreError(session.name, f"its notes cannot be read: {error}") from error
