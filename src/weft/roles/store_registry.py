"""The registry of a cluster's batches, kept by the control plane; repeated while that is unavailable."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event
from typing import Final, TypeVar

from weft.errors import MgmtUnavailable
from weft.mgmt.api import OwnerCalls
from weft.mgmt.values import TakenBucket

log = logging.getLogger(__name__)

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0
_LOG_EVERY: Final = 60.0

Answer = TypeVar("Answer")


class MgmtRegistry:
    """A Registry. A COMMIT without an answer is repeated too: every call finds its own work and is content."""

    def __init__(self, mgmt: OwnerCalls, give_up: Event | None = None) -> None:
        self._mgmt, self._give_up = mgmt, give_up or Event()

    def take(self) -> TakenBucket:
        return self._repeated("take", self._mgmt.take_bucket)

    def register(self, epoch: int, before: int, seq: int, batch: bytes) -> None:
        self._repeated("register", lambda: self._mgmt.register_batch(epoch, before, seq, batch))

    def _repeated(self, what: str, call: Callable[[], Answer]) -> Answer:
        wait, told = _FIRST_WAIT, 0.0
        while True:
            try:
                return call()
            except MgmtUnavailable as error:
                if self._give_up.wait(wait):
                    raise
                if time.monotonic() >= told:
                    log.warning("control plane unavailable, repeating call=%s reason=%s", what, error)
                    told = time.monotonic() + _LOG_EVERY
                wait = min(wait * 2, _LONGEST_WAIT)
