"""What one stream of events tells, piece by piece: how the crawl is doing, and every change of links and pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from weft.answers.changes_after import ChangesAfter
from weft.answers.objects import ChangeItem
from weft.errors import UsageError, WeftError
from weft.web.resources import WebResources
from weft.web.threads import AnswerThreads

TOPICS: Final = ("status", "figures", "changes")
_EVERY: Final = 1.0
_MOST_CHANGES: Final = 200
"""In one event: a crawl at full speed makes thousands a second, and nobody reads them one by one."""
_QUIET_SECONDS: Final = 15.0
"""After so long without an event a comment is sent, so that nobody between takes the connection for dead."""
_AHEAD_SECONDS: Final = 5.0
"""So long a mark may be ahead of the index that is read here; after that it is one of another index."""
_RETRY: Final = "retry: 2000\n"


class EventsParams(msgspec.Struct, frozen=True, kw_only=True):
    topics: Annotated[
        str, Meta(max_length=100, description="One or more of status, figures, changes, with commas between them.")
    ] = "status"
    of: Annotated[str, Meta(max_length=16_000, description="Only changes of this URL or domain.")] | None = None
    kind: Annotated[Literal["links", "pages"], Meta(description="Only changes of links, or of pages.")] | None = None
    after: (
        Annotated[str, Meta(max_length=100, description="Changes behind this mark come first: an id, or a `seq`.")]
        | None
    ) = None


class EventFeed:
    """Told from `mark` on, which is the id of the last event that was seen: whoever passes it on when a connection
    breaks gets every change once, because a browser drops an event that did not arrive whole, id and all."""

    def __init__(self, web: WebResources, threads: AnswerThreads, asked: EventsParams, mark: str | None) -> None:
        """Raises UsageError for topics that there are not."""
        self._web, self._threads, self._asked = web, threads, asked
        self._topics = _topics(asked.topics)
        self._mark = mark or asked.after
        self._is_wanted: Callable[[ChangeItem], bool] = lambda item: True
        self._ahead_since: float | None = None
        self._sent_status, self._sent_figures = b"", 0.0

    async def begin(self) -> None:
        """Raises WeftError for what cannot be followed; afterwards nothing is missed."""
        if "changes" in self._topics:
            self._is_wanted = await self._threads.run(self._choice)
            found = await self._changes(limit=1)
            self._mark = self._mark or found.mark

    async def pieces(self) -> AsyncIterator[bytes]:
        """Without end, unless the index or the control plane cannot be read: then a problem is the last event."""
        now = asyncio.get_running_loop().time
        yield f"{_RETRY}{self._id()}\n".encode()
        quiet_since = now()
        try:
            while True:
                has_more = False
                if "changes" in self._topics:
                    found = await self._changes()
                    has_more = found.more
                    for event in self._change_events(found, now()):
                        quiet_since = now()
                        yield event
                for event in await self._crawl_events():
                    quiet_since = now()
                    yield event
                if now() - quiet_since >= _QUIET_SECONDS:
                    quiet_since = now()
                    # The id goes along: a client that comes back need not have quiet times told again.
                    yield f": still here\n{self._id()}\n".encode()
                if not has_more:
                    await asyncio.sleep(_EVERY)
        except WeftError as error:
            yield _event("problem", msgspec.json.encode(str(error)))

    def _id(self) -> str:
        """Only changes can be missed, so only their place is told; a browser sends it when it comes back."""
        return "" if self._mark is None or "changes" not in self._topics else f"id: {self._mark}\n"

    def _choice(self) -> Callable[[ChangeItem], bool]:
        of, kind = self._asked.of, self._asked.kind
        with self._web.borrowed() as index:
            is_of = (lambda item: True) if of is None else index.is_change_of(of)
        return lambda item: (kind is None or item.kind == kind) and is_of(item)

    async def _changes(self, limit: int = _MOST_CHANGES) -> ChangesAfter:
        def ask(mark: str | None) -> ChangesAfter:
            with self._web.borrowed() as index:
                return index.changes_after(mark, limit=limit)

        return await self._threads.run(ask, self._mark)

    def _change_events(self, found: ChangesAfter, now: float) -> list[bytes]:
        self._mark = found.mark
        if restarted := self._restart(found, now):
            return [restarted]
        wanted = [item for item in found.items if self._is_wanted(item)]
        return [_event("changes", msgspec.json.encode(wanted), self._id())] if wanted else []

    def _restart(self, found: ChangesAfter, now: float) -> bytes | None:
        """The mark of an index that was replaced by a younger one would wait for years: begin from now, and say so."""
        if int(found.mark.partition(".")[0]) <= found.seq:
            self._ahead_since = None
            return None
        self._ahead_since = now if self._ahead_since is None else self._ahead_since
        if now - self._ahead_since < _AHEAD_SECONDS:
            return None
        self._mark, self._ahead_since = str(found.seq), None
        sentence = "the index is another one than that of the last event; changes are told from now on"
        return _event("restarted", msgspec.json.encode(sentence), self._id())

    async def _crawl_events(self) -> list[bytes]:
        if not self._topics & {"status", "figures"}:
            return []
        status = await self._threads.run(self._web.control.status)
        events, latest = [], self._web.control.recent.latest
        if "figures" in self._topics and latest is not None and latest.at != self._sent_figures:
            self._sent_figures = latest.at
            events.append(_event("figures", msgspec.json.encode(latest)))
        if "status" in self._topics and (text := msgspec.json.encode(status)) != self._sent_status:
            self._sent_status = text
            events.append(_event("status", text))
        return events


def _topics(asked: str) -> frozenset[str]:
    topics = frozenset(asked.split(","))
    if unknown := sorted(topics.difference(TOPICS)):
        raise UsageError(f"topics: there is no {unknown[0][:100]!r}; expected {', '.join(TOPICS)}")
    return topics


def _event(name: str, data: bytes, mark: str = "") -> bytes:
    """JSON has no line ends of its own, so it is one line."""
    return f"{mark}event: {name}\ndata: ".encode() + data + b"\n\n"
