"""`weft crawl` over a synthetic web: in the end the index says what the web is, whatever was killed meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commands import one_sentence, weft
from weft.config.index_sections import UrlSettings
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.judge.judge import judge
from weft.demo.web.judge.limits import Limits
from weft.demo.web.server.serving import Served, serving
from weft.demo.web.truth import Truth
from weft.model.url import UrlRules
from weft.store.rocksdb import RocksReader
from weft.store.tables import Table

RULES = UrlRules(UrlSettings().strip)
HURRY = ("req_host_per_sec=50.0", "req_ip_per_sec=1000.0", "req_ip_concurrent=100")
SETS = [part for text in HURRY for part in ("--set", f"urlserver.{text}")]
# The truth knows every variant of a URL; that some are left out is tested with the parameters.
SETS += ["--set", "dispatcher.learn_parameters=false"]
LIMITS = Limits(host_per_sec=50.0, ip_per_sec=1000.0, ip_concurrent=100)
FINITE = replace(
    PROFILES["finite"], crawl_delays=0.0, sitemaps=0.0, robots_failing=0.0, robots_reset=0.0, failing=0.0, secure=0.0
)
PLAN = WebPlan(seed=7, hosts=12, pages=8, addresses=4, profile=FINITE)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(PLAN, tmp_path / "web.log") as running:
        home = tmp_path / "home"
        home.mkdir()
        (home / "weft.toml").write_text(running.settings_text())
        yield running


def crawl(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = weft("crawl", *arguments, "--home", "home", *SETS, cwd=place)
    assert done.returncode == 0, done.stderr + logs(place)
    return done


def logs(place: Path) -> str:
    return "\n".join(file.read_text(errors="replace")[-2000:] for file in sorted((place / "home/logs").glob("*")))


def told(place: Path, *arguments: str) -> dict:
    done = weft(*arguments, "--json", "--home", "home", cwd=place)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def check_against_the_truth(served: Served, place: Path) -> None:
    """Every uri with its references, every page with its outlinks and words."""
    truth = Truth(served.world, RULES)
    pages = list(truth.walk([served.url(0)]))
    expected = {uri.uri: (uri.references, uri.is_loaded) for uri in truth.uris()}
    with RocksReader(place / "home/store") as reader:
        rows = {
            cell.row[2:].decode(): cell for cell in reader.scan_rows(Table.QUERY, b"p:") if cell.qualifier == b"incount"
        }
        loaded = {cell.row[2:].decode() for cell in reader.scan_rows(Table.QUERY, b"p:") if cell.qualifier == b"cur"}
        anchors = Counter(
            (cell.row[2:].decode(), cell.qualifier.decode(), cell.value.decode())
            for cell in reader.scan_rows(Table.QUERY, b"p:")
            if cell.family == b"inlinks"
        )
    found = {uri: (int(cell.value), uri in loaded) for uri, cell in rows.items()}
    assert found == expected
    assert anchors == Counter((link.uri, page.uri, link.anchor) for page in pages for link in page.outlinks)


def check_manners(served: Served, place: Path, allowed_refetches: int = 0) -> None:
    served.flush()
    report = judge(place / "web.log", replace(LIMITS, allowed_refetches=allowed_refetches))
    assert not report.violations, report


def test_the_index_is_what_the_web_is(served: Served, tmp_path: Path) -> None:
    done = crawl(tmp_path, served.url(0), "--scope", "any")
    assert "nothing is left that is due" in done.stdout
    check_against_the_truth(served, tmp_path)
    check_manners(served, tmp_path)
    assert told(tmp_path, "verify")["differences"] == 0
    status = told(tmp_path, "status")
    assert status["links"].get("pending", 0) == status["links"].get("crawling", 0) == 0


def test_scope_is_never_left_and_running_again_asks_for_nothing(served: Served, tmp_path: Path) -> None:
    crawl(tmp_path, served.url(0))
    served.flush()
    before = served.count()
    host = served.world.hosts.numbered(0).name
    truth = Truth(served.world, RULES, in_scope=lambda name: name == host)
    pages = list(truth.walk([served.url(0)]))
    assert told(tmp_path, "status")["links"]["crawled"] == len([page for page in pages if page.fate.value != "closed"])
    crawl(tmp_path)
    assert served.count() == before


def role_processes(place: Path) -> dict[str, int]:
    """The roles of the crawl in `place`, by the command lines of all processes."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if str(place) in "".join(words) and "run" in words:
            found[words[words.index("run") + 1]] = int(entry.name)
    return found


