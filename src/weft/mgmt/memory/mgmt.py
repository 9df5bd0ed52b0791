"""The control plane in dicts: what each call means, in the plainest words, and the twin that tests run against."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Final, TypeVar

from weft.clock import Clock, SystemClock
from weft.config.sections import MgmtSettings
from weft.mgmt.memory.clock import MemoryClock
from weft.mgmt.memory.identity import MemoryIdentity
from weft.mgmt.memory.nodes import MemoryNodes
from weft.mgmt.memory.overview import archived_of, counts_of, resting_of, rows_of
from weft.mgmt.memory.results import MemoryResults
from weft.mgmt.memory.web_hosts import MemoryWebHosts
from weft.mgmt.memory.web_tokens import MemoryWebTokens
from weft.mgmt.memory.wishes import MemoryWishes
from weft.mgmt.values import ArchivedRecord, Counts, RestingHosts

Twin = TypeVar("Twin", bound=type)


_CHANGES_NOTHING: Final = frozenset(
    {
        "addresses",
        "archived",
        "close",
        "counts",
        "details",
        "index_store",
        "known",
        "nodes",
        "outcomes",
        "robots",
        "sites",
    }
    | {"rates", "resting_hosts", "table", "unbuilt", "web_tokens", "wishes", "writing_holders"}
)


def one_call_at_a_time(twin: Twin) -> Twin:
    """Every public method waits until no other one runs, whatever the thread; those that write look at the clock."""
    lock = RLock()

    def waiting(method: Callable[..., object]) -> Callable[..., object]:
        @wraps(method)
        def call(mgmt: MemoryMgmt, *arguments: object, **named: object) -> object:
            with lock:
                if method.__name__ in _CHANGES_NOTHING:
                    return method(mgmt, *arguments, **named)
                mgmt._cut_waits()
                answer = method(mgmt, *arguments, **named)
                mgmt._note_time()
                return answer

        return call

    for name in [name for name in dir(twin) if not name.startswith("_")]:
        setattr(twin, name, waiting(getattr(twin, name)))
    return twin


@one_call_at_a_time
class MemoryMgmt(
    MemoryResults,
    MemoryWishes,
    MemoryNodes,
    MemoryWebHosts,
    MemoryWebTokens,
    MemoryIdentity,
    MemoryClock,
):
    """For one process; gone when it is."""

    def __init__(self, clock: Clock | None = None, settings: MgmtSettings | None = None) -> None:
        super().__init__(clock or SystemClock(), settings or MgmtSettings())

    def counts(self) -> Counts:
        return counts_of(self._state, self.nodes(), self._clock.now())

    def resting_hosts(self, wait: int, most: int = 10) -> RestingHosts:
        return resting_of(self._state, wait, most, self._clock.now())

    def archived(self, after: int = 0, limit: int = 10_000) -> list[ArchivedRecord]:
        return archived_of(self._state, after, limit)

    def table(self, relation: str, after: int = 0, limit: int = 100) -> list[dict[str, object]]:
        rows = rows_of(self._state, relation, self.nodes(), self._clock.now())
        return [row for row in rows if int(str(row["index"])) > after][:limit]

    def close(self) -> None:
        pass
