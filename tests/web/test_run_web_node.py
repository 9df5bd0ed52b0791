"""`weft run web` among other processes: commands and metrics show it, and it ends when it is asked to, after others."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from support.free_ports import free_ports
from support.mgmt_engines import Server
from support.run_web import ENDS_WITHIN, run_web
from support.web_app import PATIENCE, pages
from support.web_changes import until, weft_up
from support.weft_command import weft
from weft.config import load
from weft.home import Home
from weft.mgmt.open import open_mgmt
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.values import NodeAbout, NodeState, NodeType

SOON = "mgmt.heartbeat=0.2"


def get(port: int, path: str, method: str = "GET", body: str | None = None, **headers: str) -> tuple[int, str]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def web_apps(home: Path) -> dict[str, dict[str, Any]]:
    """Those that run, by address, as `weft nodes` tells."""
    done = weft("nodes", "--json", "--home", str(home), cwd=home.parent)
    assert done.returncode == 0, done.stderr
    items = json.loads(done.stdout)["items"]
    return {item["address"]: item for item in items if item["type"] == "Web App" and item["state"] != "offline"}


def test_commands_pages_and_metrics_show_every_web_app(own_home: Path) -> None:
    with ExitStack() as both:
        ports = [both.enter_context(run_web(own_home, SOON))[1] for _ in range(2)]
        addresses = {f"127.0.0.1:{port}" for port in ports}
        until(lambda: set(web_apps(own_home)) == addresses, "both web apps among the nodes")
        assert get(ports[0], "/nothing")[0] == 404
        assert get(ports[0], "/", Host="elsewhere.example")[0] == 421
        until(lambda: web_apps(own_home)[f"127.0.0.1:{ports[0]}"]["figures"]["refused"]["421"] == 1, "its figures")
        assert web_apps(own_home)[f"127.0.0.1:{ports[0]}"]["figures"]["seq"] > 0
        told = weft("status", "--home", str(own_home), cwd=own_home.parent).stdout
        assert re.search(r"running +(\w+, )*web\n", told), told
        assert all(address in told for address in addresses)
        metrics = get(ports[1], "/metrics")[1]
        assert 'weft_nodes_up{role="web"} 2.0' in metrics
        assert f'weft_web_refused_total{{code="421",node="127.0.0.1:{ports[0]}"}} 1.0' in metrics
        assert f'weft_process_resident_memory_bytes{{node="127.0.0.1:{ports[1]}",role="web"}}' in metrics
        page = get(ports[0], "/nodes", Accept="text/html")[1]
        assert page.count("<b>Web app</b>") == 2
        assert all(address in page for address in addresses)


@pytest.mark.parametrize("command", [("stop", "--all"), ("nodes", "--ask", "draining")])
def test_it_ends_when_all_are_asked_to(own_home: Path, command: tuple[str, ...]) -> None:
    with run_web(own_home, SOON) as (process, _, said):
        until(lambda: web_apps(own_home), "the web app among the nodes")
        done = weft(*command, "--home", str(own_home), cwd=own_home.parent)
        assert done.returncode == 0, done.stderr
        assert process.wait(ENDS_WITHIN) == 0, said.read_text()
        assert "asked to drain" in said.read_text()
        assert "Traceback" not in said.read_text()
    assert web_apps(own_home) == {}


def test_a_drain_ends_the_run_that_it_belongs_to_and_nothing_starts_again(tmp_path: Path) -> None:
    home, (port,) = tmp_path / "home", free_ports("127.0.0.1", 1)
    assert weft("init", "--home", str(home), cwd=tmp_path).returncode == 0
    home.joinpath("weft.toml").write_text("[mgmt]\nheartbeat = 0.2\n")
    address = f"127.0.0.1:{port}"
    with weft_up(home, port) as up:
        until(lambda: (home / "mgmt.db").exists() and address in web_apps(home), "the web app among the nodes")
        refused = weft("nodes", address, "--ask", "paused", "--home", str(home), cwd=tmp_path)
        assert (refused.returncode, "is a web app" in refused.stderr) == (2, True)
        assert weft("nodes", address, "--ask", "draining", "--home", str(home), cwd=tmp_path).returncode == 0
        assert up.wait(60) == 0
    log = (home / "logs/web.log").read_text()
    assert log.count(f"registered address={address}") == 1
    assert f"left address={address}" in log
    assert web_apps(home) == {}


def test_a_home_without_a_control_plane_is_given_none(own_home: Path) -> None:
    for file in own_home.glob("mgmt.db*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    with run_web(own_home, SOON) as (_, port, said):
        assert get(port, "/api/totals")[0] == 200
        until(lambda: "there is none yet" in said.read_text(), "the line about it")
        assert list(own_home.glob("mgmt*")) == []
        assert weft("add", "https://a.example/", "--home", str(own_home), cwd=own_home.parent).returncode == 0
        until(lambda: web_apps(own_home), "the web app among the nodes")
        assert said.read_text().count("WARNING") == 1


def test_a_home_that_cannot_be_written_is_shown_and_told_of_once(tmp_path: Path) -> None:
    """Root may write anywhere, except where it is mounted read-only."""
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages(1)))
    for command in (("import", "pages.jsonl"), ("add", "https://a.example/")):
        assert weft(*command, "--home", "home", cwd=tmp_path).returncode == 0
    words = [sys.executable, "-m", "weft", "run", "web", "--home", "home", "--set", 'web.listen="127.0.0.1:0"']
    mount = "mount --bind home home && mount -o remount,ro,bind home && exec "
    try:
        process = subprocess.Popen(
            ["unshare", "--mount", "--map-root-user", "bash", "-c", mount + " ".join(f"'{word}'" for word in words)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    with process:
        try:
            said = [process.stdout.readline()]
            while "web app at" not in said[-1]:
                if process.poll() is not None:
                    pytest.skip(f"nothing can be mounted here: {said}")
                said.append(process.stdout.readline())
            port = int(said[-1].rpartition(":")[2].strip("/\n"))
            assert get(port, "/api/totals")[0] == 200
            assert get(port, "/api/status")[0] == 200
            line = process.stdout.readline()
            assert "not known to the control plane" in line
            assert "Traceback" not in line
        finally:
            process.kill()


# PostgreSQL.


def test_on_postgresql_it_reads_changes_and_is_listed(own_home: Path, postgres_url: str) -> None:
    own_home.joinpath("weft.toml").write_text(
        f'[mgmt]\nurl = "{postgres_url}"\nmachine = "here"\nheartbeat = 0.2\n[spider]\ntoken = "mine"\n'
    )
    with closing(PostgresMgmt(postgres_url)) as mgmt:
        # Tokens that differ matter to those who talk to each other.
        other = mgmt.register(NodeType.SPIDER, "10.0.0.2:7070", about=NodeAbout(machine="two", token="another"))
        made = weft("token", "create", "--home", str(own_home), cwd=own_home.parent)
        token = re.findall(r"weft_[\w-]{43}", made.stdout)[0]
        with run_web(own_home) as (process, port, said):
            address = f"here:{port}"
            until(lambda: address in web_apps(own_home), "the web app among the nodes")
            assert [get(port, path)[0] for path in ("/readyz", "/api/top", "/api/status", "/", "/crawl")] == [200] * 5
            assert 'weft_nodes_up{role="web"} 1.0' in get(port, "/metrics")[1]
            sent = {"Authorization": f"Bearer {token}", "Content_Type": "application/json"}
            added = get(port, "/api/add", "POST", json.dumps({"url": "https://new.example/"}), **sent)
            assert added[0] == 200, added[1]
            assert "new.example" in {site.name for site in mgmt.sites()}
            assert get(port, "/api/add", "POST", "{}", Content_Type="application/json")[0] == 401
            paused = get(port, "/api/pause", "POST", "{}", **sent)
            assert json.loads(paused[1])["count"] == 1
            assert mgmt.heartbeat(other) is NodeState.PAUSED
            assert web_apps(own_home)[address]["machine"] == "here"
            mgmt.tell(other, NodeState.OFFLINE)
            done = weft("stop", "--all", "--home", str(own_home), cwd=own_home.parent)
            assert (done.returncode, "Stopped 1 process" in done.stdout) == (0, True), done.stderr
            assert process.wait(ENDS_WITHIN) == 0, said.read_text()
        assert mgmt.nodes()[-1].state is NodeState.OFFLINE


def test_while_postgresql_is_away_the_index_is_shown_and_afterwards_the_app_is_listed_again(
    own_home: Path, own_postgres: Server
) -> None:
    own_home.joinpath("weft.toml").write_text(
        f'[mgmt]\nurl = "{own_postgres.url(own_postgres.make_schema())}"\nheartbeat = 0.2\n'
    )
    with run_web(own_home) as (_, port, said):
        until(lambda: web_apps(own_home), "the web app among the nodes")
        with own_postgres.away():
            until(lambda: "not known to the control plane" in said.read_text(), "the line about it")
            assert [get(port, path)[0] for path in ("/healthz", "/api/top")] == [200] * 2
        settings = load(own_home, {}, []).settings
        with closing(open_mgmt(settings, Home(own_home))) as mgmt:
            until(lambda: mgmt.nodes()[0].seen < 1000, "heartbeats")
        assert said.read_text().count("not known to the control plane") == 1
        assert "Traceback" not in said.read_text()
