"""The metrics of a home: real control planes and stores, also where one of them cannot be read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.random_webs import RULES
from support.search_servers import page
from weft.answers.index import Index
from weft.config import Settings
from weft.home import Home
from weft.linkindex.pipeline import LinkIndex
from weft.metrics.collect import home_metrics
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.open import open_mgmt, open_mgmt_to_read
from weft.mgmt.sqlite_copies import database_of
from weft.mgmt.values import NewLink, NodeState, NodeTold, NodeType, Result, WarcPosition
from weft.store.memory import MemoryStore
from weft.store.open import open_store
from weft.store.rocksdb import RocksReader

HOSTS = ("a.com", "b.com")
PLACE = WarcPosition("127.0.0.1:9", "a.warc.gz", 0, 1)


def read(mgmt, index, home: Path, settings: Settings | None = None) -> dict[tuple, float]:
    text = home_metrics(mgmt, index, home, settings or Settings()).decode()
    return {
        (one.name, *one.labels.items()): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.make("")
    return made


def test_links_are_told_by_state_and_by_what_went_wrong(home: Home) -> None:
    with closing(open_mgmt(Settings(), home)) as mgmt:
        mgmt.add([NewLink(f"{host}/{n}", f"http://{host}/{n}", host) for host in HOSTS for n in range(2)])
        crawler = mgmt.register(NodeType.CRAWLER, "127.0.0.1:1")
        first, second, *_ = mgmt.claim(crawler, 3).links
        results = [
            Result(doc_id=first.doc_id, claim=first.claim, error="dns"),
            Result(doc_id=second.doc_id, claim=second.claim, status=404, position=PLACE),
        ]
        mgmt.report(results)
        found = read(mgmt, None, home.path)
    assert found["weft_links_in_error", ("class", "dns")] == 1
    assert found["weft_links_answered_with_error", ("code", "404")] == 1
    assert sum(value for (name, *_), value in found.items() if name == "weft_links") == 4
    assert found["weft_nodes_up", ("role", "urlserver")] == 1
    assert found["weft_nodes_up", ("role", "spider")] == 0
    assert found["weft_mgmt_up",] == 1
    assert found["weft_home_bytes", ("part", "mgmt")] > 0


def test_nodes_tell_their_figures_until_they_are_gone(tmp_path: Path) -> None:
    mgmt = MemoryMgmt()
    lease = mgmt.register(NodeType.SPIDER, "127.0.0.1:9")
    mgmt.heartbeat(lease, NodeTold(figures={"fetches": 12, "process": {"memory": 1000}}))
    spider = ("node", "127.0.0.1:9")
    found = read(mgmt, None, tmp_path)
    assert found["weft_spider_fetches_total", spider] == 12
    assert found["weft_process_resident_memory_bytes", spider, ("role", "spider")] == 1000
    assert found["weft_node_up", ("machine", ""), spider, ("role", "spider")] == 1
    mgmt.tell(lease, NodeState.OFFLINE)
    found = read(mgmt, None, tmp_path)
    assert found["weft_node_up", ("machine", ""), spider, ("role", "spider")] == 0
    assert [name for name, *_ in found if name.startswith(("weft_spider_", "weft_process_"))] == []


def test_the_index_is_told_through_its_answers(tmp_path: Path) -> None:
    store = MemoryStore()
    LinkIndex(store, Settings().index).apply([page("http://a.com/", "http://b.com/"), page("http://b.com/")])
    found = read(MemoryMgmt(), Index(store, RULES), tmp_path)
    assert (found["weft_pages_known",], found["weft_domains_known",], found["weft_references_known",]) == (2, 2, 1)
    assert found["weft_answers_seq",] == store.last_seq
    assert found["weft_store_up",] == 1


def test_a_control_plane_that_cannot_be_read_is_a_metric(home: Home) -> None:
    with closing(open_mgmt(Settings(), home)) as mgmt:
        mgmt.add([NewLink("a.com/", "http://a.com/", "a.com")])
    with closing(open_mgmt_to_read(Settings(), home)) as mgmt:
        database_of(home).write_bytes(b"?" * database_of(home).stat().st_size)
        found = read(mgmt, Index(MemoryStore(), RULES), home.path)
    assert (found["weft_mgmt_up",], found["weft_store_up",]) == (0, 1)
    assert [name for name, *_ in found if name.startswith(("weft_links", "weft_node"))] == []
    assert found["weft_disk_free_bytes",] > 0


def test_a_store_that_cannot_be_read_is_a_metric(home: Home) -> None:
    with open_store(home.store, Settings()) as store:
        LinkIndex(store, Settings().index).apply([page("http://a.com/")])
        store.flush()
    with Index(RocksReader(home.store), RULES) as index:
        for file in home.store.glob("*.sst"):
            file.write_bytes(b"?" * file.stat().st_size)
        found = read(MemoryMgmt(), index, home.path)
    assert found["weft_store_up",] == 0
    assert ("weft_pages_known",) not in found
    assert found["weft_mgmt_up",] == 1


def test_shards_that_no_server_of_a_row_answers_for_are_counted(tmp_path: Path) -> None:
    mgmt = MemoryMgmt()
    for port, row, shards in ((1, 1, [0, 1]), (2, 1, [1, 2]), (3, 2, [])):
        lease = mgmt.register(NodeType.INDEX_SERVER, f"127.0.0.1:{port}", row)
        mgmt.heartbeat(lease, NodeTold(figures={"count": 4, "shards": shards}))
    found = read(mgmt, None, tmp_path)
    assert found["weft_shards_missing", ("row", "1")] == 1
    assert found["weft_shards_missing", ("row", "2")] == 4
