"""Commands on an index in a cluster: the same answers as of an embedded one, and one sentence for what is wrong."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import weft as weft_package
from support.cassandra import connected
from support.weft_command import one_sentence, weft
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.values import NodeAbout, NodeType

Run = CompletedProcess[str]
Command = Callable[..., Run]

FETCHED = "2026-01-31T12:00:00Z"
PAGES = [
    {
        "url": "http://a.com/page1",
        "fetched": FETCHED,
        "links": [{"url": "http://c.com", "text": "c"}, {"url": "http://b.com"}],
    },
    {
        "url": "http://b.com",
        "fetched": FETCHED,
        "links": [{"url": "http://c.com/page1", "text": "one"}, {"url": "http://c.com"}],
    },
    {
        "url": "http://d.com",
        "fetched": FETCHED,
        "title": "A fox",
        "text": "jumps",
        "links": [{"url": "http://c.com", "text": "see"}],
    },
]


@pytest.fixture
def keyspace(cassandra_hosts: tuple[str, ...]) -> Iterator[str]:
    """The name of one that is not there yet; afterwards it is not there again."""
    name = f"weft_cli_{uuid.uuid4().hex[:12]}"
    yield name
    with connected(cassandra_hosts) as session:
        session.execute(f"DROP KEYSPACE IF EXISTS {name}")


@pytest.fixture
def run(cassandra_hosts: tuple[str, ...], keyspace: str, postgres_url: str, tmp_path: Path) -> Command:
    home = tmp_path / "weft-data"
    home.mkdir(mode=0o700)
    (home / "weft.toml").write_text(
        f'[store]\nurl = "cassandra://{",".join(cassandra_hosts)}/{keyspace}"\n'
        f'[mgmt]\nurl = "{postgres_url}"\nmachine = "here"\n'
    )
    (tmp_path / "pages.jsonl").write_text("".join(f"{json.dumps(page)}\n" for page in PAGES))

    def command(*arguments: str, **variables: str) -> Run:
        return weft(*arguments, cwd=tmp_path, **variables)

    return command


@pytest.fixture
def filled(run: Command) -> Command:
    assert run("schema", "cassandra", "--apply", "--replication", "1", "--shards", "2").returncode == 0
    done = run("import", "pages.jsonl")
    assert done.returncode == 0, done.stderr
    return run


def good(done: Run) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(done: Run, *words: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    sentence = one_sentence(done)
    for word in words:
        assert word in sentence, sentence


def test_all_questions_have_the_answers_of_an_embedded_index(filled: Command, tmp_path: Path) -> None:
    embedded = ("--home", str(tmp_path / "embedded"))
    good(filled("import", "pages.jsonl", *embedded))
    assert good(filled("digest")) == good(filled("digest", *embedded))
    for question in (
        ("top",),
        ("top", "--domain", "c.com"),
        ("domains",),
        ("links", "http://c.com/"),
        ("page", "http://b.com/"),
        ("search", "fox"),
        ("scan", "query"),
        ("rules",),
    ):
        assert good(filled(*question)) == good(filled(*question, *embedded)), question
    with closing(weft_package.open(tmp_path / "weft-data")) as index:
        assert [item.uri for item in index.top().items[:2]] == ["com.c", "com.b"]


def test_checks_hold_writing_and_say_so(filled: Command, tmp_path: Path) -> None:
    done = filled("verify", "--search")
    assert "0 differences in" in good(done)
    assert "writing to the index is held" in done.stderr
    assert "Exported 5 links" in good(filled("export", "links", "--output", "links.jsonl"))
    assert len((tmp_path / "links.jsonl").read_text().splitlines()) == 5


def test_a_damaged_cell_is_found_and_put_right(
    filled: Command, cassandra_hosts: tuple[str, ...], keyspace: str
) -> None:
    with connected(cassandra_hosts) as session:
        cells = list(session.execute(f"SELECT list, base, shard, domain, band, name FROM {keyspace}.ranking"))
        damaged = next(cell for cell in cells if cell.list == b"t" and cell.name == b"com.c")
        session.execute(
            f"DELETE FROM {keyspace}.ranking USING TIMESTAMP 1 WHERE list = %s AND base = %s AND shard = %s "
            "AND domain = %s AND band = %s AND name = %s",
            tuple(damaged),
        )
    done = filled("verify")
    assert (done.returncode, "query t:3:com.c is missing" in done.stdout) == (1, True), done.stdout
    assert "1 cell corrected (seq 2" in good(filled("rebuild"))
    assert "0 differences" in good(filled("verify"))


def test_counting_otherwise_is_one_rebuild(filled: Command) -> None:
    external = ("--set", "index.count=external")
    refused(filled("import", "pages.jsonl", *external), "index.count")
    assert "corrected" in good(filled("rebuild", *external))
    assert "0 differences" in good(filled("verify", *external))


# What stands in the way.


def test_another_owner_is_named(filled: Command, postgres_url: str) -> None:
    with closing(PostgresMgmt(postgres_url)) as mgmt:
        lease = mgmt.register(NodeType.INDEX_BUILDER, "index@there:/home", about=NodeAbout(machine="there"))
        mgmt.take_bucket(lease)
    for command in (("import", "pages.jsonl"), ("rebuild",), ("crawl", "http://a.test/")):
        refused(filled(*command), "index@there:/home on machine there", "weft stop --all")
    assert "3  no       http://c.com/" in good(filled("top"))


def test_what_was_not_made_is_named_with_the_command_that_makes_it(run: Command) -> None:
    refused(run("top"), "there is no such keyspace", "weft schema cassandra --apply")
    refused(run("import", "pages.jsonl"), "weft schema cassandra --apply")


def test_more_copies_than_nodes_are_refused(run: Command) -> None:
    refused(run("schema", "cassandra", "--apply", "--replication", "9"), "--replication 9", "data centre")
    refused(run("top"), "there is no such keyspace")


def test_a_keyspace_that_is_there_is_left_alone(filled: Command) -> None:
    before = good(filled("digest"))
    assert "nothing was changed" in good(filled("schema", "cassandra", "--apply", "--replication", "1"))
    assert good(filled("digest")) == before


@pytest.mark.parametrize("command", [("top",), ("import", "pages.jsonl"), ("verify",), ("init",), ("crawl", "a.test")])
def test_a_cluster_that_does_not_answer_is_named_with_its_setting(
    run: Command, command: tuple[str, ...], cassandra_hosts: tuple[str, ...], tmp_path: Path
) -> None:
    toml = tmp_path / "weft-data/weft.toml"
    toml.write_text(toml.read_text().replace(f"//{cassandra_hosts[0]}", f"//{cassandra_hosts[0]}:9"))
    before = sorted(tmp_path.rglob("*"))
    done = run(*command)
    refused(done, "cannot connect (store.url)", f"{cassandra_hosts[0]}:9: Connection refused")
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before and path.suffix != ".lock"] == []


def test_names_that_mean_no_host_are_named_with_their_setting(run: Command) -> None:
    refused(run("top", "--set", 'store.url="cassandra://no-such.invalid/weft"'), "no-such.invalid", "store.url")


def test_a_cluster_needs_a_control_plane_that_outlives_machines(run: Command) -> None:
    refused(run("top", "--set", 'mgmt.url="sqlite:"'), "mgmt.url", "postgresql://", "store.url")


def test_a_bulk_import_is_refused_with_the_way_to_do_it(filled: Command) -> None:
    refused(filled("import", "--bulk", "pages.jsonl"), "--bulk", "weft migrate")


def test_what_goes_with_a_cluster_alone_is_refused_elsewhere(run: Command) -> None:
    refused(run("schema", "sqlite", "--apply"), "--apply")
    refused(run("schema", "cassandra", "--apply", "--set", 'store.url="rocksdb:"'), "store.url", "cassandra://")
    assert "CREATE TABLE IF NOT EXISTS" in good(run("schema", "cassandra"))
