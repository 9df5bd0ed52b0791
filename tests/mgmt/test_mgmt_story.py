"""The document's own story, step by step, on every control plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from support.mgmt_engines import Engine
from weft.mgmt.api import Mgmt
from weft.mgmt.story import BUILDER, CRAWLER, SERVER, story


def states(tables: Mapping[str, Sequence[Mapping[str, object]]]) -> list[tuple[object, object]]:
    return [(row["chunk_id"], row["state"]) for row in tables["link"]]


def test_six_links_from_unknown_to_served(engine: Engine, mgmt: Mgmt) -> None:
    added, requested, failed, crawled, building, built, indexed = [step.tables for step in story(mgmt)]
    assert [row["link"] for row in added["link"]] == [f"https://www.example_{n}.com/" for n in range(1, 7)]
    assert states(added) == [(None, "pending")] * 6
    assert [(row["host"], row["type"], row["state"], row["health"]) for row in added["host"]] == [
        (CRAWLER, "Crawler", "online", "healthy"),
        (BUILDER, "Index Builder", "online", "healthy"),
        (SERVER, "Index Server", "online", "healthy"),
    ]

    assert states(requested) == [(1, "crawling")] * 5 + [(None, "pending")]
    assert requested["chunk"] == [{"index": 1, "id": 1}]
    assert requested["crawler"] == [{"index": 1, "chunk_id": 1, "c_host": CRAWLER, "c_task": "crawling"}]

    assert states(failed) == [(1, "crawling")] * 4 + [(1, "error"), (1, "crawling")]
    assert failed["chunk"] == requested["chunk"]

    assert states(crawled) == [(1, "crawled")] * 4 + [(1, "error"), (1, "crawled")]
    assert crawled["crawler"][0]["c_task"] == "crawled"
    assert crawled["index_builder"] == []

    assert building["index_builder"] == [{"index": 1, "chunk_id": 1, "ib_host": BUILDER, "ib_task": "building"}]
    assert building["index_server"] == []

    assert built["index_builder"][0]["ib_task"] == "built"
    placed = {"index": 1, "row": 1, "chunk_id": 1, "is_host": SERVER}
    assert built["index_server"] == [{**placed, "state": "pending"}]
    assert indexed["index_server"] == [{**placed, "state": "indexed"}]
    assert states(built) == states(crawled), "a link is never deleted, only marked"
    assert [node.holds for node in mgmt.nodes()] == [0, 0, 0]
