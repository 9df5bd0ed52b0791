"""Looks after the size of a home, in the background: measures what grows, and drops captures as `[archive]` says."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

import msgspec

from weft.config import KEYS, Settings
from weft.config.settings import value_of
from weft.home import Home

log = logging.getLogger(__name__)

_SHARE: Final = 20
"""Pruning takes at most one part in so many of the time."""
_NOTE_EVERY: Final = 600.0
_STOP_SECONDS: Final = 5.0
_PASSED_ON: Final = ("archive.", "spider.warc_dir", "store.", "mgmt.")
"""Settings that the other process must have from us: they may come from our command line."""


class HomeUpkeep:
    """One process of a home, the index process, enters it; nobody waits for its thread.

    Pruning is a process of its own, of low priority: it reads the whole index of links, and would take the interpreter
    from the index process. It may be killed at any moment.
    """

    def __init__(self, home: Home, settings: Settings, note_sizes: Callable[[], None]) -> None:
        self._home, self._settings, self._note_sizes = home, settings, note_sizes
        self._stop = Event()
        self._thread = Thread(target=self._work, name="weft-growth", daemon=True)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if (process := self._process) is not None:
            process.terminate()
        self._thread.join(_STOP_SECONDS)

    def _work(self) -> None:
        archive = self._settings.archive
        prune_at = time.monotonic() + archive.prune_every if archive.is_bounded else float("inf")
        self._note_sizes()
        while True:
            if self._stop.wait(max(0.0, min(_NOTE_EVERY, prune_at - time.monotonic()))):
                return
            if time.monotonic() >= prune_at:
                began = time.monotonic()
                self._note_sizes()
                self._prune()
                # What was dropped is not growth.
                self._note_sizes()
                took = time.monotonic() - began
                prune_at = time.monotonic() + max(archive.prune_every, took * _SHARE)
            else:
                self._note_sizes()

    def _prune(self) -> None:
        command = [sys.executable, "-m", "weft", "archive", "prune", "--home", str(self._home.path)]
        try:
            self._process = process = subprocess.Popen(  # noqa: S603 - ourselves
                [*command, "--share", "0.25", "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **self._environment()},
            )
        except OSError as error:
            log.warning("archive cannot be pruned reason=%s", error)
            return
        if self._stop.is_set():
            process.terminate()
        told, complaint = process.communicate()
        self._process = None
        if self._stop.is_set():
            return
        if process.returncode:
            log.warning("archive was not pruned reason=%s", complaint.decode(errors="replace").strip()[-500:])
            return
        done = msgspec.json.decode(told)
        if done["files"] or done["problems"]:
            facts = (done["captures"], done["files"], done["freed"], done["size"], done["problems"])
            log.info("archive pruned captures=%d files=%d freed=%d size=%d problems=%s", *facts)

    def _environment(self) -> dict[str, str]:
        keys = [key for key in KEYS.values() if key.name.startswith(_PASSED_ON)]
        return {key.variable: _text(value_of(self._settings, key)) for key in keys}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
