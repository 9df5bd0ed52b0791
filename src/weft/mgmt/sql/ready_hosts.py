"""Web hosts that may give links now, in the order in which they became ready (relation `pending_host`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import starmap
from typing import Final, NamedTuple

from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.slots import claimable_slots
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

_MAKE_LAST: Final = """
UPDATE pending_host SET ready_at = :now, set_at = :now, reason = '' WHERE web_host IN (
    SELECT web_host FROM pending_host WHERE web_host {among hosts} AND ready_at <= :now {skip})
"""

_NAMED: Final = """
SELECT web_host, pending, ready_at, slot FROM pending_host
WHERE web_host {among hosts} AND pending > 0 AND ready_at <= :now
"""


class ReadyHost(NamedTuple):
    web_host: str
    pending: int
    ready_at: int
    slot: int

    @property
    def order(self) -> tuple[int, str]:
        """Who has been ready longest goes first."""
        return self.ready_at, self.web_host


def first_ready(tx: Transaction, crawler: NodeId, wanted: int, reject: Collection[str]) -> list[ReadyHost]:
    """Ready hosts in order, rejected ones among them, until `wanted` are not rejected or there are no more."""
    slots = claimable_slots(tx, crawler)
    look = _of_all_slots(tx) if len(slots) > ADDRESS_SLOTS else _of_slots(tx, slots)
    most = wanted
    while True:
        hosts, is_all = look(most)
        if is_all or sum(host.web_host not in reject for host in hosts) >= wanted:
            return hosts
        most *= 4


Look = Callable[[int], tuple[list[ReadyHost], bool]]
"""The first ready hosts, about so many, and whether there are no more."""


def _of_all_slots(tx: Transaction) -> Look:
    def look(most: int) -> tuple[list[ReadyHost], bool]:
        hosts = [ReadyHost(*row) for row in tx.rows(_FIRST, now=tx.now, most=most)]
        return hosts, len(hosts) < most

    return look


def _of_slots(tx: Transaction, slots: Iterable[int]) -> Look:
    """The order is kept per address slot too: the hosts of other crawlers, which may be slow, are never passed."""
    seen: dict[int, list[ReadyHost]] = {slot: [] for slot in slots}
    cut = set(seen)

    def look(most: int) -> tuple[list[ReadyHost], bool]:
        # Hosts whose address is unknown are all in one slot.
        each = {slot: most if slot == NO_SLOT else 4 * most // len(seen) + 4 for slot in cut}
        given = [[slot, tx.now, each[slot]] for slot in sorted(cut)]
        seen.update({slot: [] for slot in cut})
        for host in starmap(ReadyHost, tx.each(_FIRST_OF_SLOT, "slot:int now:int most:int", given)):
            seen[host.slot].append(host)
        cut.intersection_update([slot for slot in each if len(seen[slot]) == each[slot]])
        return _sure(seen, cut), not cut

    return look


def _sure(seen: Mapping[int, Sequence[ReadyHost]], cut: Iterable[int]) -> list[ReadyHost]:
    """The hosts seen, up to where a slot that was not seen to its end may hold others."""
    end = min((seen[slot][-1].order for slot in cut), default=None)
    return sorted(
        (host for hosts in seen.values() for host in hosts if end is None or host.order <= end),
        key=lambda host: host.order,
    )


def ready_among(tx: Transaction, crawler: NodeId, names: set[str]) -> list[ReadyHost]:
    """Those of the named hosts that are ready and that this crawler may claim from."""
    if not names:
        return []
    slots = claimable_slots(tx, crawler)
    hosts = starmap(ReadyHost, tx.rows(_NAMED, hosts=sorted(names), now=tx.now))
    return [host for host in hosts if host.slot in slots]


def lock_hosts(tx: Transaction, hosts: Sequence[ReadyHost], most: int) -> list[ReadyHost]:
    """The first of these hosts that no other transaction has in hand."""
    names = [host.web_host for host in hosts]
    return [ReadyHost(*row) for row in tx.rows(_LOCK_HOSTS, hosts=names, now=tx.now, most=most)] if names else []


def pass_over(tx: Transaction, rejected: Sequence[str]) -> None:
    """Hosts that were rejected become the last, so that the next claim need not pass them again."""
    if rejected:
        tx.run(_MAKE_LAST, hosts=list(rejected), now=tx.now)
