"""Reads fetches in worker processes, in two lanes: a page that takes long holds up none that does not.

The ordinary lane has a few workers with a short deadline for each page. A page that misses it, or whose worker died,
moves to the slow lane: one worker with the whole deadline, one page at a time. Pages of web hosts that were slow lately
go there at once. What is read waits until it is taken, in any order, and is bounded in bytes.

What takes long to load waits apart (see `heavy_fetches`), and is read by the ordinary workers when they have nothing
else to read, or after each group of ordinary fetches.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, Self

from weft.archive.record_reader import Packed
from weft.errors import WeftError
from weft.index.heavy_fetches import HEAVY, HeavyDomains, TurnQueue
from weft.index.open_chunks import LinkTicket
from weft.index.read_fetch import ReadFetch, failed
from weft.index.slow_hosts import SlowHosts
from weft.intake.skip_reasons import Refused, SkipReason
from weft.intake.workers.worker_pool import PATIENCE
from weft.intake.workers.worker_process import WorkerCommand, WorkerLost, WorkerProcess, start_worker
from weft.mgmt.values import BuildLink
from weft.model.fetch_error import FetchError
from weft.model.host import web_host_of
from weft.model.url import Uri, domain_of

AHEAD_BYTES: Final = 16 << 20
"""Encoded pages that may wait to be loaded. Then workers wait, each with one page in hand."""
HEAVY_AHEAD_BYTES: Final = 8 << 20
"""The same of heavy ones, but for the last of them. Further ones are read again when there is room."""
_GROUP: Final = 25
"""Fetches of one question: few enough that all workers are busy."""
_GROUP_BYTES: Final = 1 << 20
"""Bytes of members in one question, but for the last of them."""
_CRASHES: Final = 2
"""In the slow lane, before the page is to blame: a process may have been killed from outside."""

_DEATHS: Final = {
    SkipReason.SLOW: FetchError.TOO_SLOW,
    SkipReason.MEMORY: FetchError.TOO_MUCH_MEMORY,
    SkipReason.CRASH: FetchError.CRASH,
}


class AskedFetch(NamedTuple):
    """A fetch to read."""

    ticket: LinkTicket
    link: BuildLink
    members: tuple[Packed, ...] = ()
    """Its record, and the one that this may repeat, if they came from another node; else its worker reads them."""

    @property
    def size(self) -> int:
        return sum(map(len, self.members))


class ReadyFetch(NamedTuple):
    """A fetch that was read, or could not be."""

    ticket: LinkTicket
    link: BuildLink
    read: ReadFetch


class FetchReading(Protocol):
    """Reads fetches from the archive and parses them, in worker processes or here."""

    @property
    def waiting(self) -> int:
        """Fetches that were given and not taken, without those in the slow lane and the heavy ones."""
        ...

    @property
    def heavy(self) -> dict[str, int]:
        """Bytes of heavy fetches that were given and not taken, by domain, estimated while they are not read."""
        ...

    def is_heavy(self, domain: str) -> bool:
        """Whether fetches of a domain are heavy, lately and on the whole."""
        ...

    def give(self, fetches: Iterable[AskedFetch]) -> None: ...

    def gather(self, most: int, seconds: float) -> None:
        """Wait until so many are ready, or until no more are being read; at most so many seconds.

        A page in the slow lane is not waited for, nor a heavy one.
        """
        ...

    def take(self, seconds: float) -> ReadyFetch | None:
        """The next one that is ready and not heavy; None if none is within so many seconds."""
        ...

    def take_heavy(self) -> ReadyFetch | None:
        """The next heavy one that is ready now."""
        ...

    def drop(self) -> None:
        """Forget all that was given."""
        ...


class FetchSupply(Protocol):
    """What gives fetches to the lanes as it gets hold of their records."""

    @property
    def coming(self) -> int:
        """Fetches that will be given soon. Called under the lock of the lanes."""
        ...

    def release(self, size: int) -> None:
        """So many bytes of members are let go."""
        ...


class _NoSupply:
    """Fetches are given by the builder alone."""

    coming = 0

    def release(self, size: int) -> None: ...


class LaneMessages(NamedTuple):
    """How fetches and what was read from them are put into bytes."""

    encode: Callable[[Sequence[AskedFetch]], bytes]
    decode: Callable[[bytearray], ReadFetch]


@dataclass(slots=True)
class _Fetch:
    asked: AskedFetch
    crashes: int = 0
    data: bytearray | None = None
    refused: FetchError | None = None

    @property
    def domain(self) -> str:
        return domain_of(Uri(self.asked.link.uri))


class _Lane:
    """A queue and its workers' command."""

    def __init__(self, name: str, command: WorkerCommand, group: int) -> None:
        self.name, self.command, self.group = name, command, group
        self.queue: deque[_Fetch] = deque()
        self.in_hand = 0
        """Fetches that threads of this lane are reading."""


