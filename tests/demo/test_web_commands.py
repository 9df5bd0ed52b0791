"""`weft demo serve`, `judge` and `truth` as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.weft_command import one_sentence, weft
from weft.demo.web.definition.world import make_world
from weft.demo.web.log import plan_of


@contextmanager
def demo_serve(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command, once it is ready; stopped by Ctrl-C."""
    command = [sys.executable, "-m", "weft", "demo", "serve", "--hosts", "5", "--pages", "3", *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=directory, env=clean, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stderr
        while "Ctrl-C stops" not in (line := process.stderr.readline()):
            assert line, "the server ended before it was ready"
        yield process
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def ask(log: Path, host: int, target: str, agent: str) -> bytes:
    plan = plan_of(log)
    found = make_world(plan).hosts.numbered(host)
    with socket.create_connection((found.address, plan.port), timeout=20) as sock:
        head = f"GET {target} HTTP/1.1\r\nHost: {found.name}\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n"
        sock.sendall(head.encode())
        return b"".join(iter(lambda: sock.recv(65536), b""))


def agent_of(directory: Path) -> str:
    return "weft/" + weft("--version", cwd=directory).stdout.split()[1]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "weft-data").mkdir()
    return tmp_path / "weft-data"


def test_the_settings_that_are_written_are_settings_of_weft(tmp_path: Path, home: Path) -> None:
    for _ in range(2):
        (tmp_path / "web.log").unlink(missing_ok=True)
        with demo_serve(tmp_path, "--log", "web.log", "--write-settings", "weft-data/weft.toml"):
            pass
        plan = plan_of(tmp_path / "web.log")
        items = json.loads(weft("config", "--json", cwd=tmp_path).stdout)["items"]
        found = {item["key"]: item["value"] for item in items if item["origin"] == "weft.toml"}
        assert found == {
            "urlserver.allow_net": ["127.0.0.0/8"],
            "urlserver.allow_ports": [80, 443, plan.port],
            "urlserver.static_hosts": {host.name: host.address for host in make_world(plan).all_hosts()},
        }


def test_settings_of_somebody_else_are_not_written_over(tmp_path: Path, home: Path) -> None:
    (home / "weft.toml").write_text("[store]\n")
    run = weft("demo", "serve", "--write-settings", "weft-data/weft.toml", "--seconds", "0", cwd=tmp_path)
    assert run.returncode == 2
    assert "holds other settings" in one_sentence(run)
    assert (home / "weft.toml").read_text() == "[store]\n"


def test_without_a_file_the_settings_are_printed(tmp_path: Path, home: Path) -> None:
    run = weft("demo", "serve", "--hosts", "3", "--seconds", "0", cwd=tmp_path)
    assert run.returncode == 0
    (home / "weft.toml").write_text(run.stdout)
    found = json.loads(weft("config", "--json", cwd=tmp_path).stdout)["items"]
    hosts = next(item["value"] for item in found if item["key"] == "urlserver.static_hosts")
    assert len(hosts) == 3


def test_the_judge_answers_with_its_exit_code(tmp_path: Path) -> None:
    log, agent = tmp_path / "web.log", agent_of(tmp_path)
    slow = ["--set", "urlserver.req_host_per_sec=0.01"]
    with demo_serve(tmp_path, "--log", "web.log"):
        assert b"200 OK" in ask(log, 1, "/robots.txt", agent)
    polite = weft("demo", "judge", "web.log", *slow, cwd=tmp_path)
    assert (polite.returncode, polite.stderr) == (0, "")
    assert polite.stdout.splitlines()[-1].startswith("No violations in 1 request to 1 host")
    (tmp_path / "web.log").rename(tmp_path / "first.log")
    with demo_serve(tmp_path, "--log", "web.log"):
        for target in ("/robots.txt", "/"):
            ask(log, 1, target, agent)
    rude = weft("demo", "judge", "web.log", *slow, cwd=tmp_path)
    assert rude.returncode == 1
    assert "host_gap: " in rude.stdout
    assert rude.stdout.splitlines()[-1].startswith("1 violation in 2 requests")
    answer = json.loads(weft("demo", "judge", "web.log", "--json", *slow, cwd=tmp_path).stdout)
    assert (answer["violations"], answer["requests"], answer["statuses"]) == (1, 2, {"200": 2})
    assert {rule["rule"]: rule["count"] for rule in answer["rules"]}["host_gap"] == 1


