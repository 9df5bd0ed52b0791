"""Opening a cluster by the settings: everything that can be wrong is said in one sentence before anything is done."""

from __future__ import annotations

from typing import Final

from weft.config import Settings
from weft.errors import StoreForeign, UsageError
from weft.store.cassandra.address import ClusterAddress, parse_address

try:
    import cassandra  # noqa: F401
except ImportError as error:
    raise UsageError(
        "store.url names a Cassandra cluster, and the package cassandra-driver is not installed; "
        "install it with `pip install 'weft[cassandra]'`"
    ) from error

from weft.store.cassandra.cluster_session import ClusterSession
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.schema import Keyspace, empty_keyspace, read_keyspace
from weft.store.cassandra.store import CassandraStore
from weft.store.cassandra.view import CassandraView

_DAY: Final = 86_400
_LONGEST: Final = 20 * 365 * _DAY
"""Cassandra takes no longer lifetime."""


def open_view(settings: Settings) -> CassandraView:
    session, keyspace = _connected(parse_address(settings.store.url), patience=20.0)
    return CassandraView(session, keyspace)


def open_unowned(settings: Settings) -> RegisteredStore:
    """For whoever takes it over: requests are repeated until they are answered, or `give_up` is called."""
    session, keyspace = _connected(parse_address(settings.store.url), patience=None)
    return RegisteredStore(session, keyspace, lifetime_of(settings))


def open_to_copy(settings: Settings) -> CassandraStore:
    """For whoever copies another store into it, and nobody owns it yet."""
    session, keyspace = _connected(parse_address(settings.store.url), patience=60.0)
    return CassandraStore(session, keyspace, lifetime_of(settings))


def clear(settings: Settings) -> None:
    """Empty the store, for good."""
    session, _ = _connected(parse_address(settings.store.url), patience=60.0)
    try:
        empty_keyspace(session)
    finally:
        session.close()


def open_session(settings: Settings) -> ClusterSession:
    """For whoever makes the keyspace. Close it."""
    return ClusterSession(parse_address(settings.store.url))


def lifetime_of(settings: Settings) -> int:
    """Seconds that history is kept for."""
    return min(settings.index.keep_days * _DAY, _LONGEST)


def _connected(address: ClusterAddress, patience: float | None) -> tuple[ClusterSession, Keyspace]:
    session = ClusterSession(address, patience=20.0)
    try:
        keyspace = read_keyspace(session)
        _check_datacenter(session, keyspace)
    except BaseException:
        session.close()
        raise
    session.patience = patience
    return session, keyspace


def _check_datacenter(session: ClusterSession, keyspace: Keyspace) -> None:
    """A quorum of another data centre would not see what was written in this one."""
    if keyspace.datacenter and session.datacenter != keyspace.datacenter:
        raise StoreForeign(
            session.name,
            f"this index lives in data centre {keyspace.datacenter}, and the hosts of store.url are in "
            f"{session.datacenter}; name hosts of {keyspace.datacenter}",
        )
