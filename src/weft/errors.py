"""Every error that weft raises on purpose: one tree, one sentence each.

The command line prints the sentence, without a traceback, and exits with `exit_code`.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Final

FULL_DISK: Final = "the disk is full; make room and try again"


def is_disk_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def why_unwritable(error: OSError) -> str:
    """Why a file cannot be written; of a full disk also what to do."""
    return FULL_DISK if is_disk_full(error) else error.strerror or str(error)


class WeftError(Exception):
    """An error that a caller can understand: what happened, where, and what to do."""

    exit_code = 2


class UsageError(WeftError):
    """A command or method was called with arguments that make no sense."""


class LocalRefused(UsageError):  # noqa: N818
    """A host is on this machine or in a private network, and nobody said that this is meant."""


class NotKnown(WeftError):  # noqa: N818 - an answer, not a fault
    """The question was fine, but weft does not know the page, domain, site or node."""

    exit_code = 1


class SettingsError(WeftError):
    """A setting is unknown, of the wrong type or out of range."""

    def __init__(self, key: str, origin: str, problem: str) -> None:
        super().__init__(f"{origin}: {key}: {problem}")
        self.key, self.origin, self.problem = key, origin, problem


class HomeError(WeftError):
    """The home directory is missing, is not a weft home, or cannot be created."""


class StoreError(WeftError):
    """The store cannot do what was asked."""

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"store {path}: {problem}")
        self.path, self.problem = path, problem


class StoreMissing(StoreError):  # noqa: N818
    """There is no store at this path."""


class StoreForeign(StoreError):  # noqa: N818
    """The directory holds something that is not a weft store, or one of another format version."""


class StoreUnfinished(StoreError):  # noqa: N818
    """A copy of another store that is not whole yet."""

    def __init__(self, path: Path | str, source: str) -> None:
        super().__init__(path, f"this index is being migrated from {source}; finish it with `weft migrate`")


class StoreDiffers(StoreError):  # noqa: N818
    """A copy that does not have the digest of its original, or another one with all texts and records of links."""

    exit_code = 1

    def __init__(self, path: Path | str, wanted: str, found: str) -> None:
        super().__init__(
            path, f"the copy has digest {found}, the index {wanted}; `weft migrate --again` empties it and starts over"
        )


class StoreInUse(StoreError):  # noqa: N818
    """Another process is writing to the store, and only one may."""


class StoreCorrupt(StoreError):  # noqa: N818
    """The store's files are damaged."""


class StoreUnwritable(StoreError):  # noqa: N818
    """The disk is full, read-only or failing. This batch is not stored; earlier ones are safe."""


class BatchRefused(StoreError):  # noqa: N818
    """A batch breaks a rule of the store (size, order of sequence numbers, missing capability)."""


class OwnerReplaced(StoreError):  # noqa: N818
    """Another process owns the index of a cluster by now: drop all state, and take it anew or end."""

    def __init__(self, epoch: int) -> None:
        super().__init__(
            "of the cluster", f"another process has taken it over (ours was ownership {epoch}); nothing was written"
        )
        self.epoch = epoch


class MgmtError(WeftError):
    """The control plane cannot do what was asked."""


class MgmtForeign(MgmtError):  # noqa: N818
    """The database is not a weft control plane, or belongs to a newer version."""


class MgmtOutdated(MgmtError):  # noqa: N818
    """An older weft made the control plane, and whoever asks must not change it."""


class MgmtMissing(MgmtError):  # noqa: N818
    """The control plane of a home that was crawled is gone, or there is no good copy of it."""


class MgmtDamaged(MgmtError):  # noqa: N818
    """The database's file is damaged."""


class MgmtUnavailable(MgmtError):  # noqa: N818
    """The database cannot be reached, or refuses the login."""


class LeaseLost(MgmtError):  # noqa: N818
    """A node's lease has expired: another node may have its work by now, and it must register again."""

    def __init__(self, address: str, epoch: int) -> None:
        super().__init__(f"node {address}: its lease (epoch {epoch}) has expired; it must register again")
        self.address, self.epoch = address, epoch


class IndexOwned(MgmtError):  # noqa: N818
    """Another process owns the index of a cluster, and only one may."""

    def __init__(self, address: str, machine: str, seen: int) -> None:
        super().__init__(
            f"{address} on machine {machine or '?'} (last heartbeat {seen / 1000:.0f} s ago) is writing the index of "
            "this cluster; stop it with `weft stop` there, or with `weft stop --all`"
        )
        self.address, self.machine, self.seen = address, machine, seen


class WritingHeld(MgmtError):  # noqa: N818
    """Somebody needs the index of a cluster to hold still for a while; try again later."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"{holder} holds writing to the index")
        self.holder = holder


class NodeRefused(MgmtError):  # noqa: N818
    """A node may not join: a living one stands in its way, or it disagrees with the others about what a page is."""


class TransitionRefused(MgmtError):  # noqa: N818
    """A change of state that the table of transitions does not allow. Nothing was changed."""


class SearchError(WeftError):
    """The search index cannot do what was asked."""

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"search index {path}: {problem}")
        self.path, self.problem = path, problem


class SearchMissing(SearchError):  # noqa: N818
    """There is no search index at this path, or none for this store."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, "there is none yet; a crawl or an import builds it, and so does `weft rebuild`")


class SearchDamaged(SearchError):  # noqa: N818
    """The files of the search index are damaged. It can be built anew: nothing but the store is needed."""

    def __init__(self, path: Path | str, damage: str) -> None:
        super().__init__(path, f"it is damaged ({damage}); `weft rebuild` builds it anew")
        self.damage = damage


class SearchUnwritable(SearchError):  # noqa: N818
    """The disk is full, read-only or failing. What was committed before is safe."""
