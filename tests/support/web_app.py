"""The web app over a small real home, on a real socket, in this process; and clients that may say anything."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvloop

from support.weft_command import weft
from weft.actions.web_tokens import create_token
from weft.cli.invocation import Invocation
from weft.cli.run_web import web_node, web_resources
from weft.config import load
from weft.home import Home
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import NodeType
from weft.model.site import Site
from weft.roles.stop import StopRequest
from weft.web.limits import WebLimits
from weft.web.node import Waits
from weft.web.resources import WebResources
from weft.web.serving import serve

PATIENCE = 30
HUB = "https://hub.example/"
FORMULA = '=cmd|"/c calc"!A1'
SCRIPT = "</title><script>alert(1)</script>"
TITLES = (SCRIPT, FORMULA, "\u202eevil\u2066", "Größe “für” 日本, \U0001f600", 'quotes "and", commas', "a\x1b[31mb\x07")
PAGES = 40


def pages(version: int) -> Iterator[dict[str, Any]]:
    """A few domains whose pages link to each other and to a hub; the second version adds, changes and removes."""
    at = f"2026-01-0{version}T00:00:00Z"
    for number in range(PAGES):
        url = f"https://s{number % 8}.example/{number}"
        if version == 2 and number == 9:
            yield {"url": url, "deleted": True, "fetched": at}
            continue
        words = TITLES[number % len(TITLES)]
        near = f"https://s{(number + version) % 8}.example/{(number + version) % PAGES}"
        links = [{"url": HUB, "text": words}, {"url": near, "text": f"to {number} <b>"}]
        links += [{"url": f"https://x{other}.example/", "text": "x"} for other in range(number % 5)]
        text = f"weft weaves word{number} and fox{number % 3} into cloth. " * 3
        yield {"url": url, "fetched": at, "title": f"{words} {number} v{version}", "text": text, "links": links}
    links = [{"url": f"https://s{n % 8}.example/{n}"} for n in range(PAGES)]
    yield {"url": HUB, "fetched": at, "title": "The hub", "text": "all threads meet here", "links": links}


def make_home(place: Path) -> Path:
    """A home with pages, history, a search index, a site and a process that is (or seems to be) running."""
    home = place / "home"
    for version in (1, 2):
        file = place / f"v{version}.jsonl"
        file.write_text("".join(json.dumps(page) + "\n" for page in pages(version)))
        done = weft("import", str(file), "--home", str(home), "--incremental", cwd=place)
        assert done.returncode == 0, done.stderr
    with closing(open_mgmt(load(home, {}, []).settings, Home(home))) as mgmt:
        mgmt.set_sites([Site(name="hub.example")])
        mgmt.register(NodeType.CRAWLER, "127.0.0.1:9")  # where nobody answers
    return home


def copy_home(home: Path, place: Path) -> Path:
    return Path(shutil.copytree(home, place / "home"))


def new_token(home: Path) -> str:
    with closing(open_mgmt(load(home, {}, []).settings, Home(home))) as mgmt:
        return create_token(mgmt, "test", 1).text


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    all_headers: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]

    @property
    def sentence(self) -> str:
        """Of a problem: RFC 9457, and no trace of code."""
        assert self.kind == "application/problem+json", (self.status, self.kind, self.body[:300])
        told = self.json
        assert told["status"] == self.status
        assert "Traceback" not in self.text
        assert told["detail"]
        return str(told["detail"])


@dataclass
class RunningApp:
    home: Path
    port: int
    web: WebResources
    loop: asyncio.AbstractEventLoop

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        path: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        **params: object,
    ) -> Answer:
        """One request on a connection of its own; nothing is followed."""
        target = f"{path}?{urlencode(params)}" if params else path
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            connection.request(method, target, body, dict(headers or {}))
            return received(connection)

    def change(self, path: str, fields: object, **headers: str) -> Answer:
        """JSON, as a program sends it."""
        sent = {"Content-Type": "application/json", **{name.replace("_", "-"): v for name, v in headers.items()}}
        return self.ask(path, "POST", json.dumps(fields), sent)

    def post_form(self, path: str, fields: Mapping[str, str], **headers: str) -> Answer:
        sent = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.origin}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask(path, "POST", urlencode(fields), {name: value for name, value in sent.items() if value})

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as raw:
            yield raw

    def say(self, data: bytes) -> bytes:
        """Send these bytes, then nothing more; everything that comes until the app closes the connection."""
        with self.connected() as raw:
            raw.sendall(data)
            return until_closed(raw)


def until_closed(raw: socket.socket) -> bytes:
    received = b""
    try:
        while piece := raw.recv(1 << 16):
            received += piece
    except ConnectionResetError:
        pass
    return received


def received(connection: HTTPConnection) -> Answer:
    answer = connection.getresponse()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(answer.status, headers, answer.read(), answer.getheaders())


class _NamedElsewhere(socket.socket):
    """A socket on loopback that says it is on an address others can reach."""

    said: str

    def getsockname(self) -> Any:
        return self.said, super().getsockname()[1]


@contextmanager
def running_app(
    home: Path,
    *sets: str,
    limits: WebLimits | None = None,
    listens_at: str = "127.0.0.1",
    rate: float = 1_000_000,
    is_node: bool = False,
) -> Iterator[RunningApp]:
    """As `weft run web` does it. `listens_at`: what the app takes its address to be. Only with `is_node` the control
    plane knows of it, because that changes the home."""
    chosen = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("WEFT_")}
    web = web_resources(Invocation(home, [f"web.rate={rate}", *sets]))
    os.environ.update(chosen)
    with _NamedElsewhere(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.said = listens_at
        listener.bind(("127.0.0.1", 0))
        listener.listen(256)
        made: list[tuple[asyncio.AbstractEventLoop, StopRequest]] = []
        is_ready = threading.Event()

        async def run() -> None:
            stop = StopRequest()
            made.append((asyncio.get_running_loop(), stop))
            node = web_node(web, f"127.0.0.1:{listener.getsockname()[1]}", Waits(0.05, 0.2, 0.05)) if is_node else None
            await serve(web, listener, stop, is_ready.set, limits or WebLimits(), node)

        thread = threading.Thread(target=lambda: uvloop.run(run()), daemon=True)
        thread.start()
        try:
            assert is_ready.wait(PATIENCE)
            yield RunningApp(home, listener.getsockname()[1], web, made[0][0])
        finally:
            loop, stop = made[0]
            loop.call_soon_threadsafe(stop.ask, "the test is over")
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the app did not stop"
            web.close()
