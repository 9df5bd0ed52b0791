"""A connection to a cluster: statements prepared once, many requests at a time, each repeated until it is answered."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Condition, Event
from typing import Any, Final

from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import ResponseFuture, Session
from cassandra.query import UNSET_VALUE, BatchStatement, BatchType, PreparedStatement, SimpleStatement

from weft.errors import StoreError
from weft.store.cassandra.address import ClusterAddress
from weft.store.cassandra.cell_session import Request, Row
from weft.store.cassandra.connecting import PASSING, connect, meets_many_deletes, refusal, sentence
from weft.store.cassandra.statements import Statement, text_of

log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE, _TELL_EVERY = 0.05, 2.0, 30.0
_LARGEST_PAGE: Final = 2_000
"""Rows: who reads on after small pages gets larger ones."""


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

    def write(self, groups: Iterable[Sequence[Request]], may_send: Callable[[], None]) -> None:
        self._all((self._bound_group(group) for group in groups), lambda _: None, may_send)

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

    def _all(
        self,
        statements: Iterable[Any],
        keep: Callable[[tuple[int, ResponseFuture]], None],
        may_send: Callable[[], None] = lambda: None,
    ) -> None:
        waiting = _Waiting(self)
        flight = _Flight(self._session, self._in_flight, may_send)
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
            except PASSING as error:
                waiting.pause(error)
            except DriverException as error:
                raise refusal(self.address, error) from error

    def ask_async(self, statement: Any, after: bytes | None = None) -> ResponseFuture:
        """`after`: where the last page of its answer ended; the driver does not look at the statement's own."""
        return self._session.execute_async(statement, paging_state=after)

    def answered(
        self, future: ResponseFuture, again: Callable[[], ResponseFuture], can_want_less: Callable[[], bool]
    ) -> Any:
        """What a request gave; asked `again` while the cluster cannot answer.

        `can_want_less` has `again` ask for fewer rows from now on, if that is possible.
        """
        waiting = _Waiting(self)
        while True:
            try:
                answer = future.result()
                waiting.over()
                return answer
            except PASSING as error:
                if not (meets_many_deletes(error) and can_want_less()):
                    waiting.pause(error)
                future = again()
            except DriverException as error:
                raise refusal(self.address, error) from error


class _Flight:
    """Sends many statements, a bounded number at a time, and tells which of them were not answered."""

    def __init__(self, session: Session, most: int, may_send: Callable[[], None]) -> None:
        self._session, self._most, self._may_send = session, most, may_send
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
            self._may_send()
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
            except PASSING as error:
                failed.append((number, statement, error))
        return len(ended)


class _Waiting:
    """How long a request that the cluster cannot answer is repeated, with pauses that grow."""

    def __init__(self, session: ClusterSession) -> None:
        self._session, self._address = session, session.address
        self._until = None if session.patience is None else time.monotonic() + session.patience
        self._pause, self._told = _FIRST_PAUSE, 0.0

    def pause(self, error: Exception) -> None:
        problem = sentence(error)
        if self._until is not None and meets_many_deletes(error):  # asking again does not help
            raise StoreError(str(self._address), f"the cluster refused: {problem}") from error
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
    """Pages grow, and are asked for ahead once they are large: who wants the first few rows pays for no more.

    They shrink for good where a node meets too many deleted cells between so many rows.
    """

    def __init__(self, session: ClusterSession, statement: Any, size: int) -> None:
        self._session, self._statement, self._size = session, statement, size
        self._largest = max(size, _LARGEST_PAGE)
        self._after: bytes | None = None
        self._has_more = True
        self._future: ResponseFuture | None = self._ask()

    def _ask(self) -> ResponseFuture:
        return self._session.ask_async(self._statement, self._after)

    def __next__(self) -> list[Row]:
        if not self._has_more:
            raise StopIteration
        result = self._session.answered(self._future or self._ask(), self._ask, self._can_want_less)
        rows = list(result.current_rows)
        self._future, self._after, self._has_more = None, result.paging_state, result.has_more_pages
        if self._has_more and self._size >= self._largest:
            self._future = self._ask()
        elif self._has_more:
            self._size = self._statement.fetch_size = min(4 * self._size, self._largest)
        return rows

    def _can_want_less(self) -> bool:
        if self._size == 1:
            return False
        self._largest = self._size = self._statement.fetch_size = max(1, self._size // 8)
        return True


def _values(request: Request) -> tuple[Any, ...]:
    """None says nothing; to the cluster it would be a delete."""
    return tuple(UNSET_VALUE if value is None else value for value in request.values)
