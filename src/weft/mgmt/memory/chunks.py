"""Chunks in the memory twin: sealed, given to builders, and built."""

from __future__ import annotations

from collections.abc import Sequence

from weft.mgmt.memory.index_servers import MemoryIndexServers
from weft.mgmt.memory.state import MemoryChunk, MemoryLink
from weft.mgmt.rules.chunks import (
    LONGEST_RECORDS_WAIT,
    SEALED_MOST,
    crowding_of,
    goes_alone,
    has_waited,
    may_be_offered,
    waited_for_builders,
)
from weft.mgmt.rules.transitions import Cause, builder_after
from weft.mgmt.values import (
    BuildChunk,
    BuilderTask,
    BuildLink,
    BuildQueue,
    BuiltLink,
    ChunkId,
    CrawlerTask,
    Lease,
    NodeState,
    NodeType,
    Result,
)


class MemoryChunks(MemoryIndexServers):
    def seal_finished(self, crawler: Lease) -> int:
        self._alive(crawler)
        unfinished = {
            chunk.id
            for chunk in self._state.chunks.values()
            if chunk.crawler == crawler.address and chunk.task is CrawlerTask.CRAWLING
        }
        finished = [
            link for link in self._state.links.values() if link.chunk_id in unfinished and link.state.is_finished
        ]
        for start in range(0, len(finished), SEALED_MOST):
            chunk = self._state.new_chunk(crawler.address)
            for link in finished[start : start + SEALED_MOST]:
                self._state.put(link, chunk.id)
            self._state.seal(chunk.id)
        return len(finished)

    def take_crawled(self, builder: Lease, most: int = 5) -> list[BuildChunk]:
        self._alive(builder)
        for chunk in self._state.chunks.values():
            if chunk.waits_until and has_waited(chunk.waits_until, self._clock.now()):
                chunk.waits_until, chunk.is_offered = 0, True
        offered = [chunk for chunk in self._state.chunks.values() if chunk.is_offered][: max(most, 0)]
        if offered and goes_alone(offered[0].lost_leases):
            return [self._give(offered[0], builder)]
        return [self._give(chunk, builder) for chunk in offered if not goes_alone(chunk.lost_leases)]

    def build_queue(self) -> BuildQueue:
        nodes = self._state.nodes.values()
        online = [node for node in nodes if node.type is NodeType.INDEX_BUILDER and node.state is NodeState.ONLINE]
        if not online:
            return BuildQueue()
        chunks = self._state.chunks.values()
        waiting = [chunk.id for chunk in chunks if chunk.is_offered or chunk.task is CrawlerTask.CRAWLING]
        finished = sum(link.state.is_finished for chunk in waiting for link in self._state.links_of(chunk))
        first = min((chunk.id for chunk in chunks if chunk.is_offered), default=None)
        ends = [link.result.ended for link in self._state.links_of(first) if link.result] if first else []
        since = max(ends, default=0)
        told = [(node.seen, node.figures) for node in online]
        waited = waited_for_builders(since, self._clock.now(), told) if since else 0
        return BuildQueue(finished, waited, crowding_of(figures for _, figures in told))

    def _give(self, chunk: MemoryChunk, builder: Lease) -> BuildChunk:
        if chunk.built is None:
            self._state.builders.append(chunk.id)
        chunk.built = builder_after(chunk.built, Cause.TAKE, chunk.id)
        chunk.builder, chunk.is_offered = builder.address, False
        chunk.attempt += 1
        waited = max(0, self._clock.now() - chunk.waiting_since) if chunk.waiting_since else 0
        return BuildChunk(chunk.id, chunk.attempt, self._build_links(chunk.id), waited)

    def wait_for_records(self, builder: Lease, chunk: ChunkId, attempt: int, node: str, wait: int) -> bool:
        self._alive(builder)
        held = self._state.chunks.get(chunk)
        if held is None or (held.builder, held.attempt) != (builder.address, attempt):
            return False
        if held.built is BuilderTask.BUILDING:
            held.built = builder_after(held.built, Cause.WAIT, chunk)
            now = self._clock.now()
            held.waits_for, held.waits_until = node, now + min(max(wait, 1), LONGEST_RECORDS_WAIT)
            held.waiting_since = held.waiting_since or now
        return held.built is BuilderTask.WAITING

    def records_back(self, builder: Lease, node: str = "") -> int:
        self._alive(builder)
        waiting = [
            chunk for chunk in self._state.chunks.values() if chunk.waits_until and node in ("", chunk.waits_for)
        ]
        for chunk in waiting:
            chunk.waits_until, chunk.is_offered = 0, True
        return len(waiting)

    def _build_links(self, chunk: ChunkId) -> list[BuildLink]:
        return [_build_link(link, link.result) for link in self._state.links_of(chunk) if link.result is not None]

    def built_links(self, after: str = "", limit: int = 1000) -> list[BuiltLink]:
        built = (chunk for chunk in self._state.chunks.values() if chunk.built is BuilderTask.BUILT)
        links = [BuiltLink(chunk.id, chunk.seq, link) for chunk in built for link in self._build_links(chunk.id)]
        return sorted((one for one in links if one.link.uri > after), key=lambda one: one.link.uri)[:limit]

    def built(self, builder: Lease, chunk: ChunkId, attempt: int, seq: int) -> bool:
        self._alive(builder)
        held = self._state.chunks.get(chunk)
        if held is None or (held.builder, held.attempt) != (builder.address, attempt):
            return False
        if held.built is BuilderTask.BUILDING:
            held.built = builder_after(held.built, Cause.BUILD, chunk)
            held.reason, held.seq = "", seq
            self._place(held)
        return held.built is BuilderTask.BUILT

    def unbuilt(self, chunks: Sequence[ChunkId]) -> set[ChunkId]:
        known = self._state.chunks
        return {id_ for id_ in chunks if id_ in known and known[id_].built is not BuilderTask.BUILT}

    def build_failed(self, builder: Lease, chunk: ChunkId, attempt: int, reason: str) -> bool:
        self._alive(builder)
        held = self._state.chunks.get(chunk)
        if held is None or (held.builder, held.attempt) != (builder.address, attempt):
            return False
        if held.built is BuilderTask.BUILDING:
            self._offer_again(held, Cause.FAIL, reason)
        return held.built is BuilderTask.ERROR

    def retry(self, chunks: Sequence[ChunkId] | None = None) -> int:
        wanted = self._state.chunks if chunks is None else dict.fromkeys(chunks)
        failed = [chunk for id_ in wanted if (chunk := self._state.chunks.get(id_)) and _has_failed(chunk)]
        for chunk in failed:
            chunk.built = builder_after(BuilderTask.ERROR, Cause.RETRY, chunk.id)
            chunk.is_offered, chunk.errors, chunk.lost_leases = True, 0, 0
        return len(failed)

    def offer_built(self, after: int = -1, chunks: Sequence[ChunkId] = ()) -> int:
        built = [
            chunk
            for chunk in self._state.chunks.values()
            if chunk.built is BuilderTask.BUILT and (chunk.seq > after or chunk.id in chunks)
        ]
        for chunk in built:
            chunk.built = builder_after(BuilderTask.BUILT, Cause.BUILD_AGAIN, chunk.id)
            chunk.is_offered, chunk.errors, chunk.lost_leases = True, 0, 0
        self._forget_acknowledged()
        return len(built)

    def _offer_again(self, chunk: MemoryChunk, cause: Cause, reason: str) -> None:
        chunk.built = builder_after(chunk.built, Cause.RELEASE if cause is Cause.LEAVE else cause, chunk.id)
        chunk.lost_leases += cause is Cause.LEASE_END
        chunk.errors += cause is Cause.FAIL
        chunk.reason = reason if cause is not Cause.LEAVE else chunk.reason
        chunk.is_offered = may_be_offered(chunk.lost_leases, chunk.errors)


def _build_link(link: MemoryLink, result: Result) -> BuildLink:
    return BuildLink(
        doc_id=link.doc_id,
        uri=link.uri,
        url=link.url,
        state=link.state,
        result=result,
        priority=link.priority,
        asked=link.original,
    )


def _has_failed(chunk: MemoryChunk) -> bool:
    return chunk.built is BuilderTask.ERROR and not chunk.is_offered
