"""`weft migrate` as a user runs it: there and back, killed at any moment, and refused with one sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from support.cassandra import connected
from support.mgmt_engines import Server
from support.weft_command import one_sentence, weft
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.sqlite import SqliteMgmt
from weft.process_lock import ProcessLock
from weft.store.rocksdb import RocksReader
from weft.store.tables import Table

Run = CompletedProcess[str]
SITES = 40
PAGES = [
    {
        "url": f"http://site{number}.com/page",
        "fetched": "2026-01-31T12:00:00Z",
        "title": f"Page {number}",
        "text": f"word{number} and foxes",
        "links": [{"url": f"http://site{(number * 7 + step) % SITES}.com/page"} for step in range(5)],
    }
    for number in range(SITES)
]


@dataclass
class Place:
    """A home with an embedded index, and a cluster and a database that it may go to."""

    path: Path
    cluster: str
    database: str

    def weft(self, *arguments: str, **variables: str) -> Run:
        return weft(*arguments, "--home", "home", cwd=self.path, **variables)

    def good(self, *arguments: str) -> str:
        done = self.weft(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def items(self, question: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.good(question, "--json"))["items"]
        return found

    def migrate(self, *more: str, **variables: str) -> Run:
        return self.weft("migrate", "--to", self.cluster, "--mgmt", self.database, *more, **variables)

    def back(self, *more: str, **variables: str) -> Run:
        return self.weft("migrate", "--to", "rocksdb:", "--mgmt", "sqlite:", *more, **variables)

    def use_cluster(self) -> None:
        self.settings(f'[store]\nurl = "{self.cluster}"\n[mgmt]\nurl = "{self.database}"\n')

    def use_files(self) -> None:
        self.settings("")

    def settings(self, text: str) -> None:
        (self.path / "home/weft.toml").write_text(text)

    def files(self) -> list[Path]:
        """All but locks, and what RocksDB makes when it is opened."""
        found = (path for path in self.path.rglob("*") if path.suffix != ".lock" and path.parent.name != "store")
        return sorted(found)

    def cells(self) -> dict[Table, list[tuple[bytes, bytes, bytes, bytes]]]:
        with RocksReader(self.path / "home/store") as reader:
            tables = {table: [(*c[:3], c.value) for c in reader.scan_rows(table)] for table in Table}
        tables[Table.FEED] = [cell for cell in tables[Table.FEED] if cell[1] != b"all"]
        return tables


@pytest.fixture
def place(
    cassandra_hosts: tuple[str, ...], postgres_url: str, tmp_path: Path, postgres_server: Server
) -> Iterator[Place]:
    keyspace = f"weft_migrate_{uuid.uuid4().hex[:12]}"
    made = Place(tmp_path, f"cassandra://{','.join(cassandra_hosts)}/{keyspace}", postgres_url)
    (tmp_path / "pages.jsonl").write_text("".join(f"{json.dumps(page)}\n" for page in PAGES))
    made.good("import", "pages.jsonl")
    made.good("add", "http://one.test/", "http://two.test/")
    yield made
    with connected(cassandra_hosts) as session:
        session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}")


@pytest.fixture
def keyspace(place: Place) -> str:
    """It is there, with few partitions: walks over all of them are faster."""
    apply = ("schema", "cassandra", "--apply", "--replication", "1", "--shards", "2")
    place.good(*apply, "--set", f'store.url="{place.cluster}"', "--set", f'mgmt.url="{place.database}"')
    return place.cluster.rpartition("/")[2]


def refused(done: Run, *words: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    sentence = one_sentence(done)
    for word in words:
        assert word in sentence, sentence


@pytest.mark.usefixtures("keyspace")
def test_there_and_back_nothing_is_lost(place: Place) -> None:
    digest, cells, top = place.good("digest"), place.cells(), place.items("top")
    done = place.migrate()
    assert done.returncode == 0, done.stderr
    assert f"digest {digest.strip()}, the same on both sides" in done.stdout
    assert f'[store]\n  url = "{place.cluster}"' in done.stdout
    assert place.good("digest") == digest, "the old index is used until the settings say otherwise"
    place.use_cluster()
    assert place.good("digest") == digest
    assert place.items("top") == top
    assert "0 differences" in place.good("verify")
    assert [site["name"] for site in place.items("sites")] == ["one.test", "two.test"]
    assert "not newer" in place.good("import", "pages.jsonl"), "seqs go on above those of the old index"
    assert "site7.com" in place.good("search", "word7")
    refused(place.back(), "home/store: it is not empty", "--again")
    done = place.back("--again")
    assert done.returncode == 0, done.stderr
    place.use_files()
    assert place.good("digest") == digest
    place.good("rebuild")
    assert "site7.com" in place.good("search", "word7")
    assert "0 differences" in place.good("verify", "--search")
    back = place.cells()
    for table in Table:
        if table not in (Table.META, Table.FEED):
            assert back[table] == cells[table], table
    with closing(SqliteMgmt(place.path / "home/mgmt.db")) as mgmt:
        assert sorted(site.name for site in mgmt.sites()) == ["one.test", "two.test"]


STEPS = [
    *(f"store.apply:{number}:kill" for number in (1, 40, 90)),
    "migrate.copied:1:kill",
    "migrate.compared:1:kill",
    "migrate.adopt.before:1:kill",
    "migrate.adopt.after:1:kill",
    "migrate.finish:1:kill",
]


@pytest.mark.usefixtures("keyspace")
def test_killed_at_any_moment_it_goes_on(place: Place) -> None:
    """One migration, killed in each of its runs."""
    digest = place.good("digest").strip()
    for step in STEPS:
        done = place.migrate(WEFT_FAIL=step)
        assert done.returncode == -signal.SIGKILL, (step, done.stderr)
    assert place.good("digest").strip() == digest
    done = place.migrate()
    assert done.returncode == 0, done.stderr
    assert digest in done.stdout
    place.use_cluster()
    assert place.good("digest").strip() == digest
    assert "0 differences" in place.good("verify")
    assert "not newer" in place.good("import", "pages.jsonl")


@pytest.mark.usefixtures("keyspace")
def test_after_ctrl_c_it_goes_on(place: Place) -> None:
    digest = place.good("digest").strip()
    words = ("migrate", "--to", place.cluster, "--mgmt", place.database, "--home", "home")
    process = subprocess.Popen(
        [sys.executable, "-m", "weft", *words],
        cwd=place.path,
        env={**os.environ, "WEFT_FAIL": "migrate.copied:1:stop"},
        stderr=subprocess.PIPE,
        text=True,
    )
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "Traceback" not in told
    assert place.good("digest").strip() == digest
    assert f"digest {digest}, the same on both sides" in place.migrate().stdout


@pytest.mark.long
@pytest.mark.usefixtures("keyspace")
def test_killed_between_steps_it_goes_on_from_the_last_one(place: Place) -> None:
    """So many cells that they are copied in several steps."""
    with (place.path / "many.jsonl").open("w") as file:
        for number in range(8_000):
            links = [{"url": f"http://many{(number * 7 + step) % 500}.com/{number % 97}"} for step in range(4)]
            file.write(json.dumps({"url": f"http://many{number % 500}.com/{number}", "links": links}) + "\n")
    place.good("import", "many.jsonl")
    digest = place.good("digest").strip()
    for _ in range(2):
        assert place.migrate(WEFT_FAIL="migrate.copied:1:kill").returncode == -signal.SIGKILL
    done = place.migrate("--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["digest"] == digest
    assert found["cells"] > 100_000, "three steps at least"
    place.use_cluster()
    assert place.good("digest").strip() == digest


@pytest.mark.usefixtures("keyspace")
def test_a_half_migrated_index_is_refused_by_whoever_opens_it(place: Place) -> None:
    assert place.migrate(WEFT_FAIL="migrate.compared:1:kill").returncode == -signal.SIGKILL
    place.use_cluster()
    for command in (("top",), ("import", "pages.jsonl"), ("verify",)):
        refused(place.weft(*command), "this index is being migrated from", "finish it with `weft migrate`")


@pytest.mark.usefixtures("keyspace")
def test_back_to_files_it_goes_on_after_kills_too(place: Place) -> None:
    assert place.migrate().returncode == 0
    place.use_cluster()
    digest = place.good("digest")
    more = ["--again"]
    for step in ("store.write.after:1:kill", "migrate.adopt.before:1:kill", "migrate.adopt.after:1:kill"):
        done = place.back(*more, WEFT_FAIL=step)
        assert done.returncode == -signal.SIGKILL, (step, done.stderr)
        more = []
    assert place.back(WEFT_FAIL="migrate.finish:1:kill").returncode == -signal.SIGKILL
    done = place.back()
    assert done.returncode == 0, done.stderr
    place.use_files()
    assert place.good("digest") == digest
    assert "0 differences" in place.good("verify")


@pytest.mark.usefixtures("keyspace")
def test_an_index_that_moved_on_is_refused_until_it_starts_over(place: Place) -> None:
    assert place.migrate(WEFT_FAIL="migrate.copied:1:kill").returncode == -signal.SIGKILL
    (place.path / "more.jsonl").write_text('{"url": "http://new.com/", "links": [{"url": "http://site1.com/page"}]}\n')
    place.good("import", "more.jsonl")
    refused(place.migrate(), "unfinished copy of this index at seq", "--again")
    done = place.migrate("--again")
    assert done.returncode == 0, done.stderr
    refused(place.migrate("--again"), "--again would empty an index that", "uses")


# What stands in the way: said before anything is changed.


def test_what_cannot_be_is_refused_with_one_sentence(place: Place) -> None:
    before = place.files()
    refused(place.weft("migrate", "--to", "rocksdb:"), "--to", "same engine")
    refused(place.weft("migrate", "--to", place.cluster), "--mgmt postgresql://")
    refused(place.weft("migrate", "--to", "mysql://x"), "store.url", "mysql")
    refused(place.migrate(), "there is no such keyspace", "weft schema cassandra --apply")
    nowhere = place.cluster.replace("/weft_", ":9/weft_")
    refused(place.weft("migrate", "--to", nowhere, "--mgmt", place.database), "cannot connect (store.url)", ":9")
    assert place.files() == before


@pytest.mark.usefixtures("keyspace")
def test_a_database_that_is_in_use_or_away_is_refused(place: Place) -> None:
    before = place.files()
    refused(place.weft("migrate", "--to", place.cluster, "--mgmt", "postgresql://127.0.0.1:9/x"), "cannot be reached")
    with closing(PostgresMgmt(place.database)) as mgmt:
        mgmt.agree({"index.count": "all"})
    refused(place.migrate(), "it is not empty; expected a new database (--mgmt)")
    assert place.files() == before


@pytest.mark.usefixtures("keyspace")
def test_a_running_weft_is_named(place: Place) -> None:
    lock = ProcessLock.take(place.path / "home/crawl.lock")
    try:
        refused(place.migrate(), "is using this home; stop it with `weft stop`")
    finally:
        lock.release()
    lock = ProcessLock.take(place.path / "home/store.lock")
    try:
        refused(place.migrate(), "is using this home; stop it with `weft stop`")
    finally:
        lock.release()
