"""How numbered slots are divided among the nodes that share them: parts of all addresses, shards of a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from weft.mgmt.values import NodeId, NodeState

ADDRESSES: Final = "addresses"
"""The pool of slots that crawlers share."""
SHARES_SLOTS: Final = (NodeState.ONLINE, NodeState.PAUSED)
"""States of nodes that take slots. One that drains keeps what it has until it is offline."""


def pool_of_row(row: int) -> str:
    """The pool of slots that the index servers of a row share: its shards."""
    return f"row {row}"


class Slot(NamedTuple):
    owner: NodeId | None = None
    is_leaving: bool = False
    """Its owner was told that it is not its own any more, and gives it up with its next call."""
    former: NodeId | None = None
    """Who owned it before, and may still have what belongs to it."""

    def given_up(self) -> Slot:
        return Slot(former=self.owner)


class Division(NamedTuple):
    """What a call of one node changes, by numbers of slots, in this order."""

    given_up: list[int]
    taken: list[int]
    leaving: list[int]
    owned: frozenset[int]
    """Those that are the node's own afterwards."""


def divide(slots: Sequence[Slot], count: int, me: NodeId, sharers: Sequence[NodeId]) -> Division:
    """What the first `count` of these slots the node `me` takes, and what it gives up; nobody else's are touched.

    A node that is not among the sharers keeps what it has and takes nothing; the sharers divide the rest evenly.
    """
    mine = [number for number, slot in enumerate(slots) if slot.owner == me]
    given_up = [number for number in mine if slots[number].is_leaving or number >= count]
    kept = [number for number in mine if number not in given_up]
    if me not in sharers:
        return Division(given_up, [], [], frozenset(kept))
    owned = Counter(slot.owner for slot in slots[:count] if slot.owner is not None and not slot.is_leaving)
    of_others = sum(number for node, number in owned.items() if node not in sharers)
    quota = fair_quota({node: owned[node] for node in sharers}, me, count - of_others)
    if len(kept) > quota:
        # Those first whose former owner is back: it has them still.
        kept.sort(key=lambda number: (_is_known_elsewhere(slots[number], me, sharers), number))
        return Division(given_up, [], sorted(kept[quota:]), frozenset(kept[:quota]))
    free = [number for number, slot in enumerate(slots[:count]) if slot.owner is None or number in given_up]
    free.sort(key=lambda number: (slots[number].former != me, _is_known_elsewhere(slots[number], me, sharers), number))
    taken = sorted(free[: quota - len(kept)])
    return Division(given_up, taken, [], frozenset(kept).union(taken))


def _is_known_elsewhere(slot: Slot, me: NodeId, sharers: Sequence[NodeId]) -> bool:
    return slot.former != me and slot.former in sharers


def fair_quota(owned: Mapping[NodeId, int], me: NodeId, count: int) -> int:
    """How many of `count` slots `me` should own; `owned` tells how many each sharer owns.

    If they cannot be divided evenly, whoever has one more keeps it: nothing moves that need not.
    """
    whole, rest = divmod(count, len(owned))
    above = sorted(node for node, number in owned.items() if number > whole)
    return whole + (me in above[:rest] or len(above) < rest)
