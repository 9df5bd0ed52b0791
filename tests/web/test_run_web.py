"""`weft run web` as a process: how it starts, what it refuses, how it ends, and what it never writes down."""

from __future__ import annotations

import re
import signal
import socket
from contextlib import closing
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from support.run_web import ENDS_WITHIN, run_web
from support.web_app import PATIENCE
from support.weft_command import one_sentence, weft
from weft.actions.web_login import new_login_code
from weft.home import Home


def ask(port: int, path: str, **headers: str) -> tuple[int, dict[str, str]]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_is_ready_when_it_says_so_and_ends_soon_whatever_is_open(own_home: Path, number: signal.Signals) -> None:
    with run_web(own_home) as (process, port, said):
        assert ask(port, "/readyz")[0] == 200
        opened = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for _ in range(6)]
        streams, idle, half, slow = opened[:2], opened[2:4], opened[4], opened[5]
        for stream in streams:
            stream.sendall(b"GET /api/events?topics=status,changes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            received = b""
            while b"event: status" not in received:
                received += stream.recv(1 << 16)
        for each in idle:
            each.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b" 200 " in each.recv(1 << 16)
        half.sendall(b"GET / HT")
        slow.sendall(b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\nx")
        process.send_signal(number)
        assert process.wait(ENDS_WITHIN) == 0, said.read_text()
        for each in opened:
            each.close()
        assert "Traceback" not in said.read_text()
        assert "ERROR" not in said.read_text()


def test_a_port_that_is_taken_is_told_in_a_sentence(small_home: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = weft("run", "web", "--home", str(small_home), "--set", f'web.listen="127.0.0.1:{port}"', cwd=tmp_path)
    assert run.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in one_sentence(run)


def test_a_home_that_is_missing_is_told_in_a_sentence(tmp_path: Path) -> None:
    run = weft("run", "web", "--home", "nowhere", cwd=tmp_path)
    assert run.returncode == 2
    assert "nowhere" in one_sentence(run)
    assert list(tmp_path.iterdir()) == []


def test_a_home_whose_store_is_lost_or_damaged_is_told_in_a_sentence(own_home: Path, tmp_path: Path) -> None:
    for file in Home(own_home).store.rglob("*"):
        if file.is_file():
            file.write_bytes(b"\xff" * 10)
    run = weft("run", "web", "--home", str(own_home), "--set", 'web.listen="127.0.0.1:0"', cwd=tmp_path)
    assert run.returncode == 2
    assert "store" in one_sentence(run)


@pytest.mark.parametrize(
    "setting",
    [
        'web.listen="nonsense"',
        'web.listen="192.0.2.1:0"',
        'web.hosts=["http://a.example/"]',
        'web.origins=["*"]',
        "web.unknown=1",
    ],
)
def test_settings_that_make_no_sense_are_told_in_a_sentence(small_home: Path, tmp_path: Path, setting: str) -> None:
    run = weft("run", "web", "--home", str(small_home), "--set", setting, cwd=tmp_path)
    assert run.returncode == 2
    assert "web." in one_sentence(run)


def test_secrets_are_in_no_log(own_home: Path, tmp_path: Path) -> None:
    made = weft("token", "create", "--home", str(own_home), cwd=tmp_path)
    token = re.findall(r"weft_[\w-]{43}", made.stdout)[0]
    with run_web(own_home) as (process, port, said):
        code = new_login_code(Home(own_home))
        status, headers = ask(port, f"/login?code={code}")
        assert status == 303
        cookie = next(iter(SimpleCookie(headers["set-cookie"]).values())).value
        ask(port, f"/login?code={code}")
        ask(port, "/", Cookie=f"weft_{port}={cookie}")
        ask(port, "/api/totals", Authorization=f"Bearer {token}")
        ask(port, "/api/totals", Authorization=f"Bearer {token}x")
        ask(port, f"/nothing/{code}?token={token}", Authorization=f"Bearer {token}")
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.sendall(f"GET /login?code={code} HTTP/1.1\r\nbad header\r\nCookie: {cookie}\r\n\r\n".encode())
            raw.recv(1000)
        process.send_signal(signal.SIGTERM)
        process.wait(ENDS_WITHIN)
        text = said.read_text() + process.stdout.read()
    logs = [text, *(file.read_text(errors="replace") for file in own_home.rglob("*.log") if "store" not in file.parts)]
    for secret in (token, code, cookie):
        assert not any(secret in log for log in logs)


def test_it_goes_on_where_its_log_cannot_be_written_any_more(own_home: Path) -> None:
    """A terminal that was closed, or a pipe that nobody reads."""
    with run_web(own_home) as (process, port, _):
        process.stdout.close()
        assert ask(port, "/api/totals")[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(ENDS_WITHIN) == 0
