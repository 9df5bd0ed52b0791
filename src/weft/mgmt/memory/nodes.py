"""Nodes, their leases and their parts of the address space in the memory twin."""

from __future__ import annotations

from weft.errors import MgmtError, TransitionRefused
from weft.mgmt import rules
from weft.mgmt.memory.links import MemoryLinks
from weft.mgmt.memory.state import HeldChunk, HeldNode, Placed
from weft.mgmt.transitions import ASKED, Cause, builder_after, node_after
from weft.mgmt.values import (
    BuilderTask,
    Health,
    Lease,
    LinkState,
    Node,
    NodeId,
    NodeState,
    NodeType,
)


class MemoryNodes(MemoryLinks):
    def register(self, type: NodeType, address: str, row: int = 0) -> Lease:  # noqa: A002
        self.reap()
        node = next((node for node in self._state.nodes.values() if node.address == address), None)
        if node is None:
            node = HeldNode(NodeId(len(self._state.nodes) + 1), address, type, row)
            self._state.nodes[node.id] = node
        elif node.state is not NodeState.OFFLINE:
            self._void(node, Cause.LEASE_END)
        node.state = node_after(node.state, Cause.REGISTER, address)
        node.type, node.row, node.health, node.seen = type, row, Health.HEALTHY, self._clock.now()
        node.asked = rules.asked_after_register(node.asked)
        node.epoch += 1
        if type is NodeType.INDEX_SERVER and not node.placed:
            self._catch_up(node)
        return Lease(node.id, address, node.epoch)

    def _catch_up(self, server: HeldNode) -> None:
        """A new index server gets everything that was built before it came."""
        for chunk in self._state.chunks.values():
            if chunk.built is BuilderTask.BUILT:
                self._place(server, chunk)

    def _place(self, server: HeldNode, chunk: HeldChunk) -> None:
        server.placed.append(chunk.id)
        self._state.placements.append(Placed(server.row, chunk.id, server.address))

    def heartbeat(self, lease: Lease) -> NodeState:
        node = self._alive(lease)
        now = self._clock.now()
        # If we were away as well, the others may only seem late.
        if not rules.is_ended(now - node.seen, self._settings.lease):
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
            if node.state is not NodeState.OFFLINE and rules.is_ended(now - node.seen, self._settings.lease)
        ]
        for node in ended:
            self._void(node, Cause.LEASE_END)
        return len(ended)

    def _void(self, node: HeldNode, cause: Cause) -> None:
        node.state = node_after(node.state, cause, node.address)
        node.health = Health.HEALTHY if cause is Cause.LEAVE else Health.FAILURE
        node.epoch += 1
        for link in self._state.links.values():
            if link.state is LinkState.CRAWLING and link.node == node.id:
                self._give_back(link, cause if cause is Cause.LEASE_END else Cause.RELEASE)
        for chunk in self._state.chunks.values():
            if chunk.builder == node.address and chunk.built is BuilderTask.BUILDING:
                self._offer_again(chunk, cause, f"the lease of its builder {node.address} has ended")
        self._state.slots = [None if owner == node.id else owner for owner in self._state.slots]
        self._state.leaving = {slot for slot in self._state.leaving if self._state.slots[slot] is not None}

    def _offer_again(self, chunk: HeldChunk, cause: Cause, reason: str) -> None:
        chunk.built = builder_after(chunk.built, Cause.RELEASE if cause is Cause.LEAVE else cause, chunk.id)
        chunk.lost_leases += cause is Cause.LEASE_END
        chunk.errors += cause is Cause.FAIL
        chunk.reason = reason if cause is not Cause.LEAVE else chunk.reason
        chunk.is_offered = chunk.lost_leases < rules.MOST_LOST_LEASES and chunk.errors < rules.MOST_BUILD_ERRORS

    def nodes(self) -> list[Node]:
        return [self._node(node) for node in self._state.nodes.values()]

    def _node(self, node: HeldNode) -> Node:
        late = self._clock.now() - node.seen
        settings = self._settings
        return Node(
            id=node.id,
            address=node.address,
            type=node.type,
            state=node.state,
            health=rules.health_of(node.state, node.health, late, settings.heartbeat, settings.lease),
            epoch=node.epoch,
            seen=late,
            holds=self._holds(node),
        )

    def _holds(self, node: HeldNode) -> int:
        links = sum(link.state is LinkState.CRAWLING and link.node == node.id for link in self._state.links.values())
        chunks = sum(
            chunk.built is BuilderTask.BUILDING and chunk.builder == node.address
            for chunk in self._state.chunks.values()
        )
        return links + chunks + len(node.placed) - node.acknowledged

    def own_slots(self, crawler: Lease) -> frozenset[int]:
        self._alive(crawler)
        slots, me = self._state.slots, crawler.node
        given_up = {slot for slot in self._state.leaving if slots[slot] == me}
        self._state.leaving -= given_up
        for slot in given_up:
            slots[slot] = None
        living = [
            node.id
            for node in self._state.nodes.values()
            if node.type is NodeType.CRAWLER and node.state is not NodeState.OFFLINE
        ]
        taken, left = rules.divide(slots, frozenset(self._state.leaving), me, rules.fair_quota(living, me))
        for slot in taken:
            slots[slot] = me
        self._state.leaving |= set(left)
        return frozenset(slot for slot, owner in enumerate(slots) if owner == me and slot not in self._state.leaving)
