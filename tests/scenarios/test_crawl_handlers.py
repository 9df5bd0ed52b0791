"""The example of a page handler, installed as its reader would and told of every page of a crawl."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.weft_command import weft
from support.whole_crawl import SETS, served_for
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES

EXAMPLE = Path(__file__).parents[2] / "examples" / "page-log"
PLAN = WebPlan(seed=4, hosts=1, pages=4, profile=PROFILES["plain"])
RAISING = "def handle(page):\n    raise RuntimeError('a handler that fails')\n"
POINTS = "[weft.handlers]\nraising = raising:handle\n"


def install_example(site: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "-q"]
    done = subprocess.run([*command, "--target", str(site), str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def install_a_failing_one(site: Path) -> None:
    (site / "raising.py").write_text(RAISING)
    about = site / "raising-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: raising\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)


def test_the_example_is_told_of_every_page_and_one_that_fails_stops_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_example(site)
    install_a_failing_one(site)
    pages = tmp_path / "pages.log"
    with served_for(tmp_path, PLAN) as served:
        arguments = ("crawl", served.url(0), "--home", "home", *SETS)
        done = weft(*arguments, cwd=tmp_path, PYTHONPATH=str(site), PAGE_LOG=str(pages))
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in pages.read_text().splitlines()]
    assert len({line["url"] for line in told}) == len(told) > 1
    assert f"{len(told)} pages in" in done.stdout
    log = (tmp_path / "home/logs/index.log").read_text()
    assert log.count("page handler failed name=raising") == len(told)
