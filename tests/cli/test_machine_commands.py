"""Commands and roles that share a control plane with other machines: what they tell, and whom they refuse."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.resources import as_file, files
from pathlib import Path
from subprocess import CompletedProcess
from threading import Thread
from typing import Any

import pytest

from support.free_ports import free_port
from support.weft_command import one_sentence, weft
from weft.clock import SystemClock
from weft.mgmt.api import Mgmt
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.values import Lease, NodeAbout, NodeState, NodeTold, NodeType, StoreOwner

Run = CompletedProcess[str]
Command = Callable[..., Run]
HOUR = 3_600_000


@pytest.fixture
def run(postgres_url: str, tmp_path: Path) -> Command:
    """A command on machine `here`; `--home` and more may follow."""
    (tmp_path / "weft-data").mkdir(mode=0o700)
    (tmp_path / "weft-data/weft.toml").write_text(
        f'[mgmt]\nurl = "{postgres_url}"\nmachine = "here"\n'
        f'[spider]\nlisten = "127.0.0.1:{free_port()}"\n'
        f'[urlserver]\nlisten = "127.0.0.1:{free_port()}"\n'
    )

    def command(*arguments: str, **variables: str) -> Run:
        return weft(*arguments, cwd=tmp_path, **variables)

    return command


@pytest.fixture
def mgmt(postgres_url: str) -> Iterator[Mgmt]:
    with closing(PostgresMgmt(postgres_url)) as opened:
        yield opened


def answer(run: Run) -> dict[str, Any]:
    assert run.returncode in (0, 1), run.stderr
    return dict(json.loads(run.stdout))


def node(mgmt: Mgmt, type_: NodeType, address: str, machine: str, **told: Any) -> Lease:
    lease = mgmt.register(type_, address, about=NodeAbout(machine=machine, version="9.9"))
    mgmt.heartbeat(lease, NodeTold(clock=SystemClock().now() + told.pop("skew", 0), figures=told))
    return lease


def refused(done: Run, *words: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    sentence = one_sentence(done)
    for word in words:
        assert word in sentence, sentence


# What is told.


def test_nodes_of_all_machines_are_listed_with_their_clocks(run: Command, mgmt: Mgmt) -> None:
    node(mgmt, NodeType.SPIDER, "10.0.0.2:7070", "two", skew=HOUR)
    node(mgmt, NodeType.CRAWLER, "10.0.0.3:7069", "three")
    done = run("nodes")
    first, _, spider, server = done.stdout.splitlines()
    assert first.split() == ["node", "machine", "type", "state", "health", "seen", "(s)", "holds", "clock", "(s)"]
    assert spider.split()[:2] == ["10.0.0.2:7070", "two"]
    assert spider.split()[-1].startswith("+3600") or spider.split()[-1].startswith("+3599")
    assert server.split()[:2] == ["10.0.0.3:7069", "three"]
    assert "the clock of spider 10.0.0.2:7070 (two) is 59 min ahead" in done.stderr.replace("60 min", "59 min")
    assert "10.0.0.3" not in done.stderr
    found = {item["address"]: item for item in answer(run("nodes", "--json"))["items"]}
    assert abs(found["10.0.0.2:7070"]["skew"] - HOUR) < 60_000
    assert (found["10.0.0.2:7070"]["machine"], found["10.0.0.2:7070"]["version"]) == ("two", "9.9")


def test_status_tells_what_runs_elsewhere_and_what_is_wrong_there(run: Command, mgmt: Mgmt) -> None:
    run("add", "https://a.com/")
    figures: dict[str, Any] = {"pages": 7, "rate": 2.5, "freshness": {"p50": 1.25, "p99": 3.5}}
    away = {"10.0.0.2:7070": {"seconds": 75, "reason": "connection refused"}}
    node(mgmt, NodeType.INDEX_BUILDER, "index@one:/home", "one", **figures, away=away)
    node(mgmt, NodeType.CRAWLER, "10.0.0.3:7069", "three", spiders_away={"10.0.0.2:7070": "no spider answers"})
    node(mgmt, NodeType.SPIDER, "10.0.0.4:7070", "four", closed=["the disk is full"])
    shown = run("status").stdout
    for line in (
        "running  urlserver, spider, index",
        "pages    7 since the index process began, 2.5/s now",
        "fresh    1.2 s from fetch to answer (p99 3.5 s)",
        "warning  index index@one:/home (one) cannot read the records of 10.0.0.2:7070 for 75 s: connection refused",
        "warning  urlserver 10.0.0.3:7069 (three) cannot reach spider 10.0.0.2:7070: no spider answers",
        "warning  spider 10.0.0.4:7070 (four) fetches nothing because the disk is full",
    ):
        assert line in shown, shown
    found = answer(run("status", "--json"))
    assert (found["index"]["pages"], found["freshness"]["p99"], len(found["warnings"])) == (7, 3.5, 3)


def test_all_nodes_are_paused_and_resumed_with_one_command(run: Command, mgmt: Mgmt) -> None:
    leases = [node(mgmt, NodeType.SPIDER, f"10.0.0.{n}:7070", f"m{n}") for n in (1, 2)]
    assert len(answer(run("nodes", "--ask", "paused", "--json"))["items"]) == 2
    assert [mgmt.heartbeat(lease) for lease in leases] == [NodeState.PAUSED] * 2
    assert "asked: paused" in run("nodes").stdout
    run("nodes", "--ask", "online")
    assert [mgmt.heartbeat(lease) for lease in leases] == [NodeState.ONLINE] * 2


def test_pausing_nobody_says_so(run: Command) -> None:
    done = run("nodes", "--ask", "paused")
    assert done.returncode == 1
    assert "no node is running" in one_sentence(done)


def test_stop_all_drains_every_machine_in_order(run: Command, mgmt: Mgmt) -> None:
    types = (NodeType.WEB_APP, NodeType.INDEX_BUILDER, NodeType.SPIDER, NodeType.CRAWLER)
    leases = {f"10.0.0.{n}:1": node(mgmt, type_, f"10.0.0.{n}:1", f"m{n}") for n, type_ in enumerate(types)}
    left: list[str] = []

    def obey() -> None:
        while len(left) < len(leases):
            for address, lease in leases.items():
                if address not in left and mgmt.heartbeat(lease) is NodeState.DRAINING:
                    mgmt.tell(lease, NodeState.OFFLINE)
                    left.append(address)

    obeying = Thread(target=obey)
    obeying.start()
    found = answer(run("stop", "--all", "--json"))
    obeying.join(10)
    assert left == [f"10.0.0.{n}:1" for n in (3, 2, 1, 0)], "who takes work first, who shows it last"
    assert (found["asked"], found["left"]) == (left, [])
    assert run("stop", "--all").stdout == "Nothing is running on any machine.\n"


def test_stop_all_names_whoever_does_not_stop(run: Command, mgmt: Mgmt) -> None:
    lease = node(mgmt, NodeType.SPIDER, "10.0.0.2:7070", "two")
    done = run("stop", "--all", "--wait", "0.5")
    assert (done.returncode, "10.0.0.2:7070 did not stop" in done.stdout) == (1, True)
    assert mgmt.heartbeat(lease) is NodeState.DRAINING
    assert "On other machines, 1 process still running" in run("stop").stdout


def test_a_machine_without_the_index_says_where_it_is(run: Command, mgmt: Mgmt) -> None:
    assert run("init").returncode == 0
    mgmt.own_store(StoreOwner("1", "one:/srv/weft"))
    done = run("top")
    assert done.returncode == 1
    assert "the index of this control plane is in one:/srv/weft" in one_sentence(done)


# Who is refused.


def test_a_home_is_not_made_for_a_control_plane_that_cannot_be_used(run: Command, tmp_path: Path) -> None:
    assert "control plane in postgresql://" in run("init").stdout
    nowhere = 'mgmt.url="postgresql://127.0.0.1:9/weft"'
    (tmp_path / "pages.jsonl").write_text('{"url": "https://a.com/", "links": []}\n')
    for command in (["init"], ["add", "https://a.com/"], ["crawl", "https://a.com/"], ["import", "pages.jsonl"]):
        done = run(*command, "--home", "other", "--set", nowhere)
        refused(done, "control plane postgresql://127.0.0.1:9/weft", "mgmt.url")
        assert not (tmp_path / "other").exists()


def test_a_role_with_other_url_settings_is_refused_and_told_what_differs(run: Command) -> None:
    assert run("add", "https://a.com/").returncode == 0
    for role in ("urlserver", "spider", "index"):
        refused(
            run("run", role, WEFT_URL_MAX_LENGTH="1000"),
            "url.max_length is 1000 on machine here, but 2048 for the index of postgresql://",
        )
    refused(run("run", "spider", WEFT_URL_STRIP='["utm_*", "extra"]'), "url.strip of machine here has extra and lacks")
    refused(run("add", "https://b.com/", "--set", "index.count=external"), "index.count is external on machine here")
    refused(run("crawl", "--set", "url.max_length=1000"), "url.max_length is 1000")
    assert answer(run("status", "--json"))["links"]["pending"] == 1, "nothing was changed"
    assert answer(run("nodes", "--all", "--json"))["count"] == 0


def test_settings_may_be_corrected_while_nothing_is_known(run: Command) -> None:
    assert run("init").returncode == 0
    assert run("add", "--set", "url.max_length=1000", "--file", "/dev/null").returncode == 0
    assert run("add", "https://a.com/").returncode == 0


def test_an_import_that_would_make_other_keys_is_refused(run: Command, tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text('{"url": "https://a.com/", "links": []}\n')
    assert run("add", "https://a.com/").returncode == 0
    refused(run("import", "pages.jsonl", "--set", "url.max_length=1000"), "url.max_length")
    assert run("import", "pages.jsonl").returncode == 0


def test_rebuild_changes_what_counts_for_all(run: Command) -> None:
    assert run("add", "https://a.com/").returncode == 0
    assert run("rebuild", "--set", "index.count=external").returncode == 0
    refused(run("add", "https://b.com/"), "index.count is all on machine here, but external")
    assert run("add", "https://b.com/", "--set", "index.count=external").returncode == 0


def test_a_machine_with_another_suffix_list_is_refused(run: Command, tmp_path: Path) -> None:
    assert run("add", "https://a.com/").returncode == 0
    with as_file(files("publicsuffixlist")) as installed:
        shutil.copytree(installed, tmp_path / "other/publicsuffixlist")
    words = tmp_path / "other/publicsuffixlist/public_suffix_list.dat"
    words.write_text(words.read_text() + "\nanother.test\n")
    refused(
        run("add", "https://b.com/", PYTHONPATH=str(tmp_path / "other")),
        "the public suffix list of machine here",
        "publicsuffixlist",
    )


def test_a_second_index_is_refused_with_the_place_of_the_first(run: Command, mgmt: Mgmt, tmp_path: Path) -> None:
    assert run("init").returncode == 0
    mgmt.own_store(StoreOwner("1", "one:/srv/weft"))
    refused(run("run", "index"), "is not the index of postgresql://", "which is that of one:/srv/weft")
    assert mgmt.index_store() == StoreOwner("1", "one:/srv/weft")
    assert mgmt.nodes() == []


def test_an_unreachable_database_is_named_with_its_setting(run: Command) -> None:
    for role in ("urlserver", "spider", "index"):
        done = run("run", role, WEFT_MGMT_URL="postgresql://me:secret@127.0.0.9:1/weft")
        refused(done, "postgresql://127.0.0.9:1/weft: cannot be reached", "mgmt.url")
        assert "secret" not in done.stderr


def test_an_outer_address_needs_a_token(run: Command) -> None:
    refused(run("run", "spider", "--set", 'spider.listen="10.0.0.9:7070"'), "spider.listen", "spider.token")
    refused(run("run", "urlserver", "--set", 'urlserver.listen="10.0.0.9:7069"'), "urlserver.listen", "spider.token")


def test_a_role_with_another_token_than_the_others_is_refused(run: Command, mgmt: Mgmt) -> None:
    mgmt.register(NodeType.SPIDER, "10.0.0.2:7070", about=NodeAbout(machine="two", token="another"))
    secret = {"WEFT_SPIDER_TOKEN": "mine"}
    for role in ("urlserver", "spider", "index"):
        refused(
            run("run", role, **secret), "machine here: its token differs from that of 10.0.0.2:7070", "spider.token"
        )
    assert len(mgmt.nodes()) == 1


def test_a_spider_that_the_index_cannot_reach_is_refused(run: Command, mgmt: Mgmt) -> None:
    mgmt.register(NodeType.INDEX_BUILDER, "index@one:/home", about=NodeAbout(machine="one"))
    refused(run("run", "spider"), "spider 127.0.0.1:", "spider.listen")


# Commands that work on the store alone.


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_home_without_a_usable_control_plane_is_imported_to_and_rebuilt(tmp_path: Path, damage: str) -> None:
    (tmp_path / "pages.jsonl").write_text('{"url": "https://a.com/", "links": ["/b"]}\n')
    assert weft("init", cwd=tmp_path).returncode == 0
    (tmp_path / "weft-data/warc").mkdir()
    (tmp_path / "weft-data/warc/others.warc.gz").touch()
    if damage == "damaged":
        (tmp_path / "weft-data/mgmt.db").write_bytes(b"this is no database" * 1000)
    for command in (["import", "pages.jsonl"], ["rebuild"]):
        done = weft(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_nothing_is_rebuilt_while_the_control_plane_cannot_be_told(run: Command, tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text('{"url": "https://a.com/", "links": ["/b"]}\n')
    assert run("import", "pages.jsonl").returncode == 0
    before = run("digest", WEFT_MGMT_URL="sqlite:").stdout
    away = {"WEFT_MGMT_URL": "postgresql://127.0.0.9:1/weft"}
    refused(run("rebuild", "--set", "index.count=external", **away), "cannot be reached", "mgmt.url")
    assert run("digest", WEFT_MGMT_URL="sqlite:").stdout == before
