"""The recipe of docs/tls.md makes certificates that nodes accept; what the page says of the log is what is logged."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import tomllib
from http.client import HTTPSConnection
from pathlib import Path

import pytest
import uvloop

from support.running_spider import SOON, fast_settings, running_spider
from weft.config import KEYS, Settings
from weft.roles.tls import client_context
from weft.urlserver.in_flight import SpiderId
from weft.urlserver.spider_connection import SpiderLine
from weft.wire import TransId

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "tls.md").read_text(encoding="utf-8")
MACHINES = {"spider1": "127.0.0.2", "spider2": "127.0.0.3"}


def commands() -> str:
    """Those of the page, for machines that are all this one."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)).replace("10.0.0.", "127.0.0.")


def settings_of(place: Path, machine: str) -> Settings:
    files = {"certificate": f"{machine}.pem", "key": f"{machine}.key", "ca": "ca.pem"}
    paths = {f"tls__{name}": str(place / file) for name, file in files.items()}
    return fast_settings(spider__listen=MACHINES.get(machine, "127.0.0.1"), spider__token="s3cret", **paths)


class Silent:
    def __init__(self) -> None:
        self.is_connected = asyncio.Event()

    def connected(self, spider: SpiderId) -> None:
        self.is_connected.set()

    def disconnected(self, spider: SpiderId, *, has_replied: bool) -> None: ...

    def replied(self, spider: SpiderId, done: list[TransId], working: list[TransId]) -> None: ...


async def dial(address: tuple[str, int], settings: Settings) -> None:
    """As a URL server does."""
    heard = Silent()
    line = SpiderLine(SpiderId(0), address, settings.spider.token, heard, client_context(settings))
    keeping = asyncio.create_task(line.keep())
    async with asyncio.timeout(SOON):
        await heard.is_connected.wait()
    keeping.cancel()


def ask_for_record(address: tuple[str, int], settings: Settings) -> int:
    connection = HTTPSConnection(*address, context=client_context(settings), timeout=SOON)
    target, token = "/records?file=a.warc.gz&offset=0&length=1", settings.spider.token
    connection.request("GET", target, headers={"Authorization": f"Bearer {token}"})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_nodes_accept_the_certificates_of_the_recipe(tmp_path: Path) -> None:
    done = subprocess.run(["sh", "-e"], input=commands(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.glob("*.key"))
    dialler = settings_of(tmp_path, "index")

    async def story() -> None:
        for machine, host in MACHINES.items():
            async with running_spider(tmp_path / machine, settings_of(tmp_path, machine)) as running:
                await dial((host, running.port), dialler)
                assert await asyncio.to_thread(ask_for_record, (host, running.port), dialler) == 404, "it was read"

    uvloop.run(story())


def test_the_example_sets_what_there_is() -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    document = tomllib.loads(text)
    assert {f"{section}.{name}" for section, keys in document.items() for name in keys} <= set(KEYS)


def test_every_message_of_the_page_is_in_the_code() -> None:
    messages = re.findall(r"^\| `(.*?)` \|", PAGE, re.MULTILINE)
    assert len(messages) >= 7
    code = "".join(file.read_text() for file in (PROJECT / "src/weft").rglob("*.py"))
    for message in messages:
        assert message.replace("10.0.0.2", "{host}") in re.sub(r'"\s*f?"', "", code), message
