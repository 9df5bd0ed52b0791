"""`weft crawl` over a synthetic web: in the end the index says what the web is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.weft_command import one_sentence, weft
from support.whole_crawl import RULES, check_against_the_truth, check_manners, check_proof, crawl, served_for, told
from weft.demo.web.server.serving import Served
from weft.demo.web.truth import Truth
from weft.store.api import Batch
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with served_for(tmp_path) as running:
        yield running


def test_the_index_is_what_the_web_and_the_archive_are(served: Served, tmp_path: Path) -> None:
    done = crawl(tmp_path, served.url(0), "--scope", "any")
    assert "Crawl finished: " in done.stdout
    check_against_the_truth(served, tmp_path)
    check_manners(served, tmp_path)
    check_proof(tmp_path)
    status = told(tmp_path, "status")
    assert status["links"].get("pending", 0) == status["links"].get("crawling", 0) == 0
    assert status["running"] == []
    assert status["freshness"]["p50"] > 0
    spoken = weft("status", "--home", "home", cwd=tmp_path).stdout
    assert "running  nothing" in spoken
    assert "in the last run" in spoken
    spoil_a_page(tmp_path, b"p:" + RULES.identify(served.url(0)).uri.encode())
    found = weft("verify", "--archive", "--search", "--home", "home", cwd=tmp_path)
    assert found.returncode == 1
    assert "1 difference in" in found.stdout.splitlines()[-2]


def spoil_a_page(place: Path, row: bytes) -> None:
    with RocksStore(place / "home/store") as store:
        cell = next(cell for cell in store.scan(Table.FLUO, row, b"page") if cell.qualifier == b"cur")
        wrong = Batch()
        wrong.put(Table.FLUO, row, b"page", b"cur", cell.value.replace(b'"title":"', b'"title":"Not '))
        store.write(wrong, store.last_seq + 1)


def test_scope_is_never_left_and_running_again_asks_for_nothing(served: Served, tmp_path: Path) -> None:
    crawl(tmp_path, served.url(0))
    served.flush()
    before = served.count()
    host = served.world.hosts.numbered(0).name
    truth = Truth(served.world, RULES, in_scope=lambda name: name == host)
    pages = list(truth.walk([served.url(0)]))
    assert told(tmp_path, "status")["links"]["crawled"] == len([page for page in pages if page.fate.value != "closed"])
    crawl(tmp_path)
    assert served.count() == before


def test_a_home_in_use_is_refused(served: Served, tmp_path: Path) -> None:
    weft("init", "--home", "home", cwd=tmp_path)
    with RocksStore(tmp_path / "home/store"):
        refused = weft("crawl", served.url(0), "--home", "home", cwd=tmp_path)
    assert refused.returncode == 2
    assert "is using this home" in one_sentence(refused)
