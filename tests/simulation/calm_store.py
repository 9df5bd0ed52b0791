"""Stores on a modelled cluster without faults."""

from __future__ import annotations

from random import Random

from simulation.baton import Stage
from simulation.cluster import ModelCluster
from simulation.session import ModelSession
from simulation.tally import Tally
from simulation.watched_store import KEYSPACE, LIFETIME
from weft.dispatcher.domain_work import listed_cells
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.mgmt.values import NodeType
from weft.roles.store_registry import MgmtRegistry
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.store import CassandraStore


def calm_session(in_flight: int = 4, session_class: type[ModelSession] = ModelSession) -> ModelSession:
    stage, tally = Stage(Random(1)), Tally()
    return session_class(stage, ModelCluster(stage.random, tally, stage.later), tally, in_flight)


def calm_store() -> CassandraStore:
    return CassandraStore(calm_session(), KEYSPACE, LIFETIME)


def calm_registered_store() -> RegisteredStore:
    mgmt = MemoryMgmt()
    lease = mgmt.register(NodeType.INDEX_BUILDER, "owner")
    return RegisteredStore(calm_session(), KEYSPACE, LIFETIME).own(MgmtRegistry(mgmt, lease), listed_cells)
