"""Stores in a real cluster for tests: one keyspace for each process, emptied for each store."""

from __future__ import annotations

import os
import time
from functools import cache

from weft.dispatcher.domain_work import listed_cells
from weft.mgmt.api import Mgmt
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.mgmt.values import NodeType
from weft.roles.store_registry import MgmtRegistry
from weft.store.cassandra.address import parse_address
from weft.store.cassandra.cluster_session import ClusterSession
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.schema import TABLES, VERSION, Keyspace, notes_text, read_keyspace, schema_text
from weft.store.cassandra.store import CassandraStore

LIFETIME = 30 * 86_400


class SharedSession(ClusterSession):
    """Connecting takes half a second: a store that is closed leaves it open for the next one."""

    def close(self) -> None:
        self.give_up.clear()


FEW_SHARDS = 2
"""There are fewer partitions then, and whoever walks over all of them is faster."""


def shared_session(hosts: tuple[str, ...], shards: int = FEW_SHARDS) -> tuple[ClusterSession, Keyspace]:
    return _session(hosts, shards)


@cache
def _session(hosts: tuple[str, ...], shards: int) -> tuple[ClusterSession, Keyspace]:
    name = f"weft_test_{os.getpid()}_{time.time_ns() % 10**9}"
    session = SharedSession(parse_address(f"cassandra://{','.join(hosts)}/{name}"))
    made = Keyspace(VERSION, shards, name)
    for text in (*schema_text(name, 1, purge_repaired=False), *notes_text(name, made)):
        session.run(text)
    return session, read_keyspace(session)


def empty(session: ClusterSession) -> None:
    """Truncating takes a tenth of a second for each table; deleting would hide what comes later under lower seqs."""
    for table in TABLES:
        name = f"{session.address.keyspace}.{table}"
        if table != "notes" and session.run(f"SELECT * FROM {name} LIMIT 1"):
            session.run(f"TRUNCATE {name}")


def new_store(hosts: tuple[str, ...]) -> CassandraStore:
    session, keyspace = shared_session(hosts)
    empty(session)
    return CassandraStore(session, keyspace, LIFETIME)


def new_registered_store(hosts: tuple[str, ...], shards: int = FEW_SHARDS) -> RegisteredStore:
    session, _ = shared_session(hosts, shards)
    empty(session)
    return owned_store(hosts, MemoryMgmt(), shards)


def owned_store(hosts: tuple[str, ...], mgmt: Mgmt, shards: int = FEW_SHARDS) -> RegisteredStore:
    """As another owner opens what is there."""
    session, keyspace = shared_session(hosts, shards)
    owner = mgmt.register(NodeType.INDEX_BUILDER, "index@test")
    return RegisteredStore(session, keyspace, LIFETIME).own(MgmtRegistry(mgmt, owner), listed_cells)
