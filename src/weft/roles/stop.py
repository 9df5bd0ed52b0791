"""Running a role until it is stopped: first in order, then at once."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from threading import Thread
from typing import Any, Final

import uvloop

from weft.errors import LeaseLost
from weft.roles.supervisor_pipe import watch_supervisor

log = logging.getLogger(__name__)

ORPHAN_SECONDS: Final = 10.0
"""How long a role may finish its work after its supervisor is gone."""
FORCE_SECONDS: Final = 8.0
"""How long a role may take to stop at once; then the process is ended as if it was killed, which is always safe."""


class StopRequest:
    """Asked once, a role finishes its work and leaves; asked a second time, it drops everything."""

    def __init__(self) -> None:
        self.asked, self.at_once = asyncio.Event(), asyncio.Event()

    def ask(self, reason: str) -> None:
        if not self.asked.is_set():
            log.info("stopping (%s): work in hand is finished first; a second signal stops at once", reason)
            self.asked.set()
        elif not self.at_once.is_set():
            log.warning("stopping at once (%s)", reason)
            self.at_once.set()


def run_role(work: Callable[[StopRequest], Coroutine[Any, Any, None]]) -> None:
    """Run `work` until it returns. SIGTERM, SIGINT and the end of the supervisor ask it to stop."""
    uvloop.run(_run(work))


async def _run(work: Callable[[StopRequest], Coroutine[Any, Any, None]]) -> None:
    loop, stop = asyncio.get_running_loop(), StopRequest()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.ask, number.name)

    def stop_orphan() -> None:
        """In a thread: a loop that hangs must not keep the process alive."""
        for patience in (ORPHAN_SECONDS, FORCE_SECONDS):
            with suppress(RuntimeError):  # the loop may be closed: then only the process has to end
                loop.call_soon_threadsafe(stop.ask, "the supervisor is gone")
            time.sleep(patience)
        _end_process()

    watch_supervisor(os.environ, stop_orphan)
    forcing = loop.create_task(_force(stop))
    try:
        await work(stop)
    finally:
        forcing.cancel()


async def _force(stop: StopRequest) -> None:
    await stop.at_once.wait()

    def end() -> None:
        time.sleep(FORCE_SECONDS)
        _end_process()

    Thread(target=end, name="weft-force", daemon=True).start()


def _end_process() -> None:
    log.error("the role did not stop in %.0f s, ending its process", FORCE_SECONDS)
    logging.shutdown()
    os._exit(1)


async def first_of(work: asyncio.Task[None], *others: Coroutine[Any, Any, object]) -> None:
    """Wait until the work or one of the others ends; raises what either failed with."""
    waiting = [asyncio.ensure_future(other) for other in others]
    try:
        await asyncio.wait([work, *waiting], return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            if task.done():
                task.result()
    finally:
        for task in waiting:
            task.cancel()
    if work.done():
        try:
            work.result()
        except BaseExceptionGroup as group:
            raise _gravest(group) from None


def _gravest(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """A lost lease can be mended, and often comes along with what cannot."""
    return next((error for error in group.exceptions if not isinstance(error, LeaseLost)), group.exceptions[0])
