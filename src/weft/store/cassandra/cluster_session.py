"""A connection to a cluster: statements prepared once, many requests at a time, each repeated until it is answered."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Condition, Event
from typing import Any, Final, Protocol

from cassandra import (
    AuthenticationFailed,
    ConsistencyLevel,
    DriverException,
    OperationTimedOut,
    ReadFailure,
    ReadTimeout,
    Unauthorized,
    Unavailable,
    WriteFailure,
    WriteTimeout,
)
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    ResponseFuture,
    Session,
)
from cassandra.connection import ConnectionException
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    TokenAwarePolicy,
)
from cassandra.query import UNSET_VALUE, BatchStatement, BatchType, PreparedStatement, SimpleStatement, tuple_factory

from weft.errors import StoreError
from weft.store.cassandra.address import ClusterAddress
from weft.store.cassandra.statements import Statement, text_of

log = logging.getLogger(__name__)
# Commands tell what is wrong in one sentence; the driver's own lines are for the logs of roles, and only those that
# tell of something wrong.
_driver_log = logging.getLogger("cassandra")
_driver_log.addHandler(logging.NullHandler())
_driver_log.setLevel(logging.WARNING)
# What a cluster warns of (a large batch, say) comes with every answer, and is in its own log.
logging.getLogger("cassandra.protocol").setLevel(logging.ERROR)

_PASSING: Final = (
    *(OperationTimedOut, ReadTimeout, WriteTimeout, ReadFailure, WriteFailure, Unavailable, NoHostAvailable),
    ConnectionException,
)
"""The cluster may answer when it is asked again."""
_LOOK_FOR_NODES_EVERY: Final = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE, _TELL_EVERY = 0.05, 2.0, 30.0
_LARGEST_PAGE: Final = 2_000
"""Rows: who reads on after small pages gets larger ones."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Request:
    statement: Statement
    values: tuple[Any, ...]
    page_size: int | None = None


class CellSession(Protocol):
    """What a store needs of a cluster. Every request is repeated until it is answered, or ends with StoreError."""

    address: ClusterAddress
    name: str
    give_up: Event
    """Once it is set, nothing is repeated any more."""
    waits_for: str
    """Why a request was not answered and is repeated, for people; empty: nothing waits."""

    def write(self, groups: Iterable[Sequence[Request]]) -> None:
        """Have every group acknowledged; a group lies in one partition and is taken in whole. In any order."""

    def read(self, requests: Sequence[Request]) -> list[list[Row]]:
        """All rows of each request, in the order of requests."""

    def pages(self, request: Request) -> Iterator[list[Row]]:
        """The rows of one request page by page; the first page is asked for at once."""

    def close(self) -> None: ...


