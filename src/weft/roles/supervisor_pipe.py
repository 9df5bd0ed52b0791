"""How a role notices that its supervisor is gone: a pipe whose writing end only the supervisor holds.

The operating system closes that end when the supervisor dies, however it dies. Nothing is ever written.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from threading import Thread
from typing import Final

log = logging.getLogger(__name__)

SUPERVISOR_FD: Final = "_WEFT_SUPERVISOR_FD"
"""Names the reading end in a role's environment. Absent: somebody runs the role by hand."""
HELD_FD: Final = "_WEFT_HELD_FD"
"""Names a descriptor that a role keeps open as long as it runs: the lock of the home."""


class SupervisorPipe:
    """The supervisor's side; the pipe is closed with the process."""

    def __init__(self, held: int | None = None) -> None:
        """`held` is a descriptor that every role keeps open too."""
        self.reading, self._writing = os.pipe()
        self._held = held

    @property
    def environment(self) -> dict[str, str]:
        """What a role needs to find its `descriptors`."""
        held = {} if self._held is None else {HELD_FD: str(self._held)}
        return {SUPERVISOR_FD: str(self.reading), **held}

    @property
    def descriptors(self) -> list[int]:
        """What a role must be given."""
        return [self.reading, *(() if self._held is None else (self._held,))]

    def close(self) -> None:
        """Tell every role that is left that its supervisor is gone."""
        os.close(self._writing)
        os.close(self.reading)


def has_supervisor(environment: Mapping[str, str]) -> bool:
    """Whether a supervisor started this process; to be asked before it is watched."""
    return SUPERVISOR_FD in environment


def watch_supervisor(environment: MutableMapping[str, str], on_gone: Callable[[], None]) -> None:
    """Call `on_gone`, in a thread, when the supervisor named by `environment` is gone; without one, never.

    The variables are taken out of `environment`, and the descriptors are not inherited: they are not meant for
    processes that the role starts.
    """
    named, held = environment.pop(SUPERVISOR_FD, ""), environment.pop(HELD_FD, "")
    with suppress(ValueError, OSError):
        os.set_inheritable(int(held), False)
    if not named:
        return
    try:
        descriptor = int(named)
        os.set_inheritable(descriptor, False)
    except (ValueError, OSError) as error:
        log.warning("supervisor not watched: %s=%s is no open descriptor (%s)", SUPERVISOR_FD, named, error)
        return
    Thread(target=_wait, args=(descriptor, on_gone), name="weft-supervisor", daemon=True).start()


def _wait(descriptor: int, on_gone: Callable[[], None]) -> None:
    try:
        while os.read(descriptor, 1):
            pass
    except OSError as error:
        log.warning("supervisor no longer watched reason=%s", error)
        return
    on_gone()
