"""`weft verify --archive` with records on other machines: what it says, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

from support.built_world import SETTINGS, World
from support.record_node import RecordNode
from support.weft_command import weft
from weft.dispatcher.dispatcher import Dispatcher
from weft.home import Home
from weft.store.rocksdb import RocksStore

ELSEWHERE = {"WEFT_MGMT_URL": "postgresql:///nowhere", "WEFT_SPIDER_TOKEN": "s3cret"}


def crawled_home(place: Path, node: str) -> Path:
    """The home of an index whose one page was fetched by a spider of another machine."""
    home = Home(place / "home")
    assert weft("init", "--home", str(home.path), cwd=place).returncode == 0
    world = World(place)
    world.node = node
    with RocksStore(home.store) as store:
        world.store = store  # type: ignore[assignment]
        world.builder, world.dispatcher = world.new_builder(), Dispatcher(store, world.mgmt, SETTINGS, world.clock)
        world.crawl("https://a.com/", "<title>A</title>")
    return home.path


def test_a_spider_that_cannot_be_reached_makes_the_check_incomplete(tmp_path: Path) -> None:
    home = crawled_home(tmp_path, "127.0.0.1:1")
    run = weft("verify", "--archive", "--home", str(home), cwd=tmp_path, **ELSEWHERE)
    assert run.returncode == 1
    first, second, third = run.stdout.splitlines()
    assert first == "127.0.0.1:1 cannot be asked for its records: refuses the connection"
    assert second == "0 differences in 0 WARC records; 1 record could not be reached, so this check is not complete"
    assert third.startswith("0 differences in ")
    told = json.loads(weft("verify", "--archive", "--json", "--home", str(home), cwd=tmp_path, **ELSEWHERE).stdout)
    assert told["differences"] == 0
    assert told["archive"]["unreachable"] == 1
    assert told["archive"]["nodes"] == {"127.0.0.1:1": "refuses the connection"}


def test_a_spider_that_is_reached_is_compared_with(tmp_path: Path) -> None:
    with RecordNode(tmp_path / "warc", "s3cret") as node:
        home = crawled_home(tmp_path, node.address)
        run = weft("verify", "--archive", "--home", str(home), cwd=tmp_path, **ELSEWHERE)
    assert run.returncode == 0
    assert run.stdout.startswith("0 differences in 1 WARC record\n")
