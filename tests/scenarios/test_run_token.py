"""`weft crawl` on a machine with other users: its ports take orders from its own processes alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.certificates import Authority
from support.weft_command import weft
from support.whole_crawl import SETS, logs, role_processes, served_for
from weft.demo.web.server.serving import Served
from weft.roles.run_token import TOKEN_FILE
from weft.roles.status_file import last_status

PATIENCE = 120.0
# Slow enough that it still runs when everything is asked.
SLOW = ["--set", "urlserver.req_host_per_sec=1.0"]


@pytest.fixture(params=["clear", "tls"])
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    """With TLS towards other machines, the roles of a run still understand each other and our commands."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    words = [sys.executable, "-m", "weft", "crawl", "--home", "home", "--scope", "any", *SETS, *SLOW]
    with served_for(tmp_path) as served, (tmp_path / "crawl.out").open("wb") as output:
        if request.param == "tls":
            add_tls(tmp_path / "home" / "weft.toml", Authority(tmp_path).tls("10.0.0.2"))
            words += ["--set", "spider.address=10.0.0.2:7070", "--set", "urlserver.address=10.0.0.2:7069"]
        crawl = subprocess.Popen([*words, served.url(0)], env=clean, cwd=tmp_path, stdout=output, stderr=output)
        try:
            end = time.monotonic() + PATIENCE
            while not (last_status(tmp_path / "home", "index") or {}).get("pages"):
                assert time.monotonic() < end, logs(tmp_path)
                assert crawl.poll() is None, logs(tmp_path)
                time.sleep(0.05)
            yield served
        finally:
            crawl.send_signal(signal.SIGINT)
            try:
                crawl.wait(PATIENCE)
            finally:
                crawl.kill()


def add_tls(settings: Path, values: dict[str, str]) -> None:
    lines = [f'{name.removeprefix("tls.")} = "{value}"' for name, value in values.items()]
    settings.write_text("\n".join([settings.read_text(), "[tls]", *lines, ""]))


def port_of(place: Path, role: str) -> int:
    words = Path(f"/proc/{role_processes(place)[role]}/cmdline").read_text().split("\0")
    (listen,) = [word for word in words if word.startswith(f"{role}.listen=")]
    return int(listen.strip('"').rpartition(":")[2])


def answer_to(port: int, words: bytes) -> bytes:
    """All that comes back, until the other side closes."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(words)
        said = b""
        try:
            while piece := connection.recv(4096):
                said += piece
        except ConnectionResetError:
            pass
        return said


def test_strangers_get_nothing_and_cannot_find_the_token(running: Served, tmp_path: Path) -> None:
    spider, url_server = port_of(tmp_path, "spider"), port_of(tmp_path, "urlserver")
    token = (tmp_path / "home" / TOKEN_FILE).read_text().strip()
    for pid in role_processes(tmp_path).values():
        for file in ("cmdline", "environ"):
            assert token not in Path(f"/proc/{pid}/{file}").read_text(errors="replace")
    assert answer_to(spider, f"0.0.1 1 127.0.0.1 {running.url(0)}\n".encode()) == b""
    assert answer_to(spider, b"HELLO 1 guessed\n") == b""
    asked = b"GET /records?file=a.warc.gz&offset=0&length=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert answer_to(spider, asked).startswith(b"HTTP/1.1 401 ")
    assert b"wrong token" in answer_to(url_server, b'{"web_host":"a.test"}\n')
    why = json.loads(weft("why", running.url(0), "--json", "--home", "home", cwd=tmp_path).stdout)
    assert "problem" not in why["host"], "our own commands know the token"
    assert token not in logs(tmp_path)
