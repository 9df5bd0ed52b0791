"""Index servers in the memory twin: every built chunk is placed on each, and they tell how far they have come."""

from __future__ import annotations

from weft.mgmt.memory.state import MemoryCalls, MemoryChunk, MemoryNode
from weft.mgmt.values import BuilderTask, Lease, NodeState, NodeType, PlacementState


class MemoryIndexServers(MemoryCalls):
    def acknowledge(self, server: Lease, seq: int) -> None:
        node = self._alive(server)
        node.acknowledged = max(node.acknowledged, seq)

    def _place(self, chunk: MemoryChunk) -> None:
        """On every index server of every row that is not offline."""
        for node in self._state.nodes.values():
            if node.type is NodeType.INDEX_SERVER and node.state is not NodeState.OFFLINE:
                self._state.placements.setdefault((node.id, chunk.id))

    def _succeed(self, server: MemoryNode) -> None:
        """A server that registers takes the place of those of its row and machine that are gone."""
        gone = {
            node.id
            for node in self._state.nodes.values()
            if node.type is NodeType.INDEX_SERVER
            and node.state is NodeState.OFFLINE
            and (node.row, node.about.machine) == (server.row, server.about.machine)
            and node.id != server.id
        }
        kept = [place for place in self._state.placements if place[0] not in gone]
        self._state.placements = dict.fromkeys(kept)

    def _catch_up(self, server: MemoryNode) -> None:
        """A server that registers gets everything that was built while it was away."""
        for chunk in self._state.chunks.values():
            if chunk.built is BuilderTask.BUILT:
                self._state.placements.setdefault((server.id, chunk.id))

    def _forget_acknowledged(self) -> None:
        """The index that they followed is no more."""
        for node in self._state.nodes.values():
            node.acknowledged = 0

    def _unacknowledged(self, server: MemoryNode) -> int:
        if server.type is not NodeType.INDEX_SERVER or server.state is NodeState.OFFLINE:
            return 0
        chunks = self._state.chunks.values()
        return sum(chunk.built is BuilderTask.BUILT and chunk.seq > server.acknowledged for chunk in chunks)


def placement_state(chunk: MemoryChunk, server: MemoryNode) -> PlacementState:
    is_indexed = chunk.built is BuilderTask.BUILT and chunk.seq <= server.acknowledged
    return PlacementState.INDEXED if is_indexed else PlacementState.PENDING