def test_the_judge_takes_the_user_agent_of_the_settings(tmp_path: Path) -> None:
    with demo_serve(tmp_path, "--log", "web.log"):
        ask(tmp_path / "web.log", 1, "/robots.txt", "other/1")
    assert weft("demo", "judge", "web.log", cwd=tmp_path).returncode == 1
    assert weft("demo", "judge", "web.log", "--any-agent", cwd=tmp_path).returncode == 0
    named = ("--set", 'spider.user_agent="other/1"')
    assert weft("demo", "judge", "web.log", *named, cwd=tmp_path).returncode == 0


def test_the_truth_of_a_plan_and_of_a_log_are_the_same(tmp_path: Path) -> None:
    with demo_serve(tmp_path, "--log", "web.log", "--profile", "finite"):
        pass
    port = str(plan_of(tmp_path / "web.log").port)
    by_log = weft("demo", "truth", "--of", "web.log", cwd=tmp_path)
    options = ("--hosts", "5", "--pages", "3", "--profile", "finite", "--port", port)
    by_plan = weft("demo", "truth", *options, cwd=tmp_path)
    assert by_log.returncode == by_plan.returncode == 0
    assert by_log.stdout == by_plan.stdout
    lines = [json.loads(line) for line in by_log.stdout.splitlines()]
    assert {line["type"] for line in lines} == {"page", "uri"}
    assert lines[0]["url"] == f"http://site00000.demo00000.test:{port}/"


def test_a_truth_that_its_limit_cuts_off_is_told_by_the_exit_code(tmp_path: Path) -> None:
    run = weft("demo", "truth", "--port", "8000", "--limit", "3", cwd=tmp_path)
    assert run.returncode == 1
    assert sum('"type":"page"' in line for line in run.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve", "--profile", "nonsense"], "there is no profile 'nonsense'"),
        (["serve", "--hosts", "0"], "cannot have hosts 0"),
        (["serve", "--share", "nonsense=1"], "a profile has no share 'nonsense'"),
        (["serve", "--log", "/dev/full", "--seconds", "5"], "the disk is full"),
        (["serve", "--log", "/nonsense/web.log"], "it cannot be written"),
        (["serve", "--write-settings", "/dev/null/weft.toml"], "cannot be written"),
        (["judge", "none.log"], "it cannot be read: No such file"),
        (["judge"], "Missing argument 'LOG'"),
        (["truth"], "give --port"),
        (["truth", "--port", "8000", "--start", "http://nobody.test/"], None),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], said: str | None) -> None:
    run = weft("demo", *arguments, cwd=tmp_path)
    if said is None:
        assert json.loads(run.stdout.splitlines()[0])["fate"] == "fault"
        return
    assert run.returncode == 2
    assert said in one_sentence(run)


def test_a_port_that_is_taken_is_one_sentence_on_the_command_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = weft("demo", "serve", "--port", str(port), cwd=tmp_path)
    assert run.returncode == 2
    assert f"127.0.0.1:{port} cannot be listened on" in one_sentence(run)


def test_without_certificates_there_is_no_tls(tmp_path: Path) -> None:
    code = "import sys; sys.modules['cryptography'] = None; sys.argv = ['weft', *sys.argv[1:]]; import weft.__main__"
    run = subprocess.run(
        [sys.executable, "-c", code, "demo", "serve", "--tls"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "TLS needs the package `cryptography`" in one_sentence(run)


def test_secure_hosts_need_their_authority_in_the_settings(tmp_path: Path) -> None:
    with demo_serve(tmp_path, "--tls", "--write-settings", "new/home/weft.toml"):
        items = json.loads(weft("config", "--json", "--home", "new/home", cwd=tmp_path).stdout)["items"]
        found = next(item["value"] for item in items if item["key"] == "spider.ca_file")
        assert Path(found).read_text().startswith("-----BEGIN CERTIFICATE-----")
    assert not Path(found).exists()


def test_demo_without_a_name_is_the_sample(tmp_path: Path) -> None:
    plain, named = weft("demo", cwd=tmp_path).stdout, weft("demo", "sample", cwd=tmp_path).stdout
    assert plain.splitlines()[1:] == named.splitlines()[1:], "the first line names a directory"
