"""Slots in the memory twin: who owns which part of the addresses, and which shard of a row of index servers."""

from __future__ import annotations

from collections.abc import Iterable

from weft.mgmt.memory.state import MemoryCalls, MemoryNode
from weft.mgmt.rules.slots import ADDRESSES, SHARES_SLOTS, Division, Slot, divide, pool_of_row
from weft.mgmt.values import Lease, NodeId, NodeType
from weft.model.host import ADDRESS_SLOTS


class MemorySlots(MemoryCalls):
    def own_slots(self, crawler: Lease) -> frozenset[int]:
        self._alive(crawler)
        crawlers = [node for node in self._state.nodes.values() if node.type is NodeType.CRAWLER]
        return self._own(crawler.node, ADDRESSES, ADDRESS_SLOTS, crawlers).owned

    def own_shards(self, server: Lease, count: int) -> frozenset[int]:
        me = self._alive(server)
        servers = [node for node in self._state.nodes.values() if node.type is NodeType.INDEX_SERVER]
        of_row = [node for node in servers if node.row == me.row]
        division = self._own(me.id, pool_of_row(me.row), max(0, count), of_row)
        if division.taken:
            me.acknowledged = 0
        return division.owned

    def _own(self, me: NodeId, pool: str, count: int, nodes: Iterable[MemoryNode]) -> Division:
        slots = self._state.slots[pool]
        slots += [Slot()] * (count - len(slots))
        sharers = [node.id for node in nodes if node.state in SHARES_SLOTS]
        division = divide(slots, count, me, sharers)
        for number in division.given_up:
            slots[number] = slots[number].given_up()
        for number in division.taken:
            slots[number] = slots[number]._replace(owner=me)
        for number in division.leaving:
            slots[number] = slots[number]._replace(is_leaving=True)
        return division

    def _free_slots(self, node: NodeId) -> None:
        for slots in self._state.slots.values():
            slots[:] = [slot.given_up() if slot.owner == node else slot for slot in slots]
