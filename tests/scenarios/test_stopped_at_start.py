"""An index process that is asked to stop while it starts: what it builds on its way out has the scope of the sites."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from support.crawled_home import fill_home, index_process
from support.weft_command import weft
from weft.config import Settings
from weft.home import Home
from weft.mgmt.open import open_mgmt
from weft.model.site import Site

LINKS = 20
HUB = "".join(f"<a href=/{number}>page</a>" for number in range(LINKS)).encode()
PATIENCE = 60.0


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was crawled before, so that its sites are no news, and in which a page with links waits."""
    home = tmp_path_factory.mktemp("stopped") / "home"
    fill_home(home, [("https://a.com/", b"<title>Home</title><a href=/hub>hub</a>")])
    with closing(open_mgmt(Settings(), Home(home))) as mgmt:
        mgmt.set_sites([Site(name="a.com")])
    with index_process(home) as index:
        index.until_built(1, PATIENCE)
    fill_home(home, [("https://a.com/hub", HUB)])
    return home


def stop_at(home: Path, point: str) -> int:
    """Start an index process, hold it at this point, ask it to stop, and let it go on; returns its exit code."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    command = [sys.executable, "-m", "weft", "run", "index", "--home", str(home)]
    process = subprocess.Popen(command, env={**clean, "WEFT_FAIL": f"{point}:stop"}, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert process.poll() is None
            assert time.monotonic() < until, f"it never came to {point}"
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        return process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("commit", [3, 4])
def test_no_link_is_lost_when_it_is_stopped_while_it_registers(crawled: Path, tmp_path: Path, commit: int) -> None:
    home = tmp_path / "home"
    shutil.copytree(crawled, home)
    assert stop_at(home, f"mgmt.commit.before:{commit}") == 0
    told = json.loads(weft("verify", "--archive", "--json", "--home", str(home), cwd=tmp_path).stdout)
    assert (told["differences"], told["archive"]["lost_links"]) == (0, 0), told["examples"]
    assert told["archive"]["links"] == LINKS + 1, "the page was built on the way out"
    with index_process(home), closing(open_mgmt(Settings(), Home(home))) as mgmt:
        until = time.monotonic() + PATIENCE
        while mgmt.counts().links["pending"] < LINKS:
            assert time.monotonic() < until, f"the links of the page are not handed out: {mgmt.counts()}"
            time.sleep(0.05)
