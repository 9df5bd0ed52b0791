"""What can go wrong with an archive."""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

from isal.igzip_lib import IsalError

from weft.errors import WeftError

# isal's type stubs call this class an instance.
GzipError: Final = cast(type[Exception], IsalError)


class ArchiveError(WeftError):
    """The archive cannot do what was asked."""

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"archive {path}: {problem}")
        self.path, self.problem = path, problem


class ArchiveUnwritable(ArchiveError):  # noqa: N818
    """The disk is full, read-only or failing; what was synced is safe, what was given just now is not in."""


class RecordUnreadable(ArchiveError):  # noqa: N818
    """There is no whole record at this position."""


class RecordDropped(RecordUnreadable):
    """There was one, and it was dropped on purpose: `[archive]` says how much is kept."""

    def __init__(self, path: Path | str, offset: int) -> None:
        super().__init__(path, f"the record at {offset} was dropped, because [archive] says so")


class NodeUnreachable(WeftError):  # noqa: N818
    """The node that holds a record cannot be asked for it now: that says nothing about the record."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(f"node {node} cannot be asked for its records: {reason}")
        self.node, self.reason = node, reason


class ConnectionBroken(NodeUnreachable):
    """The node closed the connection: it may answer on a new one."""
