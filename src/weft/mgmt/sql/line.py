"""The line in which web hosts wait for their turn to give links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from weft.mgmt.sql.database import Transaction
from weft.mgmt.values import NodeId
from weft.model.host import ADDRESS_SLOTS, NO_SLOT

_FIRST: Final = """
SELECT web_host, pending, ready_at, slot FROM pending_host
WHERE pending > 0 AND ready_at <= :now ORDER BY ready_at, web_host LIMIT :most
"""

_FIRST_OF_SLOT: Final = """
SELECT web_host, pending, ready_at, slot FROM pending_host
WHERE slot = given.slot AND pending > 0 AND ready_at <= given.now
ORDER BY ready_at, web_host LIMIT given.most
"""

_LOCK_HOSTS: Final = """
SELECT web_host, pending, ready_at, slot FROM pending_host
WHERE web_host {among hosts} AND pending > 0 AND ready_at <= :now
ORDER BY ready_at, web_host LIMIT :most {skip}
"""

_GO_TO_THE_END: Final = """
UPDATE pending_host SET ready_at = :now WHERE web_host IN (
    SELECT web_host FROM pending_host WHERE web_host {among hosts} AND ready_at <= :now {skip})
"""

_FOREIGN_SLOTS: Final = "SELECT number FROM slot WHERE node <> :node"


class WaitingHost(NamedTuple):
    web_host: str
    pending: int
    ready_at: int
    slot: int

    @property
    def place(self) -> tuple[int, str]:
        """Where it stands in line."""
        return self.ready_at, self.web_host


def open_slots(tx: Transaction, crawler: NodeId) -> set[int]:
    """All parts of the address space that no other crawler owns, and the one of hosts whose address is not known."""
    foreign = {number for (number,) in tx.rows(_FOREIGN_SLOTS, node=crawler)}
    return set(range(NO_SLOT, ADDRESS_SLOTS)) - foreign


def first_in_line(tx: Transaction, crawler: NodeId, wanted: int, reject: Collection[str]) -> list[WaitingHost]:
    """Ready hosts in order, rejected ones among them, until `wanted` are not rejected or there are no more."""
    slots = open_slots(tx, crawler)
    look = _whole_line(tx) if len(slots) > ADDRESS_SLOTS else _lines_of(tx, slots)
    most = wanted
    while True:
        line, is_all = look(most)
        if is_all or sum(host.web_host not in reject for host in line) >= wanted:
            return line
        most *= 4


Look = Callable[[int], tuple[list[WaitingHost], bool]]
"""The first hosts in line, about so many, and whether there are no more."""


def _whole_line(tx: Transaction) -> Look:
    def look(most: int) -> tuple[list[WaitingHost], bool]:
        line = [WaitingHost(*row) for row in tx.rows(_FIRST, now=tx.now, most=most)]
        return line, len(line) < most

    return look


def _lines_of(tx: Transaction, slots: Iterable[int]) -> Look:
    """The line is kept per slot too: the hosts of other crawlers, who may be slow, are never passed."""
    seen: dict[int, list[WaitingHost]] = {slot: [] for slot in slots}
    cut = set(seen)

    def look(most: int) -> tuple[list[WaitingHost], bool]:
        # Hosts whose address is unknown are all in one slot.
        each = {slot: most if slot == NO_SLOT else 4 * most // len(seen) + 4 for slot in cut}
        given = [[slot, tx.now, each[slot]] for slot in sorted(cut)]
        seen.update({slot: [] for slot in cut})
        for row in tx.each(_FIRST_OF_SLOT, "slot:int now:int most:int", given):
            seen[row[3]].append(WaitingHost(*row))
        cut.intersection_update([slot for slot in each if len(seen[slot]) == each[slot]])
        return _sure(seen, cut), not cut

    return look


def _sure(seen: Mapping[int, Sequence[WaitingHost]], cut: Iterable[int]) -> list[WaitingHost]:
    """The hosts seen, up to where a slot that was not seen to its end may hold others."""
    end = min((seen[slot][-1].place for slot in cut), default=None)
    return sorted(
        (host for hosts in seen.values() for host in hosts if end is None or host.place <= end),
        key=lambda host: host.place,
    )


def lock_hosts(tx: Transaction, line: Sequence[WaitingHost], most: int) -> list[WaitingHost]:
    """The first hosts of the line that no other transaction has in hand."""
    names = [host.web_host for host in line]
    return [WaitingHost(*row) for row in tx.rows(_LOCK_HOSTS, hosts=names, now=tx.now, most=most)] if names else []


def pass_over(tx: Transaction, rejected: Sequence[str]) -> None:
    """Hosts that were rejected go to the end of the line, so that the next claim need not pass them again."""
    if rejected:
        tx.run(_GO_TO_THE_END, hosts=list(rejected), now=tx.now)
