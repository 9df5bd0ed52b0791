"""What `weft sites` says decides what is crawled next, also of what was found before, and kills change nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.weft_command import weft
from weft.clock import SystemClock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.dispatcher import Dispatcher
from weft.dispatcher.link_records import LINK, LinkPhase, decode_record
from weft.dispatcher.scope import Scope
from weft.mgmt.sqlite import SqliteMgmt
from weft.roles.status_file import read_status
from weft.store.rocksdb import RocksReader, RocksStore
from weft.store.tables import Table

OWN = [f"https://a.com/{n}" for n in range(6)]
WIDE = ["https://www.a.com/0", "https://www.a.com/1"]
FOREIGN = ["https://b.org/0", "https://c.net/0"]
SETTINGS = DispatcherSettings()


def said(place: Path, *arguments: str, code: int = 0) -> str:
    done = weft(*arguments, "--home", "home", cwd=place)
    assert done.returncode == code, done.stderr
    return done.stdout


def import_page(place: Path, url: str, links: list[str]) -> None:
    page = {"url": url, "links": [{"url": link, "text": "x"} for link in links]}
    (place / "pages.jsonl").write_text(json.dumps(page) + "\n")
    said(place, "import", "pages.jsonl")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that names links of its host, its domain and others; its host is a site."""
    place = tmp_path_factory.mktemp("begun")
    import_page(place, "https://a.com/", [*OWN, *WIDE, *FOREIGN])
    said(place, "add", "https://a.com/")
    return place


@pytest.fixture
def home(begun: Path, tmp_path: Path) -> Path:
    shutil.copytree(begun, tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path


def dispatched(place: Path, settings: DispatcherSettings = SETTINGS, room: int = 1000, steps: int = 100) -> list[str]:
    """Let the dispatcher work until it rests; the URLs that it handed over, in order."""
    home, clock = place / "home", SystemClock()
    mgmt = SqliteMgmt(home / "mgmt.db")
    before = given(place)
    with RocksStore(home / "store") as store:
        dispatcher, scope = Dispatcher(store, mgmt, settings, clock), Scope(mgmt.sites(), settings)
        for _ in range(steps):
            step = dispatcher.step(scope, room)
            if not (step.given or step.hidden or step.looked_at):
                break
    mgmt.close()
    return sorted(given(place) - before)


def given(place: Path) -> set[str]:
    with RocksReader(place / "home/store") as reader:
        cells = [cell for cell in reader.scan_rows(Table.LINKS, b"l:") if cell.family == LINK]
    return {record.url for record in (decode_record(cell.value) for cell in cells) if record.phase is LinkPhase.GIVEN}


def why(place: Path, url: str, code: int = 0) -> str:
    return said(place, "why", url, code=code)


def test_excluded_and_included_again(home: Path) -> None:
    said(home, "sites", "a.com", "--exclude")
    assert dispatched(home) == []
    assert "not crawled: excluded: site a.com" in why(home, OWN[0])
    said(home, "sites", "a.com", "--no-exclude")
    assert dispatched(home) == OWN


def test_patterns(home: Path) -> None:
    said(home, "sites", "a.com", "--setting", 'exclude=["/[0-3]"]', "--setting", 'include=["/[0-4]"]')
    assert dispatched(home) == [OWN[4]]
    assert "excluded by '/[0-3]'" in why(home, OWN[0])
    assert "included by none of the site's patterns" in why(home, OWN[5])
    said(home, "sites", "a.com", "--setting", "exclude=", "--setting", 'include=["/[0-4]"]')
    assert dispatched(home) == OWN[:4]
    said(home, "sites", "a.com", "--setting", "include=")
    assert dispatched(home) == [OWN[5]]


def test_depth(home: Path) -> None:
    said(home, "sites", "a.com", "--setting", "depth=0")
    assert dispatched(home) == []
    assert "depth: 1 hops, over 0" in why(home, OWN[0])
    said(home, "sites", "a.com", "--setting", "depth=1")
    assert dispatched(home) == OWN


def test_budget(home: Path) -> None:
    said(home, "sites", "a.com", "--setting", "budget=2")
    assert len(dispatched(home)) == 2
    said(home, "sites", "a.com", "--setting", "budget=5")
    assert len(dispatched(home)) == 3
    said(home, "sites", "a.com", "--setting", "budget=")
    assert len(dispatched(home)) == 1


def test_priority(home: Path) -> None:
    said(home, "sites", "*", "--scope", "any")
    said(home, "sites", "b.org", "--new", "--setting", "priority=9")
    said(home, "sites", "c.net", "--new", "--setting", "priority=-1")
    settings = DispatcherSettings(segment_size=1000)
    dispatched(home, settings, room=0, steps=20)
    assert dispatched(home, settings, room=1, steps=1) == ["https://c.net/0"]
    assert dispatched(home, settings, room=1, steps=1) == [*OWN, *WIDE]
    assert dispatched(home, settings, room=1, steps=1) == ["https://b.org/0"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["a.com", "--scope", "domains"], [*OWN, *WIDE]),
        (["www.a.com", "--new", "--scope", "hosts"], [*OWN, *WIDE]),
        (["*", "--scope", "any"], [*OWN, *FOREIGN, *WIDE]),
        (["b.org"], [*OWN, FOREIGN[0]]),
    ],
)
def test_a_wider_scope(home: Path, arguments: list[str], expected: list[str]) -> None:
    assert dispatched(home) == OWN
    assert "out of scope" in why(home, WIDE[0], code=1)
    if len(arguments) == 1:
        said(home, "add", f"https://{arguments[0]}/")
    else:
        said(home, "sites", *arguments)
    dispatched(home)
    assert sorted(given(home)) == sorted(expected)


