"""Index servers as processes of their own, over a home whose index this process writes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.free_ports import free_ports
from support.machines import settings_file
from support.random_webs import RULES
from weft.answers.nodes import is_up
from weft.config import Settings, load
from weft.home import Home
from weft.linkindex.feed import feed_all_cells
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.mgmt.open import open_mgmt_to_read
from weft.mgmt.values import Node, NodeType
from weft.search.local_shards import shard_directories
from weft.search.open import open_shards
from weft.search.search import Shards
from weft.search.shard import open_index
from weft.search.verify import expected_documents, held_documents
from weft.store.api import Batch, Store
from weft.store.directory import store_id
from weft.store.open import open_store

PATIENCE = 30.0
FAST: dict[str, object] = {
    "mgmt.heartbeat": 0.3,
    "mgmt.lease": 4.0,
    "indexserver.commit_every": 0.1,
    "indexserver.anchors_every": 2.0,
    "indexserver.memory": 16 << 20,
    "spider.min_free": 0,
}


def page(url: str, *links: str, at: int = 1, **doc: object) -> LoadedPage:
    raw = [RawLink(href, f"to {href.rsplit('/', 1)[-1]}") for href in links]
    return load_page(RULES, RULES.identify(url), at, raw, Doc(**doc))  # type: ignore[arg-type]


def held_in(row: Path, store: str, count: int) -> dict[str, bytes]:
    """Uri and digest of every document in the shards of a row, each of them once."""
    found: list[tuple[str, bytes]] = []
    for directory in shard_directories(row, store, count):
        path = directory.current()
        assert path is not None, directory.path
        found += held_documents(open_index(path).searcher(), path)
    assert len(dict(found)) == len(found), "a document twice"
    return dict(found)


@dataclass
class SearchHome:
    home: Home
    settings: Settings
    store: Store
    index: LinkIndex
    servers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    loaded: int = 0

    @property
    def count(self) -> int:
        return self.settings.indexserver.shards

    # The index.

    def load(self, pages: int, at: int = 1, first: int = 0, words: str = "everywhere") -> None:
        """Pages that link to each other, in one round; all of them have `words`."""
        made = (
            page(
                f"http://site{number % 7}.com/{number}",
                f"http://site{(number + 1) % 7}.com/{number + 1}",
                f"http://elsewhere{number % 3}.com/",
                at=at,
                title=f"Page {number}",
                text=f"{words} number{number} version{at} " + "filling " * 20,
            )
            for number in range(first, first + pages)
        )
        self.index.apply(list(made))

    def tell_all_changed(self) -> None:
        """As `weft rebuild` does: every shard must be built anew."""
        seq, batch = self.store.last_seq + 1, Batch()
        batch.add(feed_all_cells(seq))
        self.store.write(batch, seq)

    def expected(self) -> dict[str, bytes]:
        return {document.uri: document.digest() for document in expected_documents(self.store)}

    # The servers.

    def start(self, name: str, row: int = 1, fail: str = "", **settings: str) -> None:
        """`fail` arms a failpoint. A name has the same port for good."""
        port = self.ports.setdefault(name, free_ports("127.0.0.1", 1)[0])
        clean = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
        armed = {"WEFT_FAIL": fail} if fail else {}
        with self.said(name).open("ab") as output:
            self.servers[name] = subprocess.Popen(
                [sys.executable, "-m", "weft", "run", "indexserver", "--row", str(row), "--home", str(self.home.path)],
                env={**clean, "WEFT_INDEXSERVER_LISTEN": f"127.0.0.1:{port}", **armed, **settings},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def said(self, name: str) -> Path:
        return self.home.path / f"{name}.said"

    def address(self, name: str) -> str:
        return f"127.0.0.1:{self.ports[name]}"

    def signal(self, name: str, number: int) -> None:
        self.servers[name].send_signal(number)

    def kill(self, name: str) -> None:
        process = self.servers.pop(name)
        process.kill()
        process.wait()

    def stop(self, name: str) -> int:
        """As a user does; returns its exit code."""
        process = self.servers.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(PATIENCE)

    def wait_for_death(self, name: str) -> int:
        return self.servers.pop(name).wait(PATIENCE)

    def close(self) -> None:
        for process in self.servers.values():
            process.kill()
        for process in self.servers.values():
            process.wait()

    # What they tell.

    def nodes(self) -> dict[str, Node]:
        """Those that run, by their address."""
        with closing(open_mgmt_to_read(self.settings, self.home)) as mgmt:
            return {node.address: node for node in mgmt.nodes() if node.type is NodeType.INDEX_SERVER and is_up(node)}

    def figures(self, name: str) -> dict:
        node = self.nodes().get(self.address(name))
        return node.figures if node else {}

    def shards_of(self, *names: str) -> list[int]:
        return sorted(number for name in names for number in self.figures(name).get("shards", []))

    def is_complete(self, *names: str) -> bool:
        """Whether each of these servers has a share of their row, and together they have all that the index has."""
        nodes = self.nodes()
        servers = [nodes[self.address(name)].figures for name in names if self.address(name) in nodes]
        if len(servers) < len(names) or not all(figures.get("shards") for figures in servers):
            return False
        if sorted(number for figures in servers for number in figures["shards"]) != list(range(self.count)):
            return False
        return all(min(figures["content"], figures["references"]) >= self.store.last_seq for figures in servers)

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, f"waited in vain for {what}\n{self.nodes()}\n{self.log()}"
            time.sleep(0.05)

    def wait_until_complete(self, *names: str) -> None:
        self.wait_for(lambda: self.is_complete(*names), f"{names} to be complete")

    def log(self) -> str:
        files = sorted(self.home.path.glob("*.said"))
        return "\n".join(f"--- {file.name}:\n{file.read_text(errors='replace')[-3000:]}" for file in files)

    def complaints(self, name: str) -> list[str]:
        return re.findall(r"(?:ERROR|Traceback).*", self.said(name).read_text(errors="replace"))

    # What is found.

    def held(self, row: int = 1) -> dict[str, bytes]:
        return held_in(self.home.search_row(row), store_id(self.home.store), self.count)

    def shards(self) -> Shards:
        return open_shards(
            self.settings, self.home, store_id(self.home.store), lambda: open_mgmt_to_read(self.settings, self.home)
        )


@contextmanager
def search_home(place: Path, **changes: object) -> Iterator[SearchHome]:
    """Nothing runs yet, and the index is empty; `changes` are settings, such as `indexserver__shards=4`."""
    home = Home(place / "home")
    home.path.mkdir(mode=0o700)
    more = {name.replace("__", "."): value for name, value in changes.items()}
    home.settings_file.write_text(settings_file("", {**FAST, **more}))
    settings = load(home.path, {}, []).settings
    with open_store(home.store, settings) as store:
        made = SearchHome(home, settings, store, LinkIndex(store, settings.index))
        try:
            yield made
        finally:
            made.close()
