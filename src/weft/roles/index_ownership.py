"""The store as a command writes it: that of the home, or that of a cluster, owned for as long as the command runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from weft import __version__
from weft.config import Settings
from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost, MgmtError
from weft.home import Home
from weft.mgmt.api import Mgmt
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import Lease, NodeAbout, NodeState, NodeType, StoreOwner
from weft.roles.identity import require_identity, require_store
from weft.roles.store_registry import MgmtRegistry
from weft.roles.this_node import about_this_node, machine_name
from weft.store.api import Reader, Store
from weft.store.cassandra.address import parse_address
from weft.store.directory import WriterLock
from weft.store.open import is_cluster, open_cluster, open_store

if TYPE_CHECKING:
    from weft.store.cassandra.registered_store import Remembered

log = logging.getLogger(__name__)

_LONGEST_PATH: Final = 180
"""The control plane keeps at most 255 characters of an address; of a long path the end tells more."""


@contextmanager
def index_writer(settings: Settings, home: Home, remembered: Remembered) -> Iterator[Store]:
    """The store, of which this process is the one writer; raises StoreInUse or IndexOwned while there is another.

    `remembered` makes the rows that the owner of a cluster's index has in memory alone.
    """
    if not is_cluster(settings):
        with open_store(home.store, settings) as store:
            yield store
        return
    with (
        writer_lock(home),
        open_cluster(settings) as cluster,
        closing(open_mgmt(settings, home)) as mgmt,
        BackgroundLease(lambda: open_mgmt(settings, home), index_address(settings, home), settings) as owner,
    ):
        require_identity(mgmt, settings)
        require_store(mgmt, settings, store_owner(settings, home, cluster))
        yield cluster.own(MgmtRegistry(mgmt, owner), remembered)


@contextmanager
def writer_lock(home: Home) -> Iterator[None]:
    """One process of a home writes a cluster's index, as one writes an embedded one: both would be the same node."""
    lock = WriterLock(home.store)
    try:
        yield
    finally:
        lock.release()


def index_address(settings: Settings, home: Home) -> str:
    """The name of the index process of a home among all nodes."""
    return f"index@{machine_name(settings)}:{str(home.path.resolve())[-_LONGEST_PATH:]}"


def store_owner(settings: Settings, home: Home, store: Reader) -> StoreOwner:
    """What the control plane records of the store: which one it is, and where it is found."""
    if is_cluster(settings):
        return StoreOwner(store.id, str(parse_address(settings.store.url)))
    return StoreOwner(store.id, f"{machine_name(settings)}:{home.path.resolve()}")


class BackgroundLease:
    """The lease of a node that has no event loop: kept by a thread, with a connection of its own."""

    def __init__(self, open_calls: Callable[[], Mgmt], address: str, settings: Settings) -> None:
        self._open_calls, self._address = open_calls, address
        self._settings: MgmtSettings = settings.mgmt
        self._about: NodeAbout = about_this_node(settings, __version__)
        self._stop = Event()

    def __enter__(self) -> Lease:
        self._mgmt = self._open_calls()
        try:
            self._lease = self._mgmt.register(NodeType.INDEX_BUILDER, self._address, about=self._about)
        except BaseException:
            self._mgmt.close()
            raise
        self._thread = Thread(target=self._beat, name="weft-lease", daemon=True)
        self._thread.start()
        return self._lease

    def _beat(self) -> None:
        while not self._stop.wait(self._settings.heartbeat):
            try:
                self._mgmt.heartbeat(self._lease)
            except LeaseLost as error:
                # Whoever took over raised the epoch: this process can register nothing more.
                log.warning("%s", error)
                return
            except MgmtError as error:
                log.warning("heartbeat failed reason=%s", error)

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        try:
            self._mgmt.tell(self._lease, NodeState.OFFLINE)
        except MgmtError as error:
            log.warning("control plane was not told that %s left reason=%s", self._address, error)
        self._mgmt.close()