class ReadingLanes:
    """Starts worker processes when there is something to read; they end with this object.

    The first one is started at once: the first page of a crawl need not wait for it.
    """

    def __init__(
        self,
        ordinary: int,
        quick: WorkerCommand,
        patient: WorkerCommand,
        messages: LaneMessages,
        ahead: int = AHEAD_BYTES,
    ) -> None:
        self._messages, self._ahead = messages, ahead
        self._ordinary, self._slow = _Lane("ordinary", quick, _GROUP), _Lane("slow", patient, 1)
        self._hosts = SlowHosts()
        self._domains = HeavyDomains()
        self._unread: TurnQueue[_Fetch] = TurnQueue()
        """Heavy fetches, by what is known of their domains."""
        self._heavy_ready: TurnQueue[_Fetch] = TurnQueue()
        self._heavy_held = 0
        """Bytes in `_heavy_ready`."""
        self._heavy_is_next = False
        """Whether ordinary fetches were read last."""
        self.supply: FetchSupply = _NoSupply()
        self._ready: deque[_Fetch] = deque()
        self._held = 0
        """Bytes in `_ready`."""
        self._epoch = 0
        """What was given before the last drop() is of an older one."""
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        """For the threads: there is something to read, or room for what was read."""
        self._arrived = threading.Condition(lock)
        """For whoever takes. Nobody is woken for a page that is not enough."""
        self._wanted = 1
        """How many ready pages are enough for whoever waits."""
        self._is_closed = False
        self._failure: WeftError | None = None
        self._children: set[WorkerProcess] = set()
        lanes = [self._ordinary] * ordinary + [self._slow]
        self._threads = [
            threading.Thread(target=self._work, args=[lane, number == 0], daemon=True)
            for number, lane in enumerate(lanes)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._is_closed = True
            for child in self._children:
                child.kill()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for child in self._children:
            child.end()

    @property
    def waiting(self) -> int:
        with self._changed:
            return len(self._ordinary.queue) + self._ordinary.in_hand + len(self._ready)

    @property
    def slow(self) -> int:
        """Fetches in the slow lane."""
        with self._changed:
            return len(self._slow.queue) + self._slow.in_hand

    @property
    def heavy(self) -> dict[str, int]:
        with self._changed:
            counts = Counter(self._unread.counts())
            counts.update(self._heavy_ready.counts())
            return {domain: count * self._domains.size(domain) for domain, count in counts.items()}

    def is_heavy(self, domain: str) -> bool:
        with self._changed:
            return domain in self._domains

    def give(self, fetches: Iterable[AskedFetch]) -> None:
        with self._changed:
            for asked in fetches:
                fetch = _Fetch(asked)
                if web_host_of(asked.link.url) in self._hosts:
                    self._slow.queue.append(fetch)
                elif fetch.domain in self._domains:
                    self._unread.append(fetch.domain, fetch)
                else:
                    self._ordinary.queue.append(fetch)
            self._changed.notify_all()

    def refuse(self, asked: AskedFetch, error: FetchError) -> None:
        """It cannot be read: let it be taken as failed."""
        with self._changed:
            self._ready.append(_Fetch(asked, refused=error))
            self._tell_if_enough()

    def gather(self, most: int, seconds: float) -> None:
        with self._changed:
            self._wanted = most
            self._arrived.wait_for(self._is_enough, seconds)
            self._wanted = 1

    def _is_enough(self) -> bool:
        ordinary = self._ordinary
        is_reading = (ordinary.queue or ordinary.in_hand or self.supply.coming) and self._held < self._ahead
        return len(self._ready) >= self._wanted or not is_reading or self._failure is not None

    def take(self, seconds: float) -> ReadyFetch | None:
        """Raises WorkersUnusable if workers cannot be started."""
        with self._changed:
            self._arrived.wait_for(lambda: self._ready or self._failure, seconds)
            if self._failure:
                raise self._failure
            if not self._ready:
                return None
            fetch = self._ready.popleft()
            had_room = self._held < self._ahead
            self._held -= len(fetch.data or b"")
            if not had_room:
                self._changed.notify_all()
        return self._decoded(fetch)

    def take_heavy(self) -> ReadyFetch | None:
        with self._changed:
            if not self._heavy_ready:
                return None
            fetch = self._heavy_ready.pop()
            self._heavy_held -= len(fetch.data or b"")
            self._changed.notify_all()
        return self._decoded(fetch)

    def drop(self) -> None:
        with self._changed:
            self._epoch += 1
            self._ready.clear()
            dropped = [*self._ordinary.queue, *self._slow.queue, *self._unread.clear()]
            self._heavy_ready.clear()
            self._heavy_held = 0
            self._ordinary.queue.clear()
            self._slow.queue.clear()
            self._held = 0
            self._changed.notify_all()
        self._let_go(dropped)

    def _decoded(self, fetch: _Fetch) -> ReadyFetch:
        ticket, link, _ = fetch.asked
        if fetch.data is None:
            return ReadyFetch(ticket, link, failed(link.result, fetch.refused or FetchError.CRASH))
        return ReadyFetch(ticket, link, self._messages.decode(fetch.data))

    # What follows runs in the threads, each with a worker of its own.

    def _work(self, lane: _Lane, is_early: bool) -> None:
        try:
            self._read_all(lane, self._start(lane) if is_early else None)
        except WeftError as error:
            with self._changed:
                self._failure = error
                self._arrived.notify_all()

    def _read_all(self, lane: _Lane, child: WorkerProcess | None) -> None:
        while (taken := self._next(lane)) is not None:
            epoch, group, counted = taken
            try:
                child = child or self._start(lane)
                self._read(lane, child, epoch, group)
            except WorkerLost:
                self._forget(child)
                child = None
            finally:
                with self._changed:
                    lane.in_hand -= counted
                    self._tell_if_enough()

    def _next(self, lane: _Lane) -> tuple[int, list[_Fetch], int] | None:
        """Their epoch, fetches to read, and how many of them are waited for; None: end."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or lane.queue or self._may_read_heavy(lane))
            if self._is_closed:
                return None
            if self._may_read_heavy(lane) and (self._heavy_is_next or not lane.queue):
                self._heavy_is_next = False
                return self._epoch, [self._unread.pop()], 0
            group = self._group(lane)
            self._heavy_is_next |= lane is self._ordinary
            lane.in_hand += len(group)
            return self._epoch, group, len(group)

    def _may_read_heavy(self, lane: _Lane) -> bool:
        return lane is self._ordinary and len(self._unread) > 0 and self._heavy_held < HEAVY_AHEAD_BYTES

    def _group(self, lane: _Lane) -> list[_Fetch]:
        """The next fetches of a lane; those whose host was found to be slow since they came change lanes."""
        group: list[_Fetch] = []
        size = 0
        while lane.queue and len(group) < lane.group and size < _GROUP_BYTES:
            fetch = lane.queue.popleft()
            if lane is self._ordinary and web_host_of(fetch.asked.link.url) in self._hosts:
                self._slow.queue.append(fetch)
                self._changed.notify_all()
            else:
                group.append(fetch)
                size += fetch.asked.size
        return group

    def _start(self, lane: _Lane) -> WorkerProcess:
        child = start_worker(lane.command)
        with self._changed:
            self._children.add(child)
            if self._is_closed:
                child.kill()
        return child

    def _forget(self, child: WorkerProcess | None) -> None:
        with self._changed:
            if child is not None:
                self._children.discard(child)

    def _read(self, lane: _Lane, child: WorkerProcess, epoch: int, group: list[_Fetch]) -> None:
        """Read a group; raises WorkerLost when its worker died, after everything in the group has found a place."""
        question = self._messages.encode([fetch.asked for fetch in group])
        answered = 0
        try:
            for data in child.ask(question, PATIENCE + lane.command.seconds, len(group)):
                group[answered].data = data
                answered += 1
                self._put_read(epoch, group[answered - 1], len(data))
        except WorkerLost as lost:
            self._blame(lane, epoch, group[answered], lost.refused)
            self._give_back(lane, epoch, group[answered + 1 :])
            raise

    def _put_read(self, epoch: int, fetch: _Fetch, size: int) -> None:
        with self._changed:
            self._domains.was_read(fetch.domain, size)
            is_wanted = epoch == self._epoch
            must_wait = is_wanted and size >= HEAVY and self._heavy_held >= HEAVY_AHEAD_BYTES
            if must_wait:
                # Nobody waits for room: that would hold up those that are not heavy.
                fetch.data = None
                self._unread.put_first(fetch.domain, fetch)
            elif is_wanted and size >= HEAVY:
                self._heavy_ready.append(fetch.domain, fetch)
                self._heavy_held += size
                self._arrived.notify_all()
        if not must_wait:
            self._let_go([fetch])
            if size < HEAVY:
                self._put(epoch, fetch)

    def _put(self, epoch: int, fetch: _Fetch) -> None:
        """Wait for room, then let it be taken."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._held < self._ahead or epoch != self._epoch)
            if epoch == self._epoch:
                self._ready.append(fetch)
                self._held += len(fetch.data or b"")
                self._tell_if_enough()

    def _tell_if_enough(self) -> None:
        if self._is_enough():
            self._arrived.notify_all()

    def _blame(self, lane: _Lane, epoch: int, fetch: _Fetch, refused: Refused) -> None:
        """The worker died of this one: it gets another try alone, or is refused."""
        if self._is_closed:
            return
        is_crash = refused.reason is SkipReason.CRASH
        fetch.crashes += is_crash and lane is self._slow
        if lane is self._slow and not (is_crash and fetch.crashes < _CRASHES):
            fetch.refused = _DEATHS[refused.reason]
            self._let_go([fetch])
            self._put(epoch, fetch)
            return
        with self._changed:
            if lane is self._ordinary and refused.reason is SkipReason.SLOW:
                self._hosts.add(web_host_of(fetch.asked.link.url))
            is_wanted = epoch == self._epoch
            if is_wanted:
                self._slow.queue.append(fetch)
                self._changed.notify_all()
        if not is_wanted:
            self._let_go([fetch])

    def _give_back(self, lane: _Lane, epoch: int, fetches: list[_Fetch]) -> None:
        with self._changed:
            is_wanted = epoch == self._epoch
            if is_wanted:
                lane.queue.extendleft(reversed(fetches))
                self._changed.notify_all()
        if not is_wanted:
            self._let_go(fetches)

    def _let_go(self, fetches: Sequence[_Fetch]) -> None:
        """Forget their members. Not under the lock: the supply takes its own, under which it gives to us."""
        size = sum(fetch.asked.size for fetch in fetches)
        if not size:
            return
        for fetch in fetches:
            fetch.asked = fetch.asked._replace(members=())
        self.supply.release(size)
