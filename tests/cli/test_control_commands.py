"""`weft add`, `sites`, `nodes`, `status`, `retry` as a user runs them, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from support.mgmt_engines import Server
from support.weft_command import one_sentence, weft
from weft.clock import ManualClock, SystemClock
from weft.mgmt.api import Mgmt
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.values import NodeType, Result, WarcPosition

Run = CompletedProcess[str]
Command = Callable[..., Run]
WHERE = WarcPosition("spider:1", "file.warc.gz", 0, 1)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Of the control plane."""
    return "sqlite:" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def run(url: str, tmp_path: Path) -> Command:
    return lambda *arguments, stdin=None: weft(*arguments, cwd=tmp_path, stdin=stdin, WEFT_MGMT_URL=url)


@pytest.fixture
def mgmt(run: Command, url: str, tmp_path: Path) -> Mgmt:
    """The same control plane, as one of weft's processes has it."""
    assert run("init").returncode == 0
    return SqliteMgmt(tmp_path / "weft-data" / "mgmt.db") if url == "sqlite:" else PostgresMgmt(url)


def answer(run: Run) -> dict[str, Any]:
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


def test_urls_are_added_once_and_make_their_sites(run: Command) -> None:
    first = run("add", "https://www.a.com/x", "http://b.com", "https://www.a.com/y#z")
    assert first.stdout == "3 URLs added, 0 already known, 0 refused\n"
    assert answer(run("add", "--json", "http://www.a.com/x")) == {"new": 0, "known": 1, "refused": 0}
    sites = answer(run("sites", "--json"))
    assert [(site["name"], site["seeds"]) for site in sites["items"]] == [
        ("b.com", ["http://b.com/"]),
        ("www.a.com", ["http://www.a.com/x", "https://www.a.com/y"]),
    ]


def test_a_url_that_is_refused_is_named_and_the_others_are_added(run: Command) -> None:
    done = run("add", "https://a.com/", "ftp://b.com/", "http://c d/")
    assert done.returncode == 0
    assert done.stdout == "1 URL added, 0 already known, 2 refused\n"
    named = [line for line in done.stderr.splitlines() if "refused" in line]
    assert ["ftp://b.com/" in named[0], "http://c d/" in named[1], len(named)] == [True, True, 2]


def test_nothing_but_refused_urls_is_an_error(run: Command) -> None:
    assert run("add", "ftp://b.com/").returncode == 2


def test_a_file_with_rubbish_adds_the_rest_and_counts_the_rubbish(run: Command, tmp_path: Path) -> None:
    lines = [f"https://h{number}.com/" if number % 3 else "http://x y/" for number in range(90)]
    (tmp_path / "urls").write_text("# a comment\n\n" + "\n".join(lines) + "\n\xff\xfe\n", "latin-1")
    done = run("add", "--file", "urls")
    assert done.stdout == "60 URLs added, 0 already known, 31 refused\n"
    assert "urls:3: " in done.stderr
    assert "11 more refused" in done.stderr


@pytest.mark.parametrize("first", ["https://a.com/", "# a comment"])
def test_a_file_from_another_system_is_read_like_one_of_this(run: Command, tmp_path: Path, first: str) -> None:
    text = f"\ufeff{first}\r\n\r\nhttps://b.com/\r\nhttps://a.com/"
    (tmp_path / "urls").write_bytes(text.encode())
    assert run("add", "--file", "urls").stdout.startswith(("2 URLs added, 1 already known", "2 URLs added, 0 already"))
    assert run("add", "-", stdin=text).stdout.startswith("0 URLs added")
    assert [line.split()[0] for line in run("sites").stdout.splitlines()[2:]] == ["a.com", "b.com"]


def test_urls_come_from_standard_input(run: Command) -> None:
    assert run("add", "-", stdin="https://a.com/\nhttps://b.com/\n").stdout.startswith("2 URLs added")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((), "nothing to add"), (("--file", "missing"), "missing cannot be read"), (("--file", "."), ". cannot be read")],
)
def test_an_add_that_cannot_be_done_makes_no_home(
    run: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = run("add", *arguments)
    assert done.returncode == 2
    assert said in one_sentence(done)
    assert not (tmp_path / "weft-data").exists()


def test_a_site_is_changed_and_shown_without_its_secrets(run: Command) -> None:
    run("add", "https://a.com/", "--scope", "domains")
    changed = run("sites", "a.com", "--setting", "depth=3", "--setting", "auth=me:secret", "--exclude", "--json")
    site = answer(changed)["items"][0]
    assert (site["settings"], site["is_excluded"], site["scope"]) == ({"depth": 3, "auth": "***"}, True, "domains")
    again = answer(run("sites", "a.com", "--setting", "depth=", "--no-exclude", "--json"))["items"][0]
    assert (again["settings"], again["is_excluded"]) == ({"auth": "***"}, False)


def test_a_misspelt_site_is_not_made_unless_it_is_asked_for(run: Command) -> None:
    run("add", "https://typo.test/")
    done = run("sites", "tpyo.test", "--exclude")
    assert done.returncode == 1
    assert "did you mean typo.test?" in one_sentence(done)
    assert "--new" in done.stderr
    assert [site["name"] for site in answer(run("sites", "--json"))["items"]] == ["typo.test"]
    made = answer(run("sites", "other.test", "--exclude", "--new", "--json"))["items"][0]
    assert (made["name"], made["is_excluded"]) == ("other.test", True)
    assert run("sites", "third.test", "--new").returncode == 0
    assert len(answer(run("sites", "--json"))["items"]) == 3
    assert "NAME" in one_sentence(run("sites", "--exclude"))


def test_a_question_makes_no_control_plane(run: Command, tmp_path: Path) -> None:
    run("init")
    for command in (("status",), ("sites",), ("nodes",), ("why", "https://a.com/"), ("page", "https://a.com/")):
        assert run(*command).returncode in (0, 1)
    assert not list((tmp_path / "weft-data").glob("mgmt*"))


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("colour=1", "expected KEY=VALUE"), ("depth=deep", "expected an integer"), ('exclude=["("]', "is no pattern")],
)
def test_a_wrong_setting_changes_nothing(run: Command, setting: str, expected: str) -> None:
    run("add", "https://a.com/")
    done = run("sites", "a.com", "--setting", "depth=2", "--setting", setting)
    assert done.returncode == 2
    assert expected in one_sentence(done)
    assert answer(run("sites", "a.com", "--json"))["items"][0]["settings"] == {}


