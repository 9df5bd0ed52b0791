"""Metrics of a home: of all its nodes, as they told with their heartbeats, its disk and its index."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from weft import __version__
from weft.answers.disk import look_at_disk
from weft.answers.growth import growth
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
    disk = look_at_disk(home / settings.spider.warc_dir, settings.spider.min_free)
    return HomeFacts(
        version=__version__,
        control=_control(mgmt, settings.mgmt.show_dead),
        totals=_totals(index),
        disk=disk,
        growth=growth(home, settings, disk.free),
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
