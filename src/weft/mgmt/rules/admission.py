"""Which nodes may register while others live: two that cannot work together would lose work in silence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from weft.errors import NodeRefused
from weft.mgmt.values import NodeAbout, NodeType

_ADDRESS_SETTINGS: Final = {
    NodeType.CRAWLER: "urlserver.listen or urlserver.address",
    NodeType.SPIDER: "spider.listen or spider.address",
    NodeType.WEB_APP: "web.listen",
}
_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names that mean another machine on every machine."""


class LivingNode(NamedTuple):
    """A node whose lease has not ended."""

    address: str
    type: str
    machine: str
    token: str
    seen: int
    """Milliseconds since its last heartbeat."""

    def __str__(self) -> str:
        return f"{self.address} on machine {self.machine or '?'} (last heartbeat {self.seen / 1000:.0f} s ago)"


def admit(type_: NodeType, address: str, about: NodeAbout, living: Iterable[LivingNode]) -> None:
    """Raises NodeRefused, with a sentence that names the node that stands in the way and the setting to change."""
    for other in living:
        if other.address == address:
            _admit_again(type_, address, about, other)
            continue
        if about.is_sole and other.type == type_:
            raise NodeRefused(
                f"node {address}: one control plane has one index, and {other} is running; stop that one first, "
                "or give this home a control plane of its own (mgmt.url)"
            )
        if _is_elsewhere(about, other):
            _admit_beside(type_, address, about, other)


def _is_elsewhere(about: NodeAbout, other: LivingNode) -> bool:
    return bool(about.machine and other.machine and about.machine != other.machine)


def _admit_again(type_: NodeType, address: str, about: NodeAbout, other: LivingNode) -> None:
    """A node that comes back takes its own address over; that of another machine is another node's."""
    if _is_elsewhere(about, other):
        setting = _ADDRESS_SETTINGS.get(type_, "mgmt.machine")
        raise NodeRefused(
            f"node {address}: {other} has this address; give the one on machine {about.machine} another ({setting})"
        )


def _admit_beside(type_: NodeType, address: str, about: NodeAbout, other: LivingNode) -> None:
    if about.token and other.token and about.token != other.token:
        raise NodeRefused(
            f"node {address} on machine {about.machine}: its token differs from that of {other}; "
            "set the same spider.token on all machines"
        )
    spider = _spider_of_pair(type_, address, other)
    if spider is not None and _is_for_this_machine(spider):
        raise NodeRefused(
            f"spider {spider}: an index process on another machine cannot read its records at this address; "
            "set spider.listen, and spider.address if others reach it elsewhere"
        )


def _spider_of_pair(type_: NodeType, address: str, other: LivingNode) -> str | None:
    """The spider's address, if one of the two is a spider and the other reads its records."""
    if (type_, other.type) == (NodeType.SPIDER, NodeType.INDEX_BUILDER):
        return address
    return other.address if (type_, other.type) == (NodeType.INDEX_BUILDER, NodeType.SPIDER) else None


def _is_for_this_machine(address: str) -> bool:
    return address.rpartition(":")[0].strip("[]") in _THIS_MACHINE
