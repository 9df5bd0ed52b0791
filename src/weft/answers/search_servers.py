"""What the index servers tell of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from weft.answers.nodes import is_up
from weft.mgmt.values import Node, NodeType
from weft.roles.status_file import read_status, status_names

STATUS: Final = "indexserver"
"""The status file of the server that `weft crawl` or `weft up` runs."""


class SearchFreshness(msgspec.Struct, frozen=True):
    """Seconds from the index to search, lately."""

    p50: float | None = None
    p99: float | None = None


class SearchServer(msgspec.Struct, frozen=True, kw_only=True):
    address: str = ""
    row: int = 0
    count: int = 0
    """Shards of its row."""
    shards: list[int] = []
    """Those that it answers for."""
    documents: int = 0
    content: int = 0
    """Every change of content up to this seq is found."""
    references: int = 0
    """Every change of references up to this seq is found."""
    lag: int = 0
    """Seqs that the index has and search has not."""
    lag_ms: int | None = None
    """How long ago search had everything, in milliseconds; None: not since the server started."""
    pending: int = 0
    """Documents that wait to be written because of references."""
    freshness: SearchFreshness = SearchFreshness()
    building: bool = False
    build: int = 0
    """Documents written by the build that is under way."""
    built: int = 0
    problem: str = ""
    """Why nothing can be written now."""


def search_server(node: Node, now: Mapping[str, Mapping[str, Any]] | None = None) -> SearchServer | None:
    """None: it is none, or has not told yet. `now` is what some servers have told since, by their address."""
    figures = (now or {}).get(node.address, node.figures)
    if node.type is not NodeType.INDEX_SERVER or not figures:
        return None
    try:
        return msgspec.convert({**figures, "address": node.address, "row": node.row}, SearchServer)
    except msgspec.ValidationError:
        return None  # of another version of weft, perhaps


def search_servers(nodes: Iterable[Node], home: Path) -> list[SearchServer]:
    """Those that run, by row. Those of this home write a file every second, which is newer than their heartbeats."""
    told = filter(None, (read_status(home, role) for role in status_names(home, STATUS)))
    now = {str(facts.get("address")): facts for facts in told}
    found = [server for node in nodes if is_up(node) and (server := search_server(node, now))]
    return sorted(found, key=lambda server: (server.row, server.address))


def search_progress(home: Path) -> object:
    """Something that changes while the index server of a run gets on."""
    facts = read_status(home, STATUS) or {}
    return tuple(facts.get(name) for name in ("written", "build", "content", "references"))


def numbers_in_words(numbers: Iterable[int]) -> str:
    """`0-3, 7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
