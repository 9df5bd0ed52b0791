"""docs/machines.md is followed from top to bottom, with the page's own settings, on three loopback addresses."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from support.machines import COMMON, EndOfCrawl, settings_file
from support.machines_proof import WEB, one_machine
from support.mgmt_engines import Server
from support.weft_command import weft
from weft.config.sections import MgmtSettings
from weft.demo.web.server.serving import Served, serving
from weft.mgmt.postgres import PostgresMgmt

PAGE = (Path(__file__).resolve().parents[2] / "docs/machines.md").read_text(encoding="utf-8")
MACHINES = ("crawl1", "crawl2", "crawl3")
HOME = "/var/lib/weft"
PATIENCE = 120.0


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def common_port() -> int:
    """Free on the addresses of all three machines."""
    with ExitStack() as stack:
        first = stack.enter_context(socket.create_server(("127.0.0.2", 0)))
        port = int(first.getsockname()[1])
        for address in ("127.0.0.3", "127.0.0.4"):
            stack.enter_context(socket.create_server((address, port)))
        return port


class Reader:
    """Somebody who does what the page says, with other addresses."""

    def __init__(self, place: Path, server: Server, web: Served) -> None:
        self._place, self._web = place, web
        self._directory = parse_qs(urlsplit(server.url()).query)["host"][0]
        self._ports = {":7070": f":{common_port()}", ":7069": f":{common_port()}"}
        self.roles: list[subprocess.Popen[bytes]] = []
        self.printed: dict[str, str] = {}

    @property
    def url(self) -> str:
        return self._here("postgresql://weft:correct-horse@10.0.0.1/weft")

    def make_database(self, server: Server) -> None:
        (block,) = blocks("sql")
        for statement in block.strip().splitlines():
            server.run(statement)

    def follow(self, block: str) -> None:
        first, *commands = block.strip().splitlines()
        assert first.startswith("# on "), block
        for machine in re.findall(r"crawl\d", first):
            for command in commands:
                self._do(machine, command)

    def write_settings(self) -> None:
        for machine, text in zip(MACHINES, blocks("toml"), strict=True):
            # The rest is for the synthetic web, which is not the world's, and for tests that have little time.
            fast = {name: value for name, value in COMMON.items() if name != "spider.token"}
            whole = settings_file(self._here(text), {**settings_of(self._web), **fast})
            (self._place / machine / "weft.toml").write_text(whole)

    def _do(self, machine: str, command: str) -> None:
        program, *words = command.replace(HOME, str(self._place / machine)).split()
        assert program == "weft", command
        words = [self._web.url(0) if word == "https://example.com/" else word for word in words]
        words = ["any" if word == "domains" else word for word in words]
        if words[0] == "run":
            self._start(machine, words)
            return
        done = weft(*words, cwd=self._place)
        assert done.returncode == 0, f"{machine}: {command}\n{done.stdout}{done.stderr}{self.logs()}"
        self.printed[f"{machine}: {words[0]}"] = done.stdout

    def _start(self, machine: str, words: list[str]) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        with (self._place / f"{machine}.{words[1]}.said").open("ab") as output:
            self.roles.append(
                subprocess.Popen([sys.executable, "-m", "weft", *words], env=clean, stdout=output, stderr=output)
            )

    def _here(self, text: str) -> str:
        text = text.replace("@10.0.0.1/weft", f"@/weft?host={self._directory}")
        for number in (1, 2, 3):
            text = text.replace(f"10.0.0.{number}", f"127.0.0.{number + 1}")
        for port, here in self._ports.items():
            text = text.replace(port, here)
        return text

    def logs(self) -> str:
        return "\n".join(f"--- {file.name}\n{file.read_text()[-2000:]}" for file in self._place.glob("*.said"))


def settings_of(web: Served) -> dict[str, object]:
    """What lets weft crawl this web."""
    import tomllib

    sections = tomllib.loads(web.settings_text())
    return {f"{section}.{key}": value for section, keys in sections.items() for key, value in keys.items()}


@pytest.fixture
def reader(tmp_path: Path, own_postgres: Server) -> Iterator[Reader]:
    one_machine(WEB)  # before the same port is taken here
    with serving(WEB, tmp_path / "web.log") as web:
        made = Reader(tmp_path, own_postgres, web)
        made.make_database(own_postgres)
        yield made
        for process in made.roles:
            process.kill()
            process.wait()


def wait_for_the_end(reader: Reader, index_home: Path) -> None:
    mgmt = PostgresMgmt(reader.url, MgmtSettings())
    end, until = EndOfCrawl(mgmt, index_home), time.monotonic() + PATIENCE
    while not end.is_reached():
        assert time.monotonic() < until, f"{mgmt.counts()} {mgmt.nodes()}\n{reader.logs()}"
        time.sleep(0.1)
    mgmt.close()


def test_whoever_follows_the_page_has_three_machines_that_crawl(reader: Reader, tmp_path: Path) -> None:
    make, start, start_others, look, check = blocks("sh")
    reader.follow(make)
    reader.write_settings()
    reader.follow(start)
    reader.follow(start_others)
    wait_for_the_end(reader, tmp_path / "crawl1")
    reader.follow(look)
    reader.follow(check)
    for machine in MACHINES:
        listed = reader.printed[f"{machine}: nodes"]
        assert all(name in listed for name in MACHINES), listed
        assert listed.count("Spider") == 3, listed
    assert weft("digest", "--home", "crawl1", cwd=tmp_path).stdout.strip() == one_machine(WEB).digest
    done = weft("stop", "--all", "--home", "crawl1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [process.wait(30) for process in reader.roles] == [0] * len(reader.roles), reader.logs()
