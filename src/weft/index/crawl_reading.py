"""How the index process reads what was crawled, wherever the records lie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.config import Settings
from weft.index.fetch_reader_pool import fetch_reader_pool
from weft.index.reading_lanes import FetchReading
from weft.index.record_access import NodeSettings
from weft.index.record_nodes import NoOtherNodes, RecordNodes
from weft.index.remote_reading import RemoteReading
from weft.model.url import UrlRules


@contextmanager
def crawl_reading(
    settings: Settings, rules: UrlRules, archive: Path, workers: int | None = None
) -> Iterator[tuple[FetchReading, RecordNodes]]:
    """Worker processes that read fetches; with a control plane for several machines also from other nodes."""
    nodes = NodeSettings.from_settings(settings)
    with fetch_reader_pool(settings, rules, archive, workers) as lanes:
        if nodes is None:
            yield lanes, NoOtherNodes()
            return
        with RemoteReading(lanes, archive, nodes.access()) as reading:
            yield reading, reading
