"""A lock of the operating system per node and epoch: held while the process lives, free the moment it dies."""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

from weft.errors import MgmtUnavailable
from weft.mgmt.values import NodeId

_held: weakref.WeakSet[NodeLocks] = weakref.WeakSet()


class NodeLocks:
    """The locks that this process holds, and a look at those of others, in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[tuple[NodeId, int], int] = {}
        _held.add(self)

    def hold(self, node: NodeId, epoch: int) -> None:
        """Take the lock of a new epoch, before anybody else can know of that epoch."""
        if (node, epoch) in self._files:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._path(node, epoch)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise MgmtUnavailable(f"lock {path}: another process holds it; expected a new one") from None
        self._files[node, epoch] = file

    def is_free(self, node: NodeId, epoch: int) -> bool:
        """Whether its holder is gone. A lock that nobody ever took tells nothing: the lease alone decides then."""
        if (node, epoch) in self._files:
            return False
        try:
            file = os.open(self._path(node, epoch), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two that look at once see the same
        except OSError:
            return False
        finally:
            os.close(file)
        return True

    def drop(self, node: NodeId, before: int) -> None:
        """Forget the locks of a node's epochs up to, not including, `before`."""
        for path in self._directory.glob(f"{node}-*.lock"):
            epoch = int(path.stem.partition("-")[2])
            if epoch < before:
                self.let_go(node, epoch)
                path.unlink(missing_ok=True)

    def tidy(self, living: Set[tuple[NodeId, int]]) -> None:
        """Forget the locks of processes that died, but for those that others have not noticed yet."""
        for path in self._directory.glob("*-*.lock"):
            node, epoch = map(int, path.stem.split("-"))
            if (NodeId(node), epoch) not in living and self.is_free(NodeId(node), epoch):
                path.unlink(missing_ok=True)

    def let_go(self, node: NodeId, epoch: int) -> None:
        file = self._files.pop((node, epoch), None)
        if file is not None:
            os.close(file)

    def close(self) -> None:
        for node, epoch in list(self._files):
            self.let_go(node, epoch)

    def _path(self, node: NodeId, epoch: int) -> Path:
        return self._directory / f"{node}-{epoch}.lock"


def is_any_held(directory: Path) -> bool:
    """Whether any process holds a lock of a node there."""
    for path in directory.glob("*.lock"):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
    return False


def _forget_in_child() -> None:
    """A forked child shares the open files: it would keep its parent's locks after the parent's death."""
    for locks in list(_held):
        with suppress(OSError):
            locks.close()


os.register_at_fork(after_in_child=_forget_in_child)
