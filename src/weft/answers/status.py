"""How the crawl is doing: what runs, what waits, how fresh the answers are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from weft.answers.disk import look_at_disk
from weft.answers.growth import Growth, growth
from weft.answers.nodes import WEB, WHAT, index_node, is_up, living_nodes, warnings
from weft.answers.repairs import Repairs
from weft.answers.search_servers import SearchServer, search_servers
from weft.config import Settings
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import ClockJump, Node
from weft.roles.mgmt_upkeep import STATUS as UPKEEP
from weft.roles.status_file import last_status, read_status

_WITH_FILE: Final = ("index", "urlserver")
"""There is one of each in a home."""


class Freshness(msgspec.Struct, frozen=True):
    """Seconds from the end of a fetch until it is in the answers."""

    p50: float | None = None
    p99: float | None = None


class DiskRoom(msgspec.Struct, frozen=True):
    free: int
    min_free: int
    is_low: bool


class IndexFigures(msgspec.Struct, frozen=True):
    """What the index process counted since it started; None: none ever ran here."""

    pages: int | None = None
    links: int | None = None
    discovered: int | None = None
    given: int | None = None
    outstanding: int | None = None


class MgmtCare(msgspec.Struct, frozen=True):
    """Of a control plane that is a file in the home."""

    copied: float | None = None
    """When the newest copy of it was made, in seconds since 1970."""
    damage: str = ""
    """What was found when it was checked after an unclean stop."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    running: list[str]
    """Roles that run, here or on other machines."""
    links: dict[str, int]
    """By state."""
    chunks: dict[str, int]
    """By task."""
    errors: dict[str, int]
    """Links in error, by class."""
    statuses: dict[str, int]
    """Links that are crawled, where the answer was an error status."""
    refused: dict[str, int]
    """Links that are not crawled, by kind of refusal."""
    oldest_lease: int | None
    """Milliseconds since the least recent heartbeat of a node that holds work."""
    clock_jump: ClockJump | None
    """The last time that the control plane's clock went back, if it was lately and by more than a minute."""
    nodes: list[Node]
    freshness: Freshness
    rate: float
    """Pages a second, lately."""
    told: float | None
    """When the index process wrote its figures, in seconds since 1970."""
    disk: DiskRoom
    index: IndexFigures
    mgmt: MgmtCare
    search: list[SearchServer]
    """The index servers that run."""
    growth: Growth
    warnings: list[str]
    """What somebody should look at, on any machine."""
    repairs: Repairs | None = None
    """Of a cluster whose cells have several copies. Only `weft status` asks it."""

    @property
    def is_crawling(self) -> bool:
        """Whether anything but web apps runs."""
        return any(role != WEB for role in self.running)


def status(mgmt: OperatorCalls, home: Path, settings: Settings) -> Status:
    counts, nodes = mgmt.counts(), mgmt.nodes()
    disk = look_at_disk(home / settings.spider.warc_dir, settings.spider.min_free)
    running = _running(home, nodes)
    index = _index_figures(home, nodes)
    return Status(
        running=running,
        links=counts.links,
        chunks=counts.chunks,
        errors=counts.errors,
        statuses=counts.statuses,
        refused=index.get("refused", {}),
        oldest_lease=counts.oldest_lease,
        clock_jump=counts.clock_jump,
        nodes=living_nodes(nodes, settings.mgmt.show_dead),
        freshness=msgspec.convert(index.get("freshness", {}), Freshness),
        rate=index.get("rate", 0.0) if "index" in running else 0.0,
        told=index.get("at"),
        disk=DiskRoom(disk.free, disk.least, disk.is_low),
        index=msgspec.convert({name: index.get(name) for name in IndexFigures.__struct_fields__}, IndexFigures),
        mgmt=mgmt_care(home),
        search=search_servers(nodes, home),
        growth=growth(home, settings, disk.free),
        warnings=list(warnings(nodes)),
    )


def mgmt_care(home: Path) -> MgmtCare:
    return msgspec.convert(last_status(home, UPKEEP) or {}, MgmtCare)


def _running(home: Path, nodes: Sequence[Node]) -> list[str]:
    """The index and the URL server of this home write files, which tell at once that they are gone; others do not."""
    here = {role for role in _WITH_FILE if read_status(home, role)}
    own = {facts.get("address") for role in _WITH_FILE if (facts := last_status(home, role))}
    told = {WHAT[node.type] for node in nodes if is_up(node) and node.address not in own and node.type in WHAT}
    return [role for role in WHAT.values() if role in here | told]


def _index_figures(home: Path, nodes: Sequence[Node]) -> dict[str, Any]:
    """Those of this home if its index process runs, else those that one elsewhere told, else the last ones of here."""
    here = read_status(home, "index")
    elsewhere = index_node(nodes)
    if (here is None or here.get("stands_by")) and elsewhere is not None and elsewhere.figures:
        return {"at": time.time() - elsewhere.seen / 1000, **elsewhere.figures}
    return here or last_status(home, "index") or {}
