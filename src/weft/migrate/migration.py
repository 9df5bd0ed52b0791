"""Moves the index of a home to another engine, and with it the control plane where the new engine needs another one.

The old index and the old control plane stay as they are: the settings decide which ones are used, and the user changes
them last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from weft import failpoints
from weft.config import Settings
from weft.config.text import hide_password
from weft.dispatcher.domain_work import listed_cells
from weft.errors import UsageError
from weft.home import Home
from weft.linkindex.digest import digest
from weft.mgmt.values import AdoptedIndex
from weft.migrate.cells import Copied, Progress, StoreCopy, last_batch
from weft.migrate.control import MigratedControl
from weft.migrate.places import TargetPlace, target_place
from weft.roles.index_ownership import index_writer, store_owner
from weft.store.api import CopyStore, Store
from weft.store.migration_note import read_note
from weft.store.open import is_cluster
from weft.supervisor.home_claim import claim_home


class Migrated(NamedTuple):
    cells: int
    digest: str
    seq: int
    """The last one of the new index."""
    rows: int | None
    """Of the control plane that were copied; None: it stays where it is, or was copied before."""


@dataclass(frozen=True, slots=True)
class Migration:
    home: Home
    old: Settings
    new: Settings
    again: bool
    """Begin anew, whatever the target holds."""

    def run(self, progress: Progress, say: Callable[[str], None]) -> Migrated:
        """Raises an error that says what is in the way before anything is changed.

        Killed at any moment, it goes on when it is run again.
        """
        _refuse_same_engine(self.old, self.new)
        control, place = MigratedControl(self.home, self.old, self.new), target_place(self.new, self.home)
        lock = claim_home(self.home, say, patience=0)
        try:
            copied, rows = self._copied_before(place, control) or self._copy(place, control, progress)
            failpoints.point("migrate.finish")
            place.finish(copied.last, copied.seq)
        finally:
            lock.release()
        return Migrated(copied.cells, copied.digest, copied.seq, rows)

    def _copied_before(self, place: TargetPlace, control: MigratedControl) -> tuple[Copied, None] | None:
        """What an earlier run copied, if it was stopped in its last step: the new control plane uses it already, so the
        old index may not be opened any more."""
        if self.again or not place.is_begun():
            return None
        with place.open() as target:
            note = read_note(target)
            if note is None or not note.is_copied or not control.is_about(target.id):
                return None
            return Copied(note.cells, digest(target), *last_batch(note)), None

    def _copy(self, place: TargetPlace, control: MigratedControl, progress: Progress) -> tuple[Copied, int | None]:
        with index_writer(self.old, self.home, listed_cells) as source:
            if is_cluster(self.old):
                control.refuse_beside_others()
            place.refuse_unless(again=self.again)
            control.check(place.id(), again=self.again, may_replace=self.again or place.is_begun())
            if self.again:
                place.clear()
            with place.open() as target:
                copied = self._copied(source, target, place, progress)
                return copied, control.adopt(self._index(target, copied))

    def _copied(self, source: Store, target: CopyStore, place: TargetPlace, progress: Progress) -> Copied:
        where = store_owner(self.old, self.home, source).where
        expected = source.statistics().get("cells", 0)  # an estimate; a cluster has none
        return StoreCopy(source, where, target, place.name, place.lists_work).run(_in_percent(progress, expected))

    def _index(self, target: CopyStore, copied: Copied) -> AdoptedIndex:
        from weft.store.cassandra.registry import encode_batch

        batch = encode_batch(copied.last) if is_cluster(self.new) else b""
        return AdoptedIndex(store_owner(self.new, self.home, target), copied.seq, batch)


def _in_percent(progress: Progress, expected: int) -> Progress:
    def tell(what: str, number: int) -> None:
        progress(f"{what} (about {min(99, number * 100 // expected)} %)" if expected else what, number)

    return tell


def _refuse_same_engine(old: Settings, new: Settings) -> None:
    if is_cluster(old) == is_cluster(new):
        where = hide_password(old.store.url)
        raise UsageError(f"--to: the index is in {where}, which is the same engine; expected the other one")
