"""An owner's life: stand by, take the index over, apply what is not applied yet; end or begin again after an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simulation.baton import Stage, StageClock, StageEvent
from simulation.control_plane import ModelMgmt, Rules
from simulation.session import ModelSession
from simulation.tally import Happening, Tally
from simulation.watched_store import KEYSPACE, LIFETIME, WatchedStore
from simulation.workload import Input, apply_inputs, missing, new_index
from weft.dispatcher.domain_work import listed_cells
from weft.errors import IndexOwned, LeaseLost, MgmtUnavailable, StoreError, StoreForeign, WeftError
from weft.linkindex.pipeline import LinkIndex
from weft.mgmt.values import Lease
from weft.roles.store_registry import MgmtRegistry

_TRY_EVERY: Final = 5


class Owner:
    """One process. `store_class` is for tests that take a rule away."""

    store_class: type[WatchedStore] = WatchedStore
    is_last = False
    ends_at_errors = 0.4
    """How likely a process ends after an error, as real ones do; others go on with all that they have."""

    def __init__(
        self,
        stage: Stage,
        mgmt: ModelMgmt,
        rules: Rules,
        session: ModelSession,
        inputs: Sequence[Input],
        tally: Tally,
        address: str,
    ) -> None:
        self._stage, self._mgmt, self._rules, self._tally = stage, mgmt, rules, tally
        self._inputs, self._address = inputs, address
        self.session = session
        self.lease: Lease | None = None
        self.store: WatchedStore | None = None

    @property
    def is_replaced(self) -> bool:
        return self.store is not None and self.store.is_replaced

    def beat(self) -> None:
        """A heartbeat, from another thread of the process."""
        if self.lease is not None:
            try:
                self._rules.heartbeat(self.lease)
            except LeaseLost:
                self.lease = None

    def live(self) -> None:
        store = self.store = self.store_class(self.session, KEYSPACE, LIFETIME, StageClock(self._stage))
        store.rules, self.session.is_replaced = self._rules, lambda: self.is_replaced
        index: LinkIndex | None = None
        owns = False
        while True:
            try:
                if not owns:
                    self._take_over(store)
                owns, index = True, index or new_index(store)
                self._work(index, store)
                return
            except StoreForeign:
                raise
            except StoreError:
                if not self.is_last and self._stage.random.random() < self.ends_at_errors:
                    return
                # Whether it takes the index anew, or does not know that it must.
                owns = index is not None and not self.is_last and self._stage.random.random() < 0.5
                self._tally[Happening.WENT_ON] += 1
            except (ValueError, LookupError, WeftError):
                # One that was replaced reads a round in part, and may stumble over it; nothing of that is written.
                if store.is_sure():
                    raise
                return

    def _take_over(self, store: WatchedStore) -> None:
        while True:
            try:
                self.lease = self.lease or self._mgmt.new_lease(self._address)
                store.own(MgmtRegistry(self._mgmt, self.lease, StageEvent(self._stage)), listed_cells)
                return
            except LeaseLost:
                self.lease = None
            except (IndexOwned, MgmtUnavailable):
                self._stage.sleep(_TRY_EVERY)

    def _work(self, index: LinkIndex, store: WatchedStore) -> None:
        while left := missing(store, self._inputs):
            apply_inputs(index, store, left[: self._stage.random.choice((1, 1, 2, 3))])
            self._tally[Happening.ROUND] += 1
