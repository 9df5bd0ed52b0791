"""Connecting to a cluster, and what its driver says of problems, in plain words."""

from __future__ import annotations

import logging
from typing import Final

from cassandra import (
    AuthenticationFailed,
    ConsistencyLevel,
    DriverException,
    OperationTimedOut,
    ReadFailure,
    ReadTimeout,
    Unauthorized,
    Unavailable,
    UnresolvableContactPoints,
    WriteFailure,
    WriteTimeout,
)
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    TokenAwarePolicy,
)
from cassandra.query import tuple_factory

from weft.errors import StoreError
from weft.store.cassandra.address import ClusterAddress

# Commands tell what is wrong in one sentence; the driver's own lines are for the logs of roles, and only those that
# tell of something wrong.
_driver_log = logging.getLogger("cassandra")
_driver_log.addHandler(logging.NullHandler())
_driver_log.setLevel(logging.WARNING)
# What a cluster warns of (a large batch, say) comes with every answer, and is in its own log.
logging.getLogger("cassandra.protocol").setLevel(logging.ERROR)

PASSING: Final = (
    *(OperationTimedOut, ReadTimeout, WriteTimeout, ReadFailure, WriteFailure, Unavailable, NoHostAvailable),
    ConnectionException,
)
"""The cluster may answer when it is asked again."""
_LOOK_FOR_NODES_EVERY: Final = 30.0
_TOO_MANY_TOMBSTONES: Final = 1
"""A reason that a node tells; see RequestFailureReason in Cassandra."""


def connect(address: ClusterAddress, timeout: float) -> tuple[Cluster, Session]:
    """Raises StoreError with a sentence that names the hosts and the setting."""
    # Without a name it is the data centre of the hosts that were named: a quorum must always be one of the same.
    nearest = DCAwareRoundRobinPolicy(local_dc=address.datacenter)
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(nearest),
        retry_policy=FallthroughRetryPolicy(),  # we repeat by ourselves, until it is acknowledged
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        request_timeout=timeout,
        row_factory=tuple_factory,
    )
    try:
        cluster = Cluster(
            list(address.hosts),
            port=address.port,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            auth_provider=address.login(),
            ssl_context=address.encryption(),
            connect_timeout=timeout,
            idle_heartbeat_interval=10,
            # By default a cluster that was away as a whole is looked for after ten minutes at last.
            reconnection_policy=ExponentialReconnectionPolicy(base_delay=1, max_delay=_LOOK_FOR_NODES_EVERY),
            protocol_version=5,
        )
    except UnresolvableContactPoints as error:
        raise StoreError(str(address), "cannot connect (store.url): no address is known of these names") from error
    try:
        return cluster, cluster.connect()
    except Exception as error:
        cluster.shutdown()
        raise StoreError(str(address), f"cannot connect (store.url): {sentence(error)}") from error


def refusal(address: ClusterAddress, error: DriverException) -> StoreError:
    if isinstance(error, Unauthorized):
        who = f"the user {address.user}" if address.user else "one who does not log in"
        return StoreError(str(address), f"{who} has no right to do this (store.url): {sentence(error)}")
    return StoreError(str(address), f"the cluster refused: {sentence(error)}")


def meets_many_deletes(error: Exception) -> bool:
    """Whether a node gave up reading because of the deleted cells in the way, which it still remembers."""
    return isinstance(error, ReadFailure) and _TOO_MANY_TOMBSTONES in (error.error_code_map or {}).values()


def sentence(error: Exception) -> str:
    if isinstance(error, NoHostAvailable) and isinstance(error.errors, dict) and error.errors:
        host, why = next(iter(error.errors.items()))
        return f"{host}: {sentence(why) if isinstance(why, Exception) else why}"
    if isinstance(error, Unauthorized):
        return " ".join(str(error).partition("message=")[2].strip('"').split())
    return _known_problem(error) or " ".join(str(error).split()) or type(error).__name__


def _known_problem(error: Exception) -> str:
    """What happens often, in plain words; empty: it is something else."""
    known = ""
    match error:
        case OSError():
            # The driver wraps what the system says of each address that it tried.
            known = (error.strerror or "").rpartition("Last error: ")[2]
        case AuthenticationFailed():
            known = "it refuses this user and password"
        case NoHostAvailable():
            known = "none of its nodes can be reached"
        case Unavailable():
            known = f"{error.required_replicas} nodes must answer, and {error.alive_replicas or 'none'} can"
        case ReadTimeout() | WriteTimeout():
            answered = error.received_responses or "none"
            known = f"{error.required_responses} nodes must answer, and {answered} did in time"
        case OperationTimedOut():
            known = "no answer in time"
        case ReadFailure() if meets_many_deletes(error):
            known = (
                "more deleted cells are in the way than a node reads over; repair the cluster, which lets go of those "
                "that are older than three days, or raise tombstone_failure_threshold in its cassandra.yaml"
            )
    return known
