"""A control plane in memory that fails one call of one kind, in the way that a test asks for."""

from __future__ import annotations

from enum import Enum
from typing import Any

from weft.errors import MgmtError, MgmtUnavailable
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeState


class How(Enum):
    BEFORE = "before the commit"
    AFTER = "after the commit: the reply is lost"
    LEASE = "the lease ended just before"
    REFUSED = "refused, nothing is changed"


CALLS = [
    "register",
    "heartbeat",
    "tell",
    "claim",
    "outcomes",
    "lost",
    "refuse",
    "release",
    "defer",
    "save_rates",
    "rates",
    "seal_finished",
    "open_robots",
    "save_robots",
    "robots",
    "save_addresses",
    "addresses",
    "own_slots",
    "own_shards",
    "acknowledge",
    "sites",
    "add",
    "details",
    "report",
    "take_crawled",
    "built",
    "build_failed",
    "reopen",
    "wishes",
    "settle_wishes",
]


class OnceFailingMgmt(MemoryMgmt):
    """Fails the first `times` calls named `call` after `is_armed` is set."""

    def __init__(self, call: str = "", how: How = How.BEFORE, address: str = "", **more: Any) -> None:
        super().__init__(**more)
        self.call, self.how, self.address = call, how, address
        self.is_armed, self.times, self.failed = True, 1, 0

    def end_lease(self) -> None:
        """Of the node under test, as if others took it for dead."""
        for node in self.nodes():
            if node.address == self.address and node.state is not NodeState.OFFLINE:
                MemoryMgmt.register(self, node.type, node.address, node.row)

    def fails(self, call: str, work: Any) -> Any:
        if call != self.call or not self.is_armed or self.failed >= self.times:
            return work()
        self.failed += 1
        if self.how is How.LEASE:
            self.end_lease()
            return work()
        if self.how is How.REFUSED:
            raise MgmtError(f"{call} is refused")
        if self.how is How.AFTER:
            work()
        raise MgmtUnavailable(f"{call}: the connection broke")


def _failing(name: str) -> Any:
    original = getattr(MemoryMgmt, name)

    def call(self: OnceFailingMgmt, *arguments: Any, **named: Any) -> Any:
        return self.fails(name, lambda: original(self, *arguments, **named))

    call.__name__ = name
    return call


for _name in CALLS:
    setattr(OnceFailingMgmt, _name, _failing(_name))
