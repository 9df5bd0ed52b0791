"""What scenarios of `weft crawl` share: a synthetic web, a home that may crawl it, and what must hold in the end."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from support.weft_command import weft
from weft.config import load
from weft.config.sections import UrlSettings
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.judge.judge import judge
from weft.demo.web.judge.limits import Limits
from weft.demo.web.log import world_of
from weft.demo.web.server.serving import Served, serving
from weft.demo.web.truth import Truth
from weft.model.url import UrlRules
from weft.store.open import open_reader
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


@contextmanager
def served_for(place: Path, plan: WebPlan = PLAN) -> Iterator[Served]:
    """A web, its log in `place`, and a home there that knows where it is."""
    with serving(plan, place / "web.log") as running:
        home = place / "home"
        home.mkdir(mode=0o700, exist_ok=True)
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


def check_against_the_truth(served: Served, place: Path, home: str = "home") -> None:
    """Every uri with its references, every page with its outlinks and words, as the web is now."""
    served.flush()
    truth = Truth(world_of(place / "web.log"), RULES)
    pages = list(truth.walk([served.url(0)]))
    expected = {uri.uri: (uri.references, uri.is_loaded) for uri in truth.uris()}
    with open_reader(place / home / "store", load(place / home, {}, []).settings) as reader:
        cells = list(reader.scan_rows(Table.QUERY, b"p:"))
    rows = {cell.row[2:].decode(): cell for cell in cells if cell.qualifier == b"incount"}
    loaded = {cell.row[2:].decode() for cell in cells if cell.qualifier == b"cur"}
    anchors = Counter(
        (cell.row[2:].decode(), cell.qualifier.decode(), cell.value.decode())
        for cell in cells
        if cell.family == b"inlinks"
    )
    found = {uri: (int(cell.value), uri in loaded) for uri, cell in rows.items()}
    wrong = {
        uri: (found.get(uri), expected.get(uri)) for uri in found | expected if found.get(uri) != expected.get(uri)
    }
    assert not wrong, f"(found, expected) of {len(wrong)} uris: {dict(list(wrong.items())[:20])}"
    assert anchors == Counter((link.uri, page.uri, link.anchor) for page in pages for link in page.outlinks)


def check_manners(served: Served, place: Path, allowed_refetches: int = 0) -> None:
    served.flush()
    report = judge(place / "web.log", replace(LIMITS, allowed_refetches=allowed_refetches))
    assert not report.violations, report


def check_proof(place: Path) -> None:
    """Pages are what their records say, tables what the pages say, and search finds what the tables say."""
    found = told(place, "verify", "--archive", "--search")
    assert found["differences"] == 0, found["examples"]
    assert found["archive"]["records"] > 0
    assert found["archive"]["left_out"] == 0
    assert (found["search"]["row-1"]["differences"], found["search"]["row-1"]["behind"]) == (0, 0), found["search"]
