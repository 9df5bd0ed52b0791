"""A crawl whose terminal is closed or whose supervisor is killed ends, and the next one takes over."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.weft_command import one_sentence, weft
from support.whole_crawl import (
    SETS,
    check_against_the_truth,
    check_manners,
    crawl,
    logs,
    role_processes,
    served_for,
)
from weft.demo.web.server.serving import Served
from weft.roles.status_file import last_status

PATIENCE = 120.0
SLOW = ["--set", "urlserver.req_host_per_sec=2.0"]


@dataclass
class Terminal:
    """A terminal in which `weft crawl` runs, with nobody but us in front of it."""

    master: int
    process: subprocess.Popen[bytes]
    shown: bytes = b""

    def read(self) -> None:
        """What is not read would block the crawl."""
        with suppress(OSError):  # nobody has the other end open any more
            while select.select([self.master], [], [], 0)[0]:
                self.shown += os.read(self.master, 65536)

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited in vain for {what}: {self.shown[-2000:]!r}"
            assert self.process.poll() is None, self.shown[-2000:]
            self.read()
            time.sleep(0.05)


@contextmanager
def crawling_in_a_terminal(place: Path, served: Served) -> Iterator[Terminal]:
    """Yields when pages are indexed and requests are being made."""
    master, slave = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    # The shell makes it the terminal of the crawl: a session leader without one gets the first that it opens.
    words = [sys.executable, "-m", "weft", "crawl", served.url(0), "--scope", "any", "--home", str(place / "home")]
    process = subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(slave), *words, *SETS, *SLOW],
        env={**clean, "TERM": "xterm"},
        start_new_session=True,
    )
    terminal = Terminal(master, process)
    try:
        home = place / "home"
        terminal.wait_until(lambda: (last_status(home, "index") or {}).get("pages"), "pages")
        os.close(slave)
        asked = served.count()
        terminal.wait_until(lambda: served.count() > asked + 5, "requests")
        yield terminal
    finally:
        process.kill()
        for pid in role_processes(place).values():
            os.kill(pid, signal.SIGKILL)


def close(terminal: Terminal) -> None:
    os.close(terminal.master)
    terminal.process.wait(PATIENCE)


def kill(terminal: Terminal) -> None:
    terminal.process.kill()
    terminal.process.wait()
    os.close(terminal.master)


@pytest.mark.parametrize("end", [close, kill], ids=["terminal closed", "killed"])
def test_the_next_crawl_takes_over_at_once_from_one_that_is_gone(
    tmp_path: Path, end: Callable[[Terminal], None]
) -> None:
    with served_for(tmp_path) as served:
        with crawling_in_a_terminal(tmp_path, served) as terminal:
            refused = one_sentence(weft("crawl", "--home", "home", cwd=tmp_path))
            assert f"another weft (pid {terminal.process.pid}, `weft crawl`, running for" in refused
            assert "stop it with `weft stop`" in refused
            roles = role_processes(tmp_path)
            assert len(roles) == 5
            end(terminal)
            crawl(tmp_path, "--scope", "any")
            assert not role_processes(tmp_path), logs(tmp_path)
        check_against_the_truth(served, tmp_path)
        check_manners(served, tmp_path)


def test_weft_stop_ends_a_crawl_with_all_its_processes_and_loses_nothing(tmp_path: Path) -> None:
    with served_for(tmp_path) as served:
        with crawling_in_a_terminal(tmp_path, served) as terminal:
            stopping = subprocess.Popen(
                [sys.executable, "-m", "weft", "stop", "--home", str(tmp_path / "home")],
                stdout=subprocess.PIPE,
                text=True,
            )
            while stopping.poll() is None:  # the crawl still writes to its terminal
                terminal.read()
                time.sleep(0.01)
            assert f"Stopped `weft crawl` (pid {terminal.process.pid}, running for" in stopping.communicate()[0]
            assert terminal.process.wait(PATIENCE) == 130
            assert not role_processes(tmp_path), logs(tmp_path)
            os.close(terminal.master)
        assert (last_status(tmp_path / "home", "index") or {})["ended"], "in order, not by force"
        done = weft("stop", "--home", "home", "--json", cwd=tmp_path)
        assert (done.returncode, json.loads(done.stdout)["found"]) == (0, False)
        assert crawl(tmp_path, "--scope", "any").stderr == ""
        check_against_the_truth(served, tmp_path)
        check_manners(served, tmp_path)
