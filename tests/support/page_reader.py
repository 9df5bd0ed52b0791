"""Somebody who follows a page about several machines, with its own settings, on three loopback addresses."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from support.machines import COMMON, EndOfCrawl, settings_file
from support.mgmt_engines import Server
from support.weft_command import weft
from weft.config.sections import MgmtSettings
from weft.demo.web.server.serving import Served
from weft.mgmt.postgres import PostgresMgmt

MACHINES = ("crawl1", "crawl2", "crawl3")
HOME = "/var/lib/weft"
DATABASE = "postgresql://weft:correct-horse@10.0.0.1/weft"


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def common_port(addresses: Sequence[str]) -> int:
    """Free on all of them."""
    with ExitStack() as stack:
        first = stack.enter_context(socket.create_server((addresses[0], 0)))
        port = int(first.getsockname()[1])
        for address in addresses[1:]:
            stack.enter_context(socket.create_server((address, port)))
        return port


class Reader:
    """Does what the page says; 10.0.0.1 to 10.0.0.3 are `addresses`. `patience`: seconds for a crawl."""

    def __init__(
        self, page: str, place: Path, server: Server, web: Served, addresses: Sequence[str], patience: float = 120.0
    ) -> None:
        self.page, self._place, self._web, self._patience = page, place, web, patience
        self._server, self._addresses = server, addresses
        self._directory = parse_qs(urlsplit(server.url()).query)["host"][0]
        self._ports = {f":{port}": f":{common_port(addresses)}" for port in (7069, 7070, 7071)}
        self.roles: dict[str, subprocess.Popen[bytes]] = {}
        """By machine and role: `crawl1.index`."""
        self.printed: dict[str, str] = {}
        """By machine and command: `crawl1: nodes`."""

    def make_database(self) -> None:
        (block,) = blocks(self.page, "sql")
        for statement in block.strip().splitlines():
            self._server.run(statement)

    def follow(self, block: str) -> None:
        first, *commands = block.strip().splitlines()
        assert first.startswith("# on "), block
        for machine in re.findall(r"crawl\d", first):
            for command in commands:
                self._do(machine, command)

    def write_settings(self, more: Mapping[str, object] | None = None) -> None:
        for machine, text in zip(MACHINES, blocks(self.page, "toml"), strict=True):
            # The rest is for the synthetic web, which is not the world's, and for tests that have little time.
            fast = {name: value for name, value in COMMON.items() if name != "spider.token"}
            whole = settings_file(self._here(text), {**settings_of(self._web), **fast, **(more or {})})
            (self._place / machine).mkdir(mode=0o700, exist_ok=True)
            (self._place / machine / "weft.toml").write_text(whole)

    def _do(self, machine: str, command: str) -> None:
        *given, command = re.split(r"(?<=\S) (?=weft )", command, maxsplit=1)
        words = command.replace(HOME, str(self._place / machine)).split()[1:]
        words = [self._web.url(0) if word == "https://example.com/" else word for word in words]
        words = ["any" if word == "domains" else word for word in words]
        if words[0] == "run":
            self._start(machine, words)
            return
        variables = dict(self._here(each).split("=", 1) for each in given)
        done = weft(*words, cwd=self._place, **variables)
        assert done.returncode == 0, f"{machine}: {command}\n{done.stdout}{done.stderr}{self.logs()}"
        self.printed[f"{machine}: {words[0]}"] = done.stdout

    def _start(self, machine: str, words: list[str]) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        name = f"{machine}.{words[1]}"
        with (self._place / f"{name}.said").open("ab") as output:
            self.roles[name] = subprocess.Popen(
                [sys.executable, "-m", "weft", *words], env=clean, stdout=output, stderr=output
            )

    def _here(self, text: str) -> str:
        text = text.replace(DATABASE, f"postgresql://weft:correct-horse@/weft?host={self._directory}")
        for number, address in enumerate(self._addresses, 1):
            text = text.replace(f"10.0.0.{number}", address)
        for port, here in self._ports.items():
            text = text.replace(port, here)
        return text

    def wait_for_the_end(self, index_home: Path) -> None:
        mgmt = PostgresMgmt(self._here(DATABASE), MgmtSettings())
        end, until = EndOfCrawl(mgmt, index_home), time.monotonic() + self._patience
        while not end.is_reached():
            assert time.monotonic() < until, f"{mgmt.counts()} {mgmt.nodes()}\n{self.logs()}"
            time.sleep(0.1)
        mgmt.close()

    def wait_until_said(self, name: str, words: str) -> None:
        """By one of the roles, since it was first started."""
        until = time.monotonic() + self._patience
        while words not in (self._place / f"{name}.said").read_text():
            assert time.monotonic() < until, f"{name} never said {words}\n{self.logs()}"
            time.sleep(0.1)

    def end(self) -> None:
        for process in self.roles.values():
            process.kill()
            process.wait()

    def logs(self) -> str:
        return "\n".join(f"--- {file.name}\n{file.read_text()[-2000:]}" for file in self._place.glob("*.said"))


def settings_of(web: Served) -> dict[str, object]:
    """What lets weft crawl this web."""
    sections = tomllib.loads(web.settings_text())
    return {f"{section}.{key}": value for section, keys in sections.items() for key, value in keys.items()}