class ClusterSession:
    """A CellSession. `patience`: seconds that a request is repeated for; None: until its answer or until `give_up`.

    Raises StoreError with a sentence when the cluster refuses, or does not answer in time.
    """

    def __init__(
        self, address: ClusterAddress, *, in_flight: int = 64, timeout: float = 10.0, patience: float | None = 20.0
    ) -> None:
        self.address, self.name = address, str(address)
        self.give_up = Event()
        self._in_flight, self.patience = in_flight, patience
        self.waits_for = ""
        """Why a request was not answered and is repeated, for people; empty: nothing waits."""
        self._cluster, self._session = connect(address, timeout)
        self._prepared: dict[Statement, PreparedStatement] = {}

    def write(self, groups: Iterable[Sequence[Request]]) -> None:
        self._all((self._bound_group(group) for group in groups), lambda _: None)

    def read(self, requests: Sequence[Request]) -> list[list[Row]]:
        found: list[list[Row]] = [[] for _ in requests]
        bound = (self._bound(request) for request in requests)

        def keep(answer: tuple[int, ResponseFuture]) -> None:
            number, future = answer
            found[number] = list(future.result())

        self._all(bound, keep)
        return found

    def pages(self, request: Request) -> Iterator[list[Row]]:
        return _Pages(self, self._bound(request), request.page_size or _LARGEST_PAGE)

    def run(self, text: str, *, from_one_node: bool = False) -> list[Row]:
        """A statement of the schema, or of the cluster's own tables."""
        level = ConsistencyLevel.LOCAL_ONE if from_one_node else ConsistencyLevel.LOCAL_QUORUM
        return list(self._again(lambda: self._session.execute(SimpleStatement(text, consistency_level=level))))

    @property
    def datacenter(self) -> str:
        """Of the hosts that this process asks."""
        host = self._cluster.get_control_connection_host()
        return "" if host is None else str(host.datacenter)

    @property
    def nodes(self) -> int:
        """How many nodes that data centre has, up or down."""
        return sum(host.datacenter == self.datacenter for host in self._cluster.metadata.all_hosts())

    def close(self) -> None:
        self.give_up.set()
        self._cluster.shutdown()

    def _bound(self, request: Request) -> Any:
        bound = self._prepare(request.statement).bind(_values(request))
        bound.is_idempotent = True
        if request.page_size is not None:
            bound.fetch_size = request.page_size
        return bound

    def _bound_group(self, group: Sequence[Request]) -> Any:
        if len(group) == 1:
            return self._bound(group[0])
        batch = BatchStatement(batch_type=BatchType.UNLOGGED)
        batch.is_idempotent = True
        for request in group:
            batch.add(self._prepare(request.statement).bind(_values(request)))
        return batch

    def _prepare(self, statement: Statement) -> PreparedStatement:
        prepared = self._prepared.get(statement)
        if prepared is None:
            text = text_of(statement, self.address.keyspace)
            prepared = self._again(lambda: self._session.prepare(text))
            prepared.is_idempotent = True
            self._prepared[statement] = prepared
        return prepared

    def _all(self, statements: Iterable[Any], keep: Callable[[tuple[int, ResponseFuture]], None]) -> None:
        waiting = _Waiting(self)
        flight = _Flight(self._session, self._in_flight)
        try:
            failed = flight.send(enumerate(statements), keep)
            while failed:
                waiting.pause(failed[0][2])
                failed = flight.send(((number, statement) for number, statement, _ in failed), keep)
            waiting.over()
        except DriverException as error:
            raise refusal(self.address, error) from error

    def _again(self, ask: Callable[[], Any]) -> Any:
        waiting = _Waiting(self)
        while True:
            try:
                answer = ask()
                waiting.over()
                return answer
            except _PASSING as error:
                waiting.pause(error)
            except DriverException as error:
                raise refusal(self.address, error) from error

    def ask_async(self, statement: Any, after: bytes | None = None) -> ResponseFuture:
        """`after`: where the last page of its answer ended; the driver does not look at the statement's own."""
        return self._session.execute_async(statement, paging_state=after)

    def answered(self, future: ResponseFuture, again: Callable[[], ResponseFuture]) -> Any:
        """What a request gave; asked `again` while the cluster cannot answer."""
        waiting = _Waiting(self)
        while True:
            try:
                answer = future.result()
                waiting.over()
                return answer
            except _PASSING as error:
                waiting.pause(error)
                future = again()
            except DriverException as error:
                raise refusal(self.address, error) from error