def kill_during_crawl(served: Served, place: Path, kills: int, dice: random.Random) -> None:
    command = [
        sys.executable,
        "-m",
        "weft",
        "crawl",
        served.url(0),
        "--scope",
        "any",
        "--home",
        str(place / "home"),
        *SETS,
    ]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    with (place / "crawl.out").open("wb") as output:
        running = subprocess.Popen(command, cwd=place, env=clean, stdout=output, stderr=output)
    try:
        for _ in range(kills):
            time.sleep(dice.uniform(0.3, 1.5))
            roles = role_processes(place)
            if running.poll() is not None or not roles:
                break
            name = dice.choice(sorted(roles))
            os.kill(roles[name], signal.SIGKILL)
        running.wait(110)
    finally:
        for pid in role_processes(place).values():
            os.kill(pid, signal.SIGKILL)
        running.kill()
        running.wait()


def survive(served: Served, place: Path, kills: int, seed: int) -> None:
    kill_during_crawl(served, place, kills, random.Random(seed))
    crawl(place, "--scope", "any")
    check_against_the_truth(served, place)
    # Each kill may cost a second request of what was in flight: at most one page of each host.
    check_manners(served, place, allowed_refetches=kills * PLAN.hosts)
    assert told(place, "verify")["differences"] == 0


def test_roles_killed_at_random_lose_nothing_and_stay_polite(served: Served, tmp_path: Path) -> None:
    survive(served, tmp_path, kills=6, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_a_hundred_kills_lose_nothing(served: Served, tmp_path: Path, seed: int) -> None:
    survive(served, tmp_path, kills=10, seed=seed)


def test_pages_that_change_vanish_and_come_back_are_followed(tmp_path: Path) -> None:
    plan = WebPlan(seed=3, hosts=2, pages=4, profile=PROFILES["plain"])
    with serving(plan, tmp_path / "web.log") as served:
        (tmp_path / "home").mkdir()
        (tmp_path / "home/weft.toml").write_text(served.settings_text())
        crawl(tmp_path, served.url(0), "--scope", "any")
        page = served.url(0, 1)
        assert told(tmp_path, "page", page)["state"] == "crawled"
        served.vanish(page)
        crawl(tmp_path, "--again", "0")
        assert told(tmp_path, "page", page)["state"] == "gone"
        served.bring_back(page)
        crawl(tmp_path, "--again", "0")
        assert told(tmp_path, "page", page)["state"] == "crawled"
        assert told(tmp_path, "verify")["differences"] == 0


def test_seeds_that_cannot_be_crawled_are_told(tmp_path: Path) -> None:
    refused = weft("crawl", "ftp://a.com/", "--home", "home", cwd=tmp_path)
    assert refused.returncode == 2
    assert "none of the URLs can be crawled" in refused.stderr
    nothing = weft("crawl", "--home", "other", cwd=tmp_path)
    assert nothing.returncode == 2
    assert "nothing to crawl" in nothing.stderr
    done = weft("crawl", "http://nowhere.invalid/", "http://10.0.0.1/", "--home", "home", cwd=tmp_path)
    assert "seed http://nowhere.invalid/: " in done.stdout
    assert "seed http://10.0.0.1/: " in done.stdout


def test_a_home_in_use_is_refused(served: Served, tmp_path: Path) -> None:
    from weft.store.rocksdb import RocksStore

    weft("init", "--home", "home", cwd=tmp_path)
    with RocksStore(tmp_path / "home/store"):
        refused = weft("crawl", served.url(0), "--home", "home", cwd=tmp_path)
    assert refused.returncode == 2
    assert "is writing to it" in one_sentence(refused)
