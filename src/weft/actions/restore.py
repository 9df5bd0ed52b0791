"""A control plane that is damaged or lost: its newest good copy is put back, or a new one starts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from weft.config import Settings
from weft.dispatcher.take_back import take_back_given
from weft.errors import MgmtMissing, UsageError
from weft.home import Home
from weft.index.chunk_markers import forget_all
from weft.mgmt.api import Mgmt, OperatorCalls
from weft.mgmt.node_locks import is_any_held
from weft.mgmt.open import is_embedded
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.sqlite_copies import copies_of, database_of, newest_good_copy, put_back, set_aside
from weft.mgmt.values import Lease, NodeState, NodeType, StoreOwner
from weft.store.api import Store
from weft.store.timeline import begin_timeline


class Restored(NamedTuple):
    copy: Path | None
    """What was put back; None: a new control plane without sites."""
    aside: Path | None
    """Where the damaged one is now."""
    links: int
    """Links that are crawled again because the lost one had them."""


def restore(settings: Settings, home: Home, store: Store, *, without_copy: bool) -> Restored:
    """Replace the control plane of this home, while nothing runs; `store` is open for writing.

    May be killed at any moment and run again: the control plane appears last.
    """
    copy = _chosen_copy(settings, home, without_copy=without_copy)
    aside = set_aside(home)
    links = take_back(settings, store)
    if copy is not None:
        put_back(home, copy)
    # A new one is made, an old one brought up to date.
    with closing(SqliteMgmt(database_of(home), settings=settings.mgmt)) as mgmt:
        let_go(mgmt)
    return Restored(copy, aside, links)


def let_go(mgmt: Mgmt) -> None:
    """End the leases of a run in which a control plane was copied: nobody should wait until they end by themselves."""
    for node in mgmt.nodes():
        if node.state is not NodeState.OFFLINE:
            mgmt.tell(Lease(node.id, node.address, node.epoch), NodeState.OFFLINE)


def take_back(settings: Settings, store: Store) -> int:
    """Let the index hand out again what a control plane had that is not the present one; returns how many links."""
    links = take_back_given(store, max(1, settings.dispatcher.segment_size // 2))
    # Numbers of chunks will be used again: a marker of an old one would pass for the new one's.
    forget_all(store)
    return links


def after_backup(settings: Settings, store: Store) -> int:
    """As take_back, when users put back the control plane by themselves, and perhaps the store with it."""
    begin_timeline(store)
    return take_back(settings, store)


def build_again(mgmt: OperatorCalls, store: Store, owner: StoreOwner) -> int:
    """Have an empty store filled from the archives, because the one of this control plane is lost; how many chunks.

    Every link's last result is read again. May be killed at any moment and run again.
    """
    mgmt.reap()
    if store.last_seq:
        raise UsageError(f"the store of {owner.where} is not empty; expected a new home (`weft init`), which is filled")
    for node in mgmt.nodes():
        if node.type is NodeType.INDEX_BUILDER and node.state is not NodeState.OFFLINE:
            raise UsageError(f"{node.address} is running, or was until a moment ago; stop it first")
    chunks = mgmt.offer_built()
    mgmt.own_store(owner, replaces=True)
    return chunks


def _chosen_copy(settings: Settings, home: Home, *, without_copy: bool) -> Path | None:
    if not is_embedded(settings):
        raise UsageError(
            "the control plane of this home is a PostgreSQL database; restore it with PostgreSQL's tools, "
            "then run `weft restore --links-only`"
        )
    if is_any_held(database_of(home).with_name("mgmt.db-locks")):
        raise UsageError("weft is running in this home; stop it first")
    copy = None if without_copy else newest_good_copy(home)
    if copy is None and not without_copy:
        raise MgmtMissing(
            f"control plane {database_of(home)}: there is no good copy in {copies_of(home)[0].parent}; "
            "`weft restore --without-copy` starts a new one, and you add the sites again"
        )
    return copy
