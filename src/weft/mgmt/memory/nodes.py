"""Our own processes in the memory twin: they register, send heartbeats, leave, and lose what they hold."""

from __future__ import annotations

import msgspec

from weft.errors import MgmtError, TransitionRefused
from weft.mgmt.memory.buckets import MemoryBuckets
from weft.mgmt.memory.chunks import MemoryChunks
from weft.mgmt.memory.links import MemoryLinks
from weft.mgmt.memory.slots import MemorySlots
from weft.mgmt.memory.state import MemoryNode
from weft.mgmt.rules.admission import LivingNode, admit
from weft.mgmt.rules.leases import asked_after_register, health_of, is_ended, remembered, skew_of, stored_figures
from weft.mgmt.rules.transitions import ASKED, Cause, node_after
from weft.mgmt.values import (
    BuilderTask,
    Health,
    Lease,
    LinkState,
    Node,
    NodeAbout,
    NodeId,
    NodeState,
    NodeTold,
    NodeType,
    TakenBucket,
)


class MemoryNodes(MemoryLinks, MemoryChunks, MemorySlots, MemoryBuckets):
    def register(self, type: NodeType, address: str, row: int = 0, about: NodeAbout | None = None) -> Lease:  # noqa: A002
        self.reap()
        about = about or NodeAbout()
        admit(type, address, about, self._living())
        node = next((node for node in self._state.nodes.values() if node.address == address), None)
        if node is None:
            node = MemoryNode(NodeId(max(self._state.nodes, default=0) + 1), address, type, row)
            self._state.nodes[node.id] = node
        elif node.state is not NodeState.OFFLINE:
            self._void(node, Cause.LEASE_END)
        node.state = node_after(node.state, Cause.REGISTER, address)
        node.type, node.row, node.health, node.seen = type, row, Health.HEALTHY, self._clock.now()
        node.asked = asked_after_register(node.asked)
        node.about, node.skew, node.figures = about, None, {}
        node.epoch += 1
        node.acknowledged = 0
        if type is NodeType.INDEX_SERVER:
            self._succeed(node)
            self._catch_up(node)
        self._forget_nodes()
        return Lease(node.id, address, node.epoch)

    def _forget_nodes(self) -> None:
        """Those that are gone for long, and of which nothing is left."""
        state, long_ago = self._state, self._clock.now() - remembered(self._settings)
        kept = {chunk.crawler for chunk in state.chunks.values()} | {chunk.builder for chunk in state.chunks.values()}
        used = {server for server, _ in state.placements} | {max(state.nodes)}
        used |= {id_ for slots in state.slots.values() for slot in slots for id_ in (slot.owner, slot.former) if id_}
        used |= {lease.node for lease in state.bucket_owners.values()}
        for node in list(state.nodes.values()):
            is_gone = node.state is NodeState.OFFLINE and node.asked is not NodeState.PAUSED and node.seen < long_ago
            if is_gone and node.id not in used and node.address not in kept:
                del state.nodes[node.id]

    def take_bucket(self, owner: Lease, bucket: int = 0) -> TakenBucket:
        self.reap()
        return self._take_bucket(owner, bucket)

    def _living(self) -> list[LivingNode]:
        now = self._clock.now()
        return [
            LivingNode(node.address, node.type, node.about.machine, node.about.token, now - node.seen)
            for node in self._state.nodes.values()
            if node.state is not NodeState.OFFLINE
        ]

    def heartbeat(self, lease: Lease, told: NodeTold | None = None) -> NodeState:
        node = self._alive(lease)
        now = self._clock.now()
        told = told or NodeTold()
        node.skew = skew_of(told, now) if told.clock else node.skew
        if (figures := stored_figures(told)) is not None:
            node.figures = msgspec.json.decode(figures)
        # If we were away as well, the others may only seem late.
        if not is_ended(now - node.seen, self._settings.lease):
            node.seen = now
            self.reap()
        node.seen = now
        return node.asked

    def tell(self, lease: Lease, state: NodeState) -> None:
        node = self._state.nodes.get(lease.node)
        if state is NodeState.OFFLINE and node and node.epoch != lease.epoch:
            return
        node = self._alive(lease)
        if state is NodeState.OFFLINE:
            self._void(node, Cause.LEAVE)
        else:
            node.state = node_after(node.state, ASKED[state], node.address)

    def ask(self, node: NodeId, state: NodeState) -> None:
        if state is NodeState.OFFLINE:
            raise TransitionRefused(f"node {node}: a node goes offline by itself; ask it to drain, and stop it then")
        if node not in self._state.nodes:
            raise MgmtError(f"node {node}: no such node; expected one that has registered")
        self._state.nodes[node].asked = state

    def reap(self) -> int:
        now = self._clock.now()
        ended = [
            node
            for node in self._state.nodes.values()
            if node.state is not NodeState.OFFLINE and is_ended(now - node.seen, self._settings.lease)
        ]
        for node in ended:
            self._void(node, Cause.LEASE_END)
        return len(ended)

    def _void(self, node: MemoryNode, cause: Cause) -> None:
        node.state = node_after(node.state, cause, node.address)
        node.health = Health.HEALTHY if cause is Cause.LEAVE else Health.FAILURE
        node.epoch += 1
        for link in self._state.links.values():
            if link.state is LinkState.CRAWLING and link.node == node.id:
                self._give_back(link, cause if cause is Cause.LEASE_END else Cause.RELEASE)
        for chunk in self._state.chunks.values():
            if chunk.builder == node.address and chunk.built is BuilderTask.BUILDING:
                self._offer_again(chunk, cause, f"the lease of its builder {node.address} has ended")
        self._free_slots(node.id)

    def nodes(self) -> list[Node]:
        return [self._node(node) for node in self._state.nodes.values()]

    def _node(self, node: MemoryNode) -> Node:
        late = max(0, self._clock.now() - node.seen)
        settings = self._settings
        return Node(
            id=node.id,
            address=node.address,
            type=node.type,
            state=node.state,
            health=health_of(node.state, node.health, late, settings.heartbeat, settings.lease),
            epoch=node.epoch,
            seen=late,
            holds=self._holds(node),
            asked=node.asked,
            machine=node.about.machine,
            version=node.about.version,
            skew=node.skew,
            figures=node.figures,
            row=node.row,
        )

    def _holds(self, node: MemoryNode) -> int:
        links = sum(link.state is LinkState.CRAWLING and link.node == node.id for link in self._state.links.values())
        chunks = sum(
            chunk.built is BuilderTask.BUILDING and chunk.builder == node.address
            for chunk in self._state.chunks.values()
        )
        return links + chunks + self._unacknowledged(node)
