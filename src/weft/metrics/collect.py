"""Metrics of a home: of all its nodes, as they told with their heartbeats, its disk and its index."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from weft import __version__
from weft.answers.disk import look_at_disk
from weft.answers.index import Index
from weft.answers.objects import TotalsAnswer
from weft.answers.status import mgmt_care
from weft.config import Settings
from weft.errors import MgmtError, StoreError
from weft.metrics.home_facts import ControlFacts, HomeFacts, home_samples
from weft.metrics.samples import CONTENT_TYPE, metrics_text
from weft.mgmt.api import OperatorCalls

__all__ = ["CONTENT_TYPE", "home_metrics"]

_RESTING: Final = 2000
"""Milliseconds that a host must rest to be counted, as for `weft crawl`."""


def home_metrics(mgmt: OperatorCalls, index: Index | None, home: Path, settings: Settings) -> bytes:
    """What Prometheus scrapes, of `CONTENT_TYPE`. The index is told of as of its last refresh.

    A control plane or an index that cannot be read is a metric of its own (`weft_mgmt_up`, `weft_store_up`), not an
    error. Takes milliseconds; call it in a thread, because the control plane may be far away.
    """
    return metrics_text(home_samples(look(mgmt, index, home, settings)))


def look(mgmt: OperatorCalls, index: Index | None, home: Path, settings: Settings) -> HomeFacts:
    archive = home / settings.spider.warc_dir
    return HomeFacts(
        version=__version__,
        control=_control(mgmt, settings.mgmt.show_dead),
        totals=_totals(index),
        disk=look_at_disk(archive, settings.spider.min_free),
        sizes=_sizes(home, archive),
        care=mgmt_care(home),
    )


def _control(mgmt: OperatorCalls, show_dead: float) -> ControlFacts | None:
    try:
        counts, nodes, resting = mgmt.counts(), mgmt.nodes(), mgmt.resting_hosts(_RESTING, 0)
    except MgmtError:
        return None
    return ControlFacts(counts=counts, nodes=nodes, resting=resting.links, show_dead=show_dead)


def _totals(index: Index | None) -> TotalsAnswer | None:
    if index is None:
        return None
    try:
        return index.totals()
    except StoreError:
        return None


def _sizes(home: Path, archive: Path) -> dict[str, int]:
    """Of the parts that are there."""
    parts = {"store": home / "store", "search": home / "search", "archive": archive, "logs": home / "logs"}
    found = {part: sum(_files(path)) for part, path in parts.items() if path.is_dir()}
    mgmt = [_size(file) for file in home.glob("mgmt.db*") if file.is_file()]
    return {**found, **({"mgmt": sum(mgmt)} if mgmt else {})}


def _files(path: Path) -> Iterator[int]:
    """Bytes of each file below `path`; files come and go meanwhile."""
    for folder, _, names in os.walk(path):
        yield from (_size(Path(folder, name)) for name in names)


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0
