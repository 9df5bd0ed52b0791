"""`weft run spider` as a process of its own, with its home and control plane on disk."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from support.running_spider import SOON, UrlServer
from weft.config import starter
from weft.home import Home
from weft.roles.supervisor_pipe import SupervisorPipe

QUICK = {
    "urlserver.allow_net": '["127.0.0.0/8"]',
    "spider.listen": '"127.0.0.1:0"',
    "spider.sync_every": "0",
    "spider.min_free": "0",
}


@dataclass
class SpiderProcess:
    process: asyncio.subprocess.Process
    port: int
    url_servers: list[UrlServer] = field(default_factory=list)

    async def connect(self) -> UrlServer:
        url_server = UrlServer(*await asyncio.open_connection("127.0.0.1", self.port))
        self.url_servers.append(url_server)
        return url_server

    def signal(self, number: int) -> None:
        # Not through asyncio: that looks whether the process lives, and so takes its exit code from who waits for it.
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    async def ended(self) -> tuple[int, str]:
        """Exit code and all that it said on standard error."""
        async with asyncio.timeout(SOON):
            said = await self.process.stderr.read()
            return await self.process.wait(), said.decode()

    async def stop(self) -> tuple[int, str]:
        """As a user does; by force if it hangs, so that no test leaves a process behind."""
        for url_server in self.url_servers:
            await url_server.close()
        if self.process.returncode is None:
            self.signal(signal.SIGTERM)
        try:
            return await self.ended()
        finally:
            if self.process.returncode is None:
                self.signal(signal.SIGKILL)


def make_home(path: Path) -> Home:
    home = Home(path)
    home.make(starter())
    return home


def command(home: Home, **settings: str) -> list[str]:
    chosen = {**QUICK, **{name.replace("__", "."): value for name, value in settings.items()}}
    flags = [flag for name, value in chosen.items() for flag in ("--set", f"{name}={value}")]
    return [sys.executable, "-m", "weft", "--home", str(home.path), "run", "spider", *flags]


def environment(fail: str = "") -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    return {**clean, "WEFT_FAIL": fail} if fail else clean


async def start_spider(home: Home, fail: str = "", **settings: str) -> SpiderProcess:
    """Start and wait until it listens."""
    return await _start(command(home, **settings), environment(fail), [])


async def start_supervised_spider(home: Home, supervisor: SupervisorPipe, **settings: str) -> SpiderProcess:
    """The same, with us as its supervisor."""
    named = {**environment(), **supervisor.environment}
    return await _start(command(home, **settings), named, supervisor.descriptors)


async def _start(words: list[str], variables: dict[str, str], descriptors: list[int]) -> SpiderProcess:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words, env=variables, pass_fds=descriptors, stdout=pipe, stderr=pipe
    )
    async with asyncio.timeout(SOON):
        line = (await process.stdout.readline()).decode()
    if not line.startswith("spider listens at "):
        raise AssertionError(f"the spider did not start: {line} {(await process.stderr.read()).decode()}")
    return SpiderProcess(process, int(line.rsplit(":", 1)[1]))


async def refused_start(home: Home, fail: str = "", **settings: str) -> tuple[int | None, str]:
    """Exit code and standard error of a spider that cannot start."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command(home, **settings), env=environment(fail), stdout=pipe, stderr=pipe
    )
    try:
        async with asyncio.timeout(SOON):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode, said.decode()
