"""A control plane that is damaged or lost: its newest good copy is put back, or a new one starts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from weft.archive.record_reader import is_here
from weft.config import Settings
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.take_back import take_back_given
from weft.errors import MgmtMissing, UsageError
from weft.home import Home
from weft.index.chunk_markers import forget_all
from weft.index.read_fetch import needs_record, refers_elsewhere
from weft.mgmt.api import Mgmt, OperatorCalls
from weft.mgmt.node_locks import is_any_held
from weft.mgmt.open import is_embedded
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.sqlite_copies import copies_of, database_of, newest_good_copy, put_back, set_aside
from weft.mgmt.values import BuildLink, ChunkId, Lease, NodeState, NodeType, StoreOwner
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of
from weft.store.api import Store
from weft.store.timeline import begin_timeline


class Restored(NamedTuple):
    copy: Path | None
    """What was put back; None: a new control plane without sites."""
    aside: Path | None
    """Where the damaged one is now."""
    links: int
    """Links that are crawled again because the lost one had them."""
    lacking: LackingLinks


class LackingLinks(NamedTuple):
    """Links that the control plane knows as fetched, and of which the index lacks that."""

    archived: int = 0
    """They are loaded again from what the archive and the control plane keep of them."""
    refetched: int = 0
    """They are fetched again: what they said is in no record that can be read now."""
    given: int = 0
    """Those of them that the index had handed over when it was as it is now."""


def restore(settings: Settings, home: Home, store: Store, *, without_copy: bool) -> Restored:
    """Replace the control plane of this home, while nothing runs; `store` is open for writing.

    May be killed at any moment and run again: the control plane appears last.
    """
    copy = _chosen_copy(settings, home, without_copy=without_copy)
    aside = set_aside(home)
    seq, links = store.last_seq, take_back(settings, store)
    if copy is not None:
        put_back(home, copy)
    # A new one is made, an old one brought up to date.
    with closing(SqliteMgmt(database_of(home), settings=settings.mgmt)) as mgmt:
        let_go(mgmt)
        # The copy may be newer than the index, if that was put back too.
        lacking = offer_lacking(mgmt, store, seq, home.path / settings.spider.warc_dir)
    return Restored(copy, aside, links, lacking)


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


def after_backup(settings: Settings, home: Home, store: Store, mgmt: OperatorCalls) -> tuple[int, LackingLinks]:
    """As take_back, when users put back the store by themselves, or the control plane, or both.

    May be killed at any moment and run again: the control plane offers what the index lacks before that is written to.
    """
    archive = home.path / settings.spider.warc_dir if is_embedded(settings) else None
    lacking = offer_lacking(mgmt, store, store.last_seq, archive)
    begin_timeline(store)
    return take_back(settings, store) - lacking.given, lacking


def offer_lacking(mgmt: OperatorCalls, store: Store, seq: int, archive: Path | None) -> LackingLinks:
    """Offer every chunk again with a link whose last result is not in the index, which is as of `seq`.

    Each link is looked at: seqs tell of chunks, and not of what an older weft left out when it put an index back.
    `archive` is where all records lie; None: some lie on other machines.
    """
    found, after = LackingLinks(), ""
    older: set[ChunkId] = set()
    # All are counted before any is offered: the links of a chunk are far apart.
    while links := mgmt.built_links(after):
        after = links[-1].link.uri
        places = [(reversed_domain(domain_of(Uri(link.uri))).encode(), link.uri.encode()) for _, _, link in links]
        records = LinkRound(store, 1).read(places)
        lacking = [(*one, record) for one, record in zip(links, records, strict=True) if _lacks(record, one.link)]
        refetched = sum(_is_fetched_again(link, record, archive) for _, _, link, record in lacking)
        found = LackingLinks(
            found.archived + len(lacking) - refetched,
            found.refetched + refetched,
            found.given + sum(record is not None and record.phase is LinkPhase.GIVEN for *_, record in lacking),
        )
        older.update(chunk for chunk, chunk_seq, _, _ in lacking if chunk_seq <= seq)
    mgmt.offer_built(seq, sorted(older))
    return found


def _lacks(record: LinkRecord | None, link: BuildLink) -> bool:
    if record is None or not record.fetched:
        return True
    # A fetch that was lost has no time: it counts as ended when it is loaded.
    return record.fetched < link.result.ended or (not link.result.ended and record.error != link.result.error)


def _is_fetched_again(link: BuildLink, record: LinkRecord | None, archive: Path | None) -> bool:
    if refers_elsewhere(link, record.original if record else None):
        return True
    position = link.result.position
    return needs_record(link) and archive is not None and position is not None and not is_here(archive, position.file)


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