class _Flight:
    """Sends many statements, a bounded number at a time, and tells which of them were not answered."""

    def __init__(self, session: Session, most: int) -> None:
        self._session, self._most = session, most
        self._changed = Condition()
        self._ended: deque[tuple[int, Any, ResponseFuture]] = deque()

    def send(
        self, statements: Iterable[tuple[int, Any]], keep: Callable[[tuple[int, ResponseFuture]], None]
    ) -> list[tuple[int, Any, Exception]]:
        failed: list[tuple[int, Any, Exception]] = []
        under_way = 0
        for number, statement in statements:
            if under_way >= self._most:
                under_way -= self._take(keep, failed)
            future = self._session.execute_async(statement)
            under_way += 1
            ended = (number, statement, future)
            future.add_callbacks(self._note, self._note, callback_args=(ended,), errback_args=(ended,))
        while under_way:
            under_way -= self._take(keep, failed)
        return failed

    def _note(self, _: object, ended: tuple[int, Any, ResponseFuture]) -> None:
        with self._changed:
            self._ended.append(ended)
            self._changed.notify()

    def _take(
        self, keep: Callable[[tuple[int, ResponseFuture]], None], failed: list[tuple[int, Any, Exception]]
    ) -> int:
        """Wait for at least one; returns how many ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended)
            ended, self._ended = self._ended, deque()
        for number, statement, future in ended:
            try:
                future.result()
                keep((number, future))
            except _PASSING as error:
                failed.append((number, statement, error))
        return len(ended)


class _Waiting:
    """How long a request that the cluster cannot answer is repeated, with pauses that grow."""

    def __init__(self, session: ClusterSession) -> None:
        self._session, self._address = session, session.address
        self._until = None if session.patience is None else time.monotonic() + session.patience
        self._pause, self._told = _FIRST_PAUSE, 0.0

    def pause(self, error: Exception) -> None:
        problem = _sentence(error)
        if self._until is not None and time.monotonic() >= self._until:
            raise StoreError(str(self._address), f"the cluster does not answer: {problem}") from error
        self._session.waits_for = f"{self._address} does not answer: {problem}"
        if self._session.give_up.wait(self._pause):
            raise StoreError(str(self._address), f"stopped while the cluster did not answer: {problem}") from error
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        if self._pause == _LONGEST_PAUSE and time.monotonic() >= self._told:
            log.warning("waiting for the cluster store=%s reason=%s", self._address, problem)
            self._told = time.monotonic() + _TELL_EVERY

    def over(self) -> None:
        """It was answered."""
        if self._pause > _FIRST_PAUSE:
            self._session.waits_for = ""


class _Pages(Iterator[list[Row]]):
    """Pages grow, and are asked for ahead once they are large: who wants the first few rows pays for no more."""

    def __init__(self, session: ClusterSession, statement: Any, size: int) -> None:
        self._session, self._statement, self._size = session, statement, size
        self._after: bytes | None = None
        self._has_more = True
        self._future: ResponseFuture | None = self._ask()

    def _ask(self) -> ResponseFuture:
        return self._session.ask_async(self._statement, self._after)

    def __next__(self) -> list[Row]:
        if not self._has_more:
            raise StopIteration
        result = self._session.answered(self._future or self._ask(), self._ask)
        rows = list(result.current_rows)
        self._future, self._after, self._has_more = None, result.paging_state, result.has_more_pages
        if self._has_more and self._size >= _LARGEST_PAGE:
            self._future = self._ask()
        elif self._has_more:
            self._size = self._statement.fetch_size = min(4 * self._size, _LARGEST_PAGE)
        return rows


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
    try:
        return cluster, cluster.connect()
    except Exception as error:
        cluster.shutdown()
        raise StoreError(str(address), f"cannot connect (store.url): {_sentence(error)}") from error


def refusal(address: ClusterAddress, error: DriverException) -> StoreError:
    if isinstance(error, Unauthorized):
        who = f"the user {address.user}" if address.user else "nobody without a login"
        return StoreError(str(address), f"{who} has no right to do this (store.url): {_sentence(error)}")
    return StoreError(str(address), f"the cluster refused: {_sentence(error)}")


def _values(request: Request) -> tuple[Any, ...]:
    """None says nothing; to the cluster it would be a delete."""
    return tuple(UNSET_VALUE if value is None else value for value in request.values)


def _sentence(error: Exception) -> str:
    if isinstance(error, NoHostAvailable) and isinstance(error.errors, dict) and error.errors:
        host, why = next(iter(error.errors.items()))
        return f"{host}: {_sentence(why) if isinstance(why, Exception) else why}"
    if isinstance(error, Unauthorized):
        return " ".join(str(error).partition("message=")[2].strip('"').split())
    return _known_problem(error) or " ".join(str(error).split()) or type(error).__name__


def _known_problem(error: Exception) -> str:
    """What happens often, in plain words; empty: it is something else."""
    match error:
        case AuthenticationFailed():
            return "it refuses this user and password"
        case Unavailable():
            return f"{error.required_replicas} nodes must answer, and {error.alive_replicas or 'none'} can"
        case ReadTimeout() | WriteTimeout():
            return f"{error.required_responses} nodes must answer, and {error.received_responses or 'none'} did in time"
        case OperationTimedOut():
            return "no answer in time"
    return ""
