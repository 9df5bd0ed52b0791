"""The control plane as the loop calls it: in a thread of its own, asked again until it answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from weft.errors import LeaseLost, WeftError

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 5.0


class Control:
    def __init__(self) -> None:
        # One thread: calls come in the order in which they were made.
        self._thread = ThreadPoolExecutor(1, "weft-mgmt")
        self.problem = ""
        """Why the last call failed; empty: it did not."""

    async def call(self, what: str, work: Callable[[], T]) -> T:
        """Do `work` until it succeeds; only a lost lease is the caller's matter."""
        wait = _FIRST_WAIT
        while True:
            try:
                answer = await self.once(work)
            except LeaseLost:
                raise
            except WeftError as error:
                self.problem = str(error)
                log.warning("control plane does not answer call=%s wait=%.1f reason=%s", what, wait, error)
            else:
                self.problem = ""
                return answer
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    async def once(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def close(self) -> None:
        self._thread.shutdown(wait=False)
