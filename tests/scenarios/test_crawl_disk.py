"""A disk that fills up while a crawl runs: fetching waits, answers go on, and it goes on when there is room."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from support.weft_command import weft
from support.whole_crawl import HURRY, served_for, told
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES

LEAST = 64 << 20
PATIENCE = 60.0
PLAN = WebPlan(seed=5, hosts=4, pages=5, profile=PROFILES["plain"])


def until(what: Callable[[], bool], running: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + PATIENCE
    while not what() and running.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    return what()


def test_a_crawl_waits_for_room_on_its_disk(make_disk: Callable[[str], Path]) -> None:
    place = make_disk("160m")
    with served_for(place, PLAN) as served:
        sets = [f"urlserver.{text}" for text in HURRY] + [f"spider.min_free={LEAST}"]
        arguments = [part for text in sets for part in ("--set", text)]
        filler = place / "filler"
        filler.write_bytes(b"\1" * (110 << 20))
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        command = ["crawl", served.url(0), "--scope", "any", "--home", str(place / "home"), *arguments]
        with (place / "crawl.out").open("wb") as output:
            running = subprocess.Popen(
                [sys.executable, "-m", "weft", *command], env=clean, stdout=output, stderr=output
            )
        said = (place / "crawl.out").read_text
        spider_log = place / "home/logs/spider.log"
        try:
            assert until(lambda: "the disk is almost full" in said(), running), said()
            assert until(
                lambda: spider_log.exists() and "fewer than spider.min_free" in spider_log.read_text(), running
            )
            assert until(lambda: told(place, "status")["links"].get("crawling", 0) > 0, running), said()
            assert served.count() == 0
            status = weft("status", "--home", "home", f"--set=spider.min_free={LEAST}", cwd=place).stdout
            assert "fetching waits until there are 67.1 MB" in status
            assert told(place, "top")["total"] == 0
            filler.unlink()
            assert until(lambda: "Crawl finished: " in said(), running), said()
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(PATIENCE)
        assert "fetching resumes" in said()
        assert told(place, "status")["links"]["crawled"] >= 20
        assert told(place, "verify", "--archive")["differences"] == 0


class Heavy(BaseHTTPRequestHandler):
    """Pages that cannot be compressed, without end."""

    def do_GET(self) -> None:
        page = int(self.path[1:] or 0) if self.path != "/robots.txt" else -1
        links = "".join(f'<a href="/{10 * page + n}">' for n in range(1, 11))
        body = links.encode() + b"<!--" + os.urandom(300_000).hex().encode() + b"-->" if page >= 0 else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.long
def test_a_crawl_ends_in_time_though_its_disk_is_really_full(make_disk: Callable[[str], Path]) -> None:
    place, seconds = make_disk("40m"), 14
    with ThreadingHTTPServer(("127.0.0.1", 0), Heavy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        sets = [f"urlserver.{text}" for text in HURRY] + ["spider.min_free=0", 'urlserver.allow_net=["127.0.0.0/8"]']
        sets += [f"urlserver.allow_ports=[{port}]"]
        arguments = [part for text in sets for part in ("--set", text)]
        began = time.monotonic()
        done = weft(
            "crawl", f"http://127.0.0.1:{port}/", f"--seconds={seconds}", "--home", "home", *arguments, cwd=place
        )
        took = time.monotonic() - began
        server.shutdown()
    assert "Crawl stopped after 14 s (--seconds)" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1
    assert "the disk is full" in done.stderr
    assert "The disk was full, so pages are missing: " in done.stdout
    assert not re.search("Traceback", done.stdout + done.stderr)
    assert took < seconds + 30, "a bound that no machine needs, and that the crawl exceeded by far"
