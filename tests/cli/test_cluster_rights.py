"""A cluster with passwords: whoever has no rights is told so in one sentence, and nothing is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cassandra import own_cluster, run_as
from support.weft_command import one_sentence, weft
from tools.cassandra.shape import Shape

# Rights that are given hold at once.
PASSWORDS = {
    "authenticator": "PasswordAuthenticator",
    "authorizer": "CassandraAuthorizer",
    "permissions_validity": "0ms",
}
READ = ("top",)
WRITE = ("import", "pages.jsonl")


@pytest.fixture
def host(request: pytest.FixtureRequest) -> Iterator[str]:
    with own_cluster(request, Shape(settings=PASSWORDS)) as cluster:
        yield cluster.hosts[0]


def as_admin(host: str, *statements: str) -> None:
    run_as([host], "cassandra", "cassandra", statements)


@pytest.mark.long
def test_rights_that_are_missing_are_named_and_nothing_is_changed(host: str, postgres_url: str, tmp_path: Path) -> None:
    page = {"url": "http://a.com/", "fetched": "2026-01-31T12:00:00Z", "links": [{"url": "http://b.com/"}]}
    (tmp_path / "pages.jsonl").write_text(f"{json.dumps(page)}\n")
    (tmp_path / "weft-data").mkdir()
    (tmp_path / "weft-data/weft.toml").touch()

    def run(*arguments: str, user: str = "weft:secret") -> Any:
        variables = {"WEFT_STORE_URL": f"cassandra://{user}@{host}/weft", "WEFT_MGMT_URL": postgres_url}
        return weft(*arguments, cwd=tmp_path, **variables)

    def refused(done: Any, *words: str) -> None:
        assert done.returncode == 2, done.stdout + done.stderr
        assert all(word in one_sentence(done) for word in (host, "store.url", *words)), done.stderr
        assert "secret" not in done.stderr

    as_admin(host, "CREATE ROLE weft WITH PASSWORD = 'secret' AND LOGIN = true")
    make = ("schema", "cassandra", "--apply", "--replication", "1")
    refused(run(*READ, user="weft:wrong-secret"), "refuses this user and password")
    refused(run(*make), "the user weft has no right", "CREATE")
    made = run(*make, user="cassandra:cassandra")
    assert made.returncode == 0, made.stderr

    refused(run(*READ), "the user weft has no right", "SELECT")
    refused(run(*WRITE), "the user weft has no right", "SELECT")
    as_admin(host, "GRANT SELECT ON KEYSPACE weft TO weft")
    assert run(*READ).returncode == 0
    refused(run(*WRITE), "the user weft has no right", "MODIFY")
    assert json.loads(run(*READ, "--json").stdout)["items"] == []

    as_admin(host, "GRANT MODIFY ON KEYSPACE weft TO weft")
    assert run(*WRITE).returncode == 0
    assert [item["uri"] for item in json.loads(run(*READ, "--json").stdout)["items"]] == ["com.b", "com.a"]
    assert run("verify").returncode == 0