def test_a_narrower_scope(home: Path) -> None:
    said(home, "sites", "a.com", "--scope", "domains")
    # They become known in the first steps, but there is no room to hand them over.
    dispatched(home, room=0, steps=10)
    said(home, "sites", "a.com", "--scope", "hosts")
    assert dispatched(home) == OWN
    assert "out of scope" in why(home, WIDE[0])


def test_so_many_domains(home: Path) -> None:
    said(home, "sites", "*", "--scope", "any")
    # The first one is a.com's own: only its host is a site.
    assert dispatched(home, DispatcherSettings(max_domains=1)) == [*OWN, *WIDE]
    told = weft("why", FOREIGN[0], "--home", "home", "--set", "dispatcher.max_domains=1", cwd=home)
    assert "not crawled: domains of any scope: 1 were entered" in told.stdout, told.stdout + told.stderr


SEGMENT = ["--set", "dispatcher.segment_size=100000"]


def run_index(place: Path, **environment: str) -> subprocess.Popen[bytes]:
    with (place / "index.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "weft", "run", "index", "--workers", "1", "--home", "home", *SEGMENT],
            cwd=place,
            env={**os.environ, **environment},
            stdout=log,
            stderr=log,
        )


def test_a_look_that_is_killed_goes_on_and_hands_over_nothing_twice(tmp_path: Path) -> None:
    links = [f"https://a.com/{n}" for n in range(7000)]
    import_page(tmp_path, "https://b.com/", links)
    said(tmp_path, "add", "https://a.com/start")
    for number in range(1, 5):
        point = "dispatcher.handed_over" if number % 2 else "dispatcher.written"
        process = run_index(tmp_path, WEFT_FAIL=f"{point}:{2 if number % 2 else 1}:kill")
        try:
            assert process.wait(60) == -signal.SIGKILL, (tmp_path / "index.log").read_text()
        finally:
            process.kill()
    process = run_index(tmp_path)
    try:
        _wait_until_idle(tmp_path)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert sorted(given(tmp_path)) == sorted(links)
    mgmt = SqliteMgmt(tmp_path / "home/mgmt.db")
    assert mgmt.counts().links["pending"] == len(links) + 1
    mgmt.close()


def _wait_until_idle(place: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        told = read_status(place / "home", "index")
        if told and told["idle"] and told["outstanding"] >= 7000:
            return
        time.sleep(0.1)
    raise AssertionError((place / "index.log").read_text() + str(read_status(place / "home", "index")))
