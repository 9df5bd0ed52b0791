"""What a store asks of a cluster, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol

from weft.store.cassandra.address import ClusterAddress
from weft.store.cassandra.statements import Statement

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

    def write(self, groups: Iterable[Sequence[Request]], may_send: Callable[[], None]) -> None:
        """Have every group acknowledged; a group lies in one partition and is taken in whole. In any order.

        `may_send` is called before each request, the repeated ones too; what it raises ends the write.
        """

    def read(self, requests: Sequence[Request]) -> list[list[Row]]:
        """All rows of each request, in the order of requests."""

    def pages(self, request: Request) -> Iterator[list[Row]]:
        """The rows of one request page by page; the first page is asked for at once."""

    def close(self) -> None: ...