def test_what_is_not_known_is_said_with_exit_code_1(run: Command) -> None:
    run("add", "https://a.com/")
    for done in (run("sites", "b.com"), run("nodes", "1.2.3.4:5")):
        assert done.returncode == 1
        one_sentence(done)


def test_status_nodes_and_retry_tell_what_the_control_plane_knows(run: Command, mgmt: Mgmt) -> None:
    run("add", *(f"https://h{number}.com/" for number in range(4)))
    crawler, builder = mgmt.register(NodeType.CRAWLER, "here:1"), mgmt.register(NodeType.INDEX_BUILDER, "here:2")
    chunk = mgmt.claim(crawler, 3)
    assert chunk is not None
    mgmt.report([Result(doc_id=link.doc_id, claim=link.claim, status=200, position=WHERE) for link in chunk.links])
    mgmt.seal_finished(crawler)
    facts = answer(run("status", "--json"))
    assert {state: number for state, number in facts["links"].items() if number} == {"pending": 1, "crawled": 3}
    while taken := mgmt.take_crawled(builder, 5):  # offered again a few times, and then only when somebody says so
        mgmt.build_failed(builder, taken[0].id, taken[0].attempt, "no space")
    assert "1 chunk will be retried" in run("retry").stdout
    asked = answer(run("nodes", "here:1", "--ask", "paused", "--json"))
    assert [node["address"] for node in asked["items"]] == ["here:1"]
    drawn = run("status", "--tables").stdout
    assert "| https://h0.com/ |" in drawn
    assert "here:2" in drawn
    mgmt.close()


def test_status_tells_that_the_clock_went_back(tmp_path: Path) -> None:
    assert weft("add", "https://a.com/", cwd=tmp_path).returncode == 0
    ahead = ManualClock(SystemClock().now() + 25 * 3_600_000)
    with closing(SqliteMgmt(tmp_path / "weft-data" / "mgmt.db", ahead)) as mgmt:
        mgmt.register(NodeType.CRAWLER, "here:1")
    said = "it went back by 25 h 0 min"
    assert f"{said}; waits are cut to their own length when weft runs next" in weft("status", cwd=tmp_path).stdout
    assert answer(weft("status", "--json", cwd=tmp_path))["clock_jump"]["at"] is None
    assert weft("add", "https://b.com/", cwd=tmp_path).returncode == 0
    assert f"{said} on 20" in weft("status", cwd=tmp_path).stdout
    assert 24 * 3_600_000 < answer(weft("status", "--json", cwd=tmp_path))["clock_jump"]["by"] < 26 * 3_600_000


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    assert weft("init", cwd=tmp_path).returncode == 0
    file = tmp_path / "weft-data" / "mgmt.db"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE link (theirs TEXT)")
    before = file.read_bytes()
    done = weft("add", "https://a.com/", cwd=tmp_path)
    assert done.returncode == 2
    assert "another program" in one_sentence(done)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://127.0.0.1:1/weft", "cannot be reached"),
        ("mysql://x", 'expected "sqlite:" or "postgresql://'),
    ],
)
def test_a_wrong_database_is_one_sentence(tmp_path: Path, url: str, said: str) -> None:
    assert weft("init", cwd=tmp_path).returncode == 0
    done = weft("add", "https://a.com/", cwd=tmp_path, WEFT_MGMT_URL=url)
    assert done.returncode == 2
    assert said in one_sentence(done)


def test_rights_that_are_missing_are_one_sentence(postgres_server: Server, tmp_path: Path) -> None:
    postgres_server.run("CREATE ROLE stranger LOGIN")
    url = postgres_server.url("public").replace("postgres:@", "stranger:@", 1)
    assert weft("init", cwd=tmp_path).returncode == 0
    done = weft("add", "https://a.com/", cwd=tmp_path, WEFT_MGMT_URL=url)
    assert done.returncode == 2
    assert "no rights" in one_sentence(done)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_without_rights_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    done = weft("add", "https://a.com/", "--home", "locked/home", cwd=tmp_path)
    assert done.returncode == 2
    one_sentence(done)
