"""The control plane for a node that can do without it: it may be missing, damaged or replaced at any moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from weft.errors import LeaseLost, MgmtError
from weft.mgmt.api import Mgmt
from weft.mgmt.values import Lease, Node, NodeAbout, NodeState, NodeTold, NodeType

Answer = TypeVar("Answer")


class LateMgmt:
    """Opened with the first call, and again after a call failed or another database took its place.

    A lease counts only where it was taken: in another database its number may be that of another node.
    """

    def __init__(self, open_mgmt: Callable[[], Mgmt], identity: Callable[[], object]) -> None:
        """`identity` tells one database from the next."""
        self._open, self._identity = open_mgmt, identity
        self._mgmt: Mgmt | None = None
        self._opened: object = None
        self._has_lease = False

    def register(self, type: NodeType, address: str, row: int = 0, about: NodeAbout | None = None) -> Lease:  # noqa: A002
        lease = self._call(lambda mgmt: mgmt.register(type, address, row, about))
        self._has_lease = True
        return lease

    def heartbeat(self, lease: Lease, told: NodeTold | None = None) -> NodeState:
        return self._call_with(lease, lambda mgmt: mgmt.heartbeat(lease, told))

    def tell(self, lease: Lease, state: NodeState) -> None:
        self._call_with(lease, lambda mgmt: mgmt.tell(lease, state))

    def nodes(self) -> list[Node]:
        return self._call(lambda mgmt: mgmt.nodes())

    def close(self) -> None:
        self._has_lease = False
        if self._mgmt is not None:
            mgmt, self._mgmt = self._mgmt, None
            mgmt.close()

    def _call_with(self, lease: Lease, call: Callable[[Mgmt], Answer]) -> Answer:
        def checked(mgmt: Mgmt) -> Answer:
            if not self._has_lease:
                raise LeaseLost(lease.address, lease.epoch)
            return call(mgmt)

        return self._call(checked)

    def _call(self, call: Callable[[Mgmt], Answer]) -> Answer:
        identity = self._identity()
        if identity != self._opened:
            self.close()
        if self._mgmt is None:
            self._mgmt, self._opened = self._open(), identity
        try:
            return call(self._mgmt)
        except LeaseLost:
            raise
        except MgmtError:
            self.close()
            raise
