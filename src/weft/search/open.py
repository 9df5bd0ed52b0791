"""Where a search is answered: by index servers, or by the directories of this home."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from weft.config import Settings
    from weft.home import Home
    from weft.mgmt.api import Mgmt
    from weft.mgmt.values import Node
    from weft.search.search import Shards
    from weft.search.server_connection import ServerAccess
    from weft.search.shard_sources import Told

_BEHIND: Final = 60_000
"""Milliseconds after which a server is asked only if there is no better one."""


def open_shards(settings: Settings, home: Home, store: str, open_mgmt: Callable[[], Mgmt]) -> Shards:
    """The index servers that the control plane knows, or what is in this home of the store with this id.

    A control plane that is missing or damaged is no reason not to answer.
    """
    from weft.search.local_shards import LocalShards
    from weft.search.remote_shards import RemoteShards
    from weft.search.shard_sources import DirectorySource

    rows = _rows(home)
    count = _count(settings, open_mgmt)
    if count is None:
        own = settings.indexserver.shards
        return LocalShards.open(_best_row(rows, store, own) or home.search_row(1), store, own)
    return RemoteShards(count, _ServerList(settings, home, open_mgmt, count), DirectorySource(rows, store, count))


def _count(settings: Settings, open_mgmt: Callable[[], Mgmt]) -> int | None:
    """Into how many shards the servers divide the index; None: there are no servers."""
    from weft.errors import MgmtError

    counts: Counter[int] = Counter()
    with suppress(MgmtError):
        counts.update(int(node.figures["count"]) for node in _servers(open_mgmt))
    own = settings.indexserver.shards
    return None if not counts else own if own in counts else counts.most_common(1)[0][0]


class _ServerList:
    """The servers that divide the index into `count` shards, and how they are asked now."""

    def __init__(self, settings: Settings, home: Home, open_mgmt: Callable[[], Mgmt], count: int) -> None:
        self._settings, self._home, self._open_mgmt, self._count = settings, home, open_mgmt, count
        self._known: tuple[Settings, ServerAccess] | None = None

    def __call__(self) -> tuple[Sequence[Told], ServerAccess]:
        servers = [node for node in _servers(self._open_mgmt) if node.figures["count"] == self._count]
        return [_told(node) for node in servers], self._access()

    def _access(self) -> ServerAccess:
        """The same one until the token changes, so that connections are kept. Another run of weft has another token."""
        from weft.roles.run_token import with_run_token

        current = with_run_token(self._settings, self._home.path)
        if self._known is None or self._known[0] != current:
            self._known = current, _make_access(current)
        return self._known[1]


def _servers(open_mgmt: Callable[[], Mgmt]) -> list[Node]:
    from weft.mgmt.values import Health, NodeState, NodeType

    with closing(open_mgmt()) as mgmt:
        nodes = mgmt.nodes()
    return [
        node
        for node in nodes
        if node.type is NodeType.INDEX_SERVER
        and node.state is not NodeState.OFFLINE
        and node.health is not Health.FAILURE
        and isinstance(node.figures.get("count"), int)
    ]


def _told(node: Node) -> Told:
    """Figures come from another version of weft, perhaps: nothing is taken for granted."""
    from weft.search.shard_sources import Told

    shards, lag = node.figures.get("shards"), node.figures.get("lag_ms")
    numbers = [one for one in shards if isinstance(one, int)] if isinstance(shards, list) else []
    return Told(node.address, node.row, frozenset(numbers), not isinstance(lag, int) or lag > _BEHIND)


def _make_access(settings: Settings) -> ServerAccess:
    from weft.roles.tls import client_context
    from weft.search.server_connection import ServerAccess

    @cache
    def context(host: str) -> ssl.SSLContext | None:
        return client_context(settings, host)

    return ServerAccess(settings.spider.token, context)


def _rows(home: Home) -> list[Path]:
    return sorted(home.search_row(1).parent.glob("row-*"))


def _best_row(rows: Sequence[Path], store: str, count: int) -> Path | None:
    """The first row that has all shards."""
    from weft.search.local_shards import shard_directories

    def is_whole(row: Path) -> bool:
        return all(directory.current() is not None for directory in shard_directories(row, store, count))

    return next(filter(is_whole, rows), None)
