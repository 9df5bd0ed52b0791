"""Which framework and server should the web app use? Start-up and requests a second of each pair, in one run.

    python benchmarks/web_frameworks.py

The candidates are no dependencies of weft: they are installed into a directory of their own. Needs wrk.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

PACKAGES: Final = ("starlette", "uvicorn", "httptools", "uvloop", "litestar", "granian", "msgspec", "jinja2")
SECONDS: Final = 5

VALUES: Final = """
import msgspec
class Item(msgspec.Struct, frozen=True):
    uri: str
    url: str
    references: int
    score: int
    crawled: bool
class Listing(msgspec.Struct, frozen=True):
    seq: int
    count: int
    items: list[Item]
ANSWER = Listing(1, 20, [Item(f"com.a/{n}", f"https://a.com/{n}", n, n, True) for n in range(20)])
"""
STARLETTE: Final = f"""{VALUES}
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
def top(request):
    return Response(msgspec.json.encode(ANSWER), media_type="application/json")
async def atop(request):
    return Response(msgspec.json.encode(ANSWER), media_type="application/json")
app = Starlette(routes=[Route("/sync", top), Route("/async", atop)])
"""
LITESTAR: Final = f"""{VALUES}
from litestar import Litestar, get
@get("/sync", sync_to_thread=True)
def top() -> Listing:
    return ANSWER
@get("/async")
async def atop() -> Listing:
    return ANSWER
app = Litestar([top, atop])
"""
SERVERS: Final = {
    "uvicorn": ["-m", "uvicorn", "--no-access-log", "--log-level", "error", "--port"],
    "granian": ["-m", "granian", "--interface", "asgi", "--no-log", "--port"],
}


def main() -> None:
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing (Debian: apt install wrk)")
    with tempfile.TemporaryDirectory() as place:
        python = _install(Path(place))
        print("framework  server   start s  own thread/s  in the loop/s  MB")
        for framework, source in (("starlette", STARLETTE), ("litestar", LITESTAR)):
            (Path(place) / f"{framework}_app.py").write_text(source)
            for server, arguments in SERVERS.items():
                print(f"{framework:10} {server:8}", *_measured(python, Path(place), f"{framework}_app:app", arguments))


def _install(place: Path) -> str:
    python = str(place / "venv" / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    subprocess.run([sys.executable, "-m", "uv", "pip", "install", "-q", "--python", python, *PACKAGES], check=True)
    return python


def _measured(python: str, place: Path, app: str, server: list[str]) -> list[str]:
    starts = []
    for _ in range(3):
        process, port, seconds = _start(python, place, app, server)
        starts.append(seconds)
        process.terminate()
        process.wait()
    process, port, _ = _start(python, place, app, server)
    try:
        rates = [_requests_a_second(port, path) for path in ("/sync", "/async")]
        memory = subprocess.check_output(["ps", "-o", "rss=", "--ppid", str(process.pid), "-p", str(process.pid)])
    finally:
        process.terminate()
        process.wait()
    return [
        f"{min(starts):7.2f}",
        f"{rates[0]:13,.0f}",
        f"{rates[1]:14,.0f}",
        f"{sum(map(int, memory.split())) / 1024:4.0f}",
    ]


def _start(python: str, place: Path, app: str, server: list[str]) -> tuple[subprocess.Popen[bytes], int, float]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    began = time.monotonic()
    process = subprocess.Popen([python, *server, str(port), app], cwd=place)
    while time.monotonic() - began < 30:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return process, port, time.monotonic() - began
        except OSError:
            time.sleep(0.01)
    process.kill()
    sys.exit(f"{app} did not start")


def _requests_a_second(port: int, path: str) -> float:
    command = ["wrk", "-t1", "-c16", f"-d{SECONDS}s", f"http://127.0.0.1:{port}{path}"]
    printed = subprocess.check_output(command, text=True)
    found = re.search(r"Requests/sec:\s+([\d.]+)", printed)
    return float(found[1]) if found else 0.0


if __name__ == "__main__":
    main()
