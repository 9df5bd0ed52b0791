"""Every error that weft raises on purpose: one tree, one sentence each.

The command line prints the sentence and exits with `exit_code`; nothing else ends up before a user's eyes.
"""

from __future__ import annotations

from pathlib import Path


class WeftError(Exception):
    """Something a caller can understand: what, where, and what was expected."""

    exit_code = 2


class UsageError(WeftError):
    """A command was asked for something that it cannot mean."""


class NotKnown(WeftError):  # noqa: N818 - an answer, not a fault
    """The question was fine; the answer is that weft does not know the thing."""

    exit_code = 1


class SettingsError(WeftError):
    """A setting is unknown, of the wrong type or out of range."""

    def __init__(self, key: str, origin: str, problem: str) -> None:
        super().__init__(f"{origin}: {key}: {problem}")
        self.key, self.origin, self.problem = key, origin, problem


class HomeError(WeftError):
    """The home directory is missing, not one of ours, or cannot be made."""


class StoreError(WeftError):
    """The store cannot do what was asked."""

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"store {path}: {problem}")
        self.path, self.problem = path, problem


class StoreMissing(StoreError):  # noqa: N818
    """There is no store at this path."""


class StoreForeign(StoreError):  # noqa: N818
    """The directory holds something that is not a weft store, or one of another format version."""


class StoreInUse(StoreError):  # noqa: N818
    """Another process is the store's one writer."""


class StoreCorrupt(StoreError):  # noqa: N818
    """The store's files are damaged."""


class StoreUnwritable(StoreError):  # noqa: N818
    """The disk is full, read-only or failing; what was acknowledged is safe, this batch is not in."""


class BatchRefused(StoreError):  # noqa: N818
    """A batch breaks a rule of the store (size, order of sequence numbers, missing capability)."""


class MgmtError(WeftError):
    """The control plane cannot do what was asked."""


class MgmtForeign(MgmtError):  # noqa: N818
    """The database is not a control plane of weft, or one of a newer version."""


class MgmtUnavailable(MgmtError):  # noqa: N818
    """The database cannot be reached, or does not let us in."""


class LeaseLost(MgmtError):  # noqa: N818
    """A node's epoch is void: its work may be somebody else's by now; it must register again."""

    def __init__(self, address: str, epoch: int) -> None:
        super().__init__(f"node {address}: its lease of epoch {epoch} has ended; expected it to register again")
        self.address, self.epoch = address, epoch


class TransitionRefused(MgmtError):  # noqa: N818
    """A state was asked to change in a way that no table of transitions allows; nothing was changed."""
