"""The index process: builds crawled chunks, hands out segments, and tells how it is doing."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any, Final

from weft.clock import Clock
from weft.config.crawl_sections import DispatcherSettings
from weft.dispatcher.iterate import Dispatcher
from weft.dispatcher.scope import Scope
from weft.errors import LeaseLost, MgmtUnavailable, WeftError
from weft.index.builder import Builder
from weft.index.supply import Supply
from weft.index.tally import Tally
from weft.mgmt.api import Mgmt
from weft.mgmt.values import BuildChunk, Lease, NodeState, NodeType
from weft.status_file import write_status

log = logging.getLogger(__name__)

CHUNKS: Final = 20
"""Taken at a time: what they hold is one round."""
_IDLE: Final = 0.1
_LONGEST_IDLE: Final = 1.0
_TELL_EVERY: Final = 1000
_FINISH: Final = 20_000
"""Milliseconds that a stopping process may take to build what was crawled."""
_LOOK_AT_SITES_EVERY: Final = 2000
_SITES_SHARE: Final = 50
"""Looking at the sites takes at most one part in so many of the time: somebody may have added a million."""


class IndexService:
    """One loop over both jobs; each step is whole, so that it may be killed between any two."""

    def __init__(
        self,
        mgmt: Mgmt,
        builder: Builder,
        dispatcher: Dispatcher,
        settings: DispatcherSettings,
        clock: Clock,
        home: Path,
        *,
        address: str,
        heartbeat: float,
    ) -> None:
        self._mgmt, self._builder, self._dispatcher = mgmt, builder, dispatcher
        self._settings, self._clock, self._home = settings, clock, home
        self._address, self._heartbeat = address, heartbeat * 1000
        self._lease: Lease
        self._scope = Scope([], settings)
        self._sites_at = self._told_at = self._beat_at = 0
        self._outstanding = 0
        self._supply = Supply(settings.outstanding)
        self.tally = Tally()
        self.is_idle = False

    def run(self, stop: threading.Event) -> None:
        """Until told to stop; what is begun is finished."""
        self._lease = self._mgmt.register(NodeType.INDEX_BUILDER, self._address)
        self._outstanding = self._dispatcher.outstanding()
        idle = _IDLE
        while not stop.is_set():
            try:
                has_worked = self.step()
            except MgmtUnavailable as error:
                log.warning("control plane does not answer, asking again reason=%s", error)
                has_worked = False
            idle = _IDLE if has_worked else min(idle * 1.5, _LONGEST_IDLE)
            if not has_worked:
                stop.wait(idle)
        self._finish()
        self._mgmt.tell(self._lease, NodeState.OFFLINE)
        write_status(self._home, "index", {**self._facts(), "ended": True})

    def _finish(self) -> None:
        """Build what was crawled until now, so that the answers are complete; the next start does the rest."""
        end = self._clock.now() + _FINISH
        try:
            while self._clock.now() < end and self._build():
                pass
        except WeftError as error:
            log.warning("not all that was crawled could be built reason=%s", error)

    def step(self) -> bool:
        """Build what is crawled, then give out what is wanted; whether there was anything to do."""
        self._keep_lease()
        self._look_at_sites()
        built = self._build()
        given = self._dispatch()
        self.is_idle = not (built or given)
        self._tell()
        return not self.is_idle

    def _build(self) -> bool:
        chunks = self._mgmt.take_crawled(self._lease, CHUNKS)
        if not chunks:
            self._supply.after_rest()
            return False
        try:
            self._load(chunks)
        except WeftError as error:
            # One of them cannot be built: each alone, so that the others are.
            log.warning("chunks cannot be built together chunks=%d reason=%s", len(chunks), error)
            for chunk in chunks:
                self._load_alone(chunk)
        return True

    def _load(self, chunks: list[BuildChunk]) -> None:
        began = self._clock.now()
        built = self._builder.build(chunks, self._scope)
        self._supply.after_round(self._clock.now() - began, built.freshness)
        self._dispatcher.came(link.uri for chunk in chunks for link in chunk.links)
        for chunk in chunks:
            self._mgmt.built(self._lease, chunk.id, chunk.attempt)
            self._builder.reported(chunk.id)
        self.tally.add(built, len(chunks), self._clock.now())
        self._outstanding = max(0, self._outstanding - built.results)

    def _load_alone(self, chunk: BuildChunk) -> None:
        try:
            self._load([chunk])
        except LeaseLost:
            raise
        except WeftError as error:
            log.error("chunk cannot be built chunk=%d reason=%s", chunk.id, error)
            self._mgmt.build_failed(self._lease, chunk.id, chunk.attempt, str(error))

    def _dispatch(self) -> bool:
        # Without room too: what was left out may have to be looked at again.
        room = max(0, self._supply.links - self._outstanding)
        step = self._dispatcher.step(self._scope, room)
        self._outstanding += step.given
        self.tally.given += step.given
        return bool(step.given or step.hidden or step.looked_at)

    def _keep_lease(self) -> None:
        now = self._clock.now()
        if now - self._beat_at < self._heartbeat:
            return
        self._beat_at = now
        try:
            self._mgmt.heartbeat(self._lease)
        except LeaseLost:
            log.warning("lease lost, registering again address=%s", self._address)
            self._lease = self._mgmt.register(NodeType.INDEX_BUILDER, self._address)

    def _look_at_sites(self) -> None:
        began = self._clock.now()
        if began >= self._sites_at:
            self._scope = Scope(self._mgmt.sites(), self._settings)
            took = self._clock.now() - began
            self._sites_at = began + max(_LOOK_AT_SITES_EVERY, took * _SITES_SHARE)

    def _tell(self) -> None:
        now = self._clock.now()
        if now - self._told_at >= _TELL_EVERY:
            self._told_at = now
            write_status(self._home, "index", self._facts())

    def _facts(self) -> dict[str, Any]:
        facts = {**self.tally.facts(self._clock.now()), "outstanding": self._outstanding, "idle": self.is_idle}
        return {**facts, "refused": dict(self._builder.discovery.refused)}
