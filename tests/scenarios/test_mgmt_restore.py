"""A control plane that is damaged or gone: refused with a sentence, restored by one command; the crawl completes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.weft_command import one_sentence, weft
from support.whole_crawl import check_against_the_truth, check_proof, crawl, served_for, told
from weft.config import Settings
from weft.demo.web.server.serving import Served
from weft.home import Home
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.sqlite_copies import copies_of, database_of
from weft.mgmt.values import NodeType
from weft.store.rocksdb import RocksStore


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with served_for(tmp_path) as running:
        yield running


def restored(place: Path, *arguments: str) -> str:
    done = weft("restore", *arguments, "--home", "home", cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(place: Path, *arguments: str) -> str:
    done = weft(*arguments, "--home", "home", cwd=place)
    assert done.returncode == 2, done.stdout
    return one_sentence(done)


def spoil(database: Path) -> None:
    database.write_bytes(os.urandom(database.stat().st_size))


def test_a_damaged_control_plane_is_restored_from_its_copy_and_the_crawl_completes(
    served: Served, tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    crawl(tmp_path, served.url(0), "--scope", "any", "--pages", "5")
    assert copies_of(home)[0].exists()
    crawl(tmp_path, "--pages", "20")
    sites = told(tmp_path, "sites")["items"]
    spoil(database_of(home))
    assert "`weft restore` puts back the newest copy" in refused(tmp_path, "status")
    assert "Restored the copy of 20" in restored(tmp_path)
    assert told(tmp_path, "sites")["items"] == sites
    crawl(tmp_path)
    check_against_the_truth(served, tmp_path)
    status = told(tmp_path, "status")
    assert status["links"].get("pending", 0) == status["links"].get("crawling", 0) == 0
    assert weft("verify", "--home", "home", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_lost_control_plane_is_not_made_silently_and_a_new_one_completes_the_crawl(
    served: Served, tmp_path: Path, is_empty: bool
) -> None:
    home = Home(tmp_path / "home")
    crawl(tmp_path, served.url(0), "--scope", "any", "--pages", "20")
    for file in [*home.path.glob("mgmt.db*"), *copies_of(home)]:
        if file.is_file():
            file.unlink()
    if is_empty:
        database_of(home).touch()
    said = f"it {'is empty' if is_empty else 'is missing'}, but this home has been crawled"
    for command in (["status"], ["crawl"], ["add", served.url(0)], ["run", "index"]):
        assert said in refused(tmp_path, *command)
    assert "there is no good copy" in refused(tmp_path, "restore")
    assert "A new control plane starts without sites" in restored(tmp_path, "--without-copy")
    assert told(tmp_path, "sites")["items"] == []
    crawl(tmp_path, served.url(0), "--scope", "any")
    check_against_the_truth(served, tmp_path)


def test_nothing_is_restored_while_weft_runs(tmp_path: Path) -> None:
    assert weft("add", "https://a.com/", "--home", "home", cwd=tmp_path).returncode == 0
    mgmt = SqliteMgmt(database_of(Home(tmp_path / "home")), settings=Settings().mgmt)
    mgmt.register(NodeType.SPIDER, "here:1")
    assert "weft is running in this home; stop it first" in refused(tmp_path, "restore", "--without-copy")
    assert mgmt.counts().links["pending"] == 1
    mgmt.close()


def test_a_store_that_is_put_back_and_goes_on_is_searched_as_it_is(tmp_path: Path) -> None:
    """Nobody could tell by its seqs: it is as far as it was."""
    home = Home(tmp_path / "home")
    imported(tmp_path, "early")
    shutil.copytree(home.store, tmp_path / "backup")
    imported(tmp_path, "lost")
    shutil.rmtree(home.store)
    shutil.copytree(tmp_path / "backup", home.store)
    assert "the search index will be built again" in restored(tmp_path, "--links-only")
    imported(tmp_path, "other", "and", "more")
    done = weft("verify", "--search", "--home", "home", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert [told(tmp_path, "search", word)["count"] for word in ("early", "lost", "more")] == [1, 0, 1]


def test_a_checkpoint_that_is_put_back_gets_from_the_archive_what_was_fetched_since(
    served: Served, tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    crawl(tmp_path, served.url(0), "--scope", "any", "--pages", "12")
    with RocksStore(home.store) as store:
        store.checkpoint(tmp_path / "checkpoint")
    crawl(tmp_path)
    digest, requests = told(tmp_path, "digest")["digest"], served.count()
    shutil.rmtree(home.store)
    shutil.copytree(tmp_path / "checkpoint", home.store)
    lacking = told(tmp_path, "restore", "--links-only")
    assert lacking["archived"] > 20
    assert lacking["refetched"] == 0
    assert told(tmp_path, "restore", "--links-only") == {"links": 0, "archived": 0, "refetched": 0}, (
        "all are on their way"
    )
    crawl(tmp_path)
    check_against_the_truth(served, tmp_path)
    check_proof(tmp_path)
    assert told(tmp_path, "digest")["digest"] == digest
    assert served.count() == requests, "nothing was fetched"
    assert "0 links that were under way will be crawled again; the search index" in restored(tmp_path, "--links-only")


def test_the_store_of_another_home_is_not_taken_for_a_checkpoint(tmp_path: Path) -> None:
    for name in ("home", "other"):
        assert weft("init", "--home", name, cwd=tmp_path).returncode == 0
        assert weft("restore", "--links-only", "--home", name, cwd=tmp_path).returncode == 0
    shutil.rmtree(tmp_path / "home/store")
    shutil.copytree(tmp_path / "other/store", tmp_path / "home/store")
    assert "is not the index of sqlite:" in refused(tmp_path, "restore", "--links-only")


def imported(place: Path, *words: str) -> None:
    """A page with each word, each in a round of its own."""
    pages = [{"url": f"http://{word}.com/", "text": word} for word in words]
    (place / "pages.jsonl").write_text("\n".join(map(json.dumps, pages)))
    done = weft("import", "pages.jsonl", "--home", "home", "--set", "index.round_pages=1", cwd=place)
    assert done.returncode == 0, done.stderr


def test_the_control_plane_of_a_cluster_is_restored_by_other_means(tmp_path: Path) -> None:
    weft("init", "--home", "home", cwd=tmp_path)
    sets = ("--set", 'mgmt.url="postgresql://user@127.0.0.1:1/weft"')
    assert "with PostgreSQL's tools, then run `weft restore --links-only`" in refused(tmp_path, "restore", *sets)
    assert "cannot be reached" in refused(tmp_path, "restore", "--links-only", *sets), "it knows what the index lacks"
    assert "give only one of" in refused(tmp_path, "restore", "--links-only", "--without-copy")
