"""The registry of a cluster's batches, kept by the control plane; repeated while that is unavailable."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event
from typing import Final, TypeVar

from weft.errors import MgmtUnavailable, StoreError, WritingHeld
from weft.mgmt.api import OwnerCalls
from weft.mgmt.values import Lease, TakenBucket

log = logging.getLogger(__name__)

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0
_WAIT_FOR_HOLDER: Final = 0.5
_LOG_EVERY: Final = 60.0

Answer = TypeVar("Answer")


class MgmtRegistry:
    """A Registry. A COMMIT without an answer is repeated too: every call finds its own work and is content."""

    def __init__(self, mgmt: OwnerCalls, owner: Lease, give_up: Event | None = None) -> None:
        """When `give_up` is set, calls that wait end with a StoreError: what was registered, the next owner writes."""
        self._mgmt, self._owner, self._give_up = mgmt, owner, give_up or Event()
        self.waits_for = ""
        """Why a batch cannot be registered now, for people; empty: nothing stands in the way."""

    def take(self) -> TakenBucket:
        """Raises IndexOwned while another node is the owner."""
        return self._repeated("take", lambda: self._mgmt.take_bucket(self._owner))

    def register(self, epoch: int, before: int, seq: int, batch: bytes) -> None:
        self._repeated("register", lambda: self._mgmt.register_batch(epoch, before, seq, batch))

    def _repeated(self, what: str, call: Callable[[], Answer]) -> Answer:
        wait, told = _FIRST_WAIT, 0.0
        try:
            while True:
                try:
                    return call()
                except (MgmtUnavailable, WritingHeld) as error:
                    is_held = isinstance(error, WritingHeld)
                    self.waits_for = str(error)
                    if self._give_up.wait(_WAIT_FOR_HOLDER if is_held else wait):
                        raise StoreError("of the cluster", f"stopped while it waited to write: {error}") from error
                    if time.monotonic() >= told:
                        log.warning("waiting to write to the index call=%s reason=%s", what, error)
                        told = time.monotonic() + _LOG_EVERY
                    wait = min(wait * 2, _LONGEST_WAIT)
        finally:
            self.waits_for = ""
