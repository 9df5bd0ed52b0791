"""Two checkouts of weft over the same work, in turns: a crawl, an import of its pages, the link index alone.

    .venv/bin/python benchmarks/versions.py OLD_CHECKOUT [--rounds 3]

Every checkout runs with its own `.venv` (`make setup`). Both crawl the same web at the same speed limits and must find
the same pages; the digests of what they imported must be equal. CPU is of all processes that a command started. The
link index runs on one core, as in `weft bench linkindex`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from crawl import HURRY
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.server.serving import Served, serving
from weft.demo.web.truth import Truth

NEW = Path(__file__).parents[1]


class Run(NamedTuple):
    pages: int
    cpu: float
    digest: str

    @property
    def each(self) -> float:
        """CPU milliseconds a page."""
        return self.cpu / self.pages * 1000


def weft(checkout: Path, home: Path, *arguments: str) -> tuple[str, float]:
    """Run a command of a checkout; gives its output and the CPU seconds of all its processes."""
    environment = {**os.environ, **HURRY, "WEFT_HOME": str(home)}
    environment.pop("PYTHONPATH", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(checkout / ".venv/bin/python"), "-m", "weft", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{checkout}: weft {' '.join(arguments)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def crawl(checkout: Path, served: Served, directory: Path) -> Run:
    home = fresh(directory / "crawl")
    (home / "weft.toml").write_text(served.settings_text())
    _, cpu = weft(checkout, home, "crawl", served.url(0), "--scope", "any")
    return Run(crawled_pages(checkout, home), cpu, "")


def crawled_pages(checkout: Path, home: Path) -> int:
    rows, _ = weft(checkout, home, "export", "pages", "--format", "jsonl", "--output", "-")
    return sum(json.loads(row)["crawled"] for row in rows.splitlines() if row.startswith("{"))


def load(checkout: Path, pages: Path, count: int, directory: Path) -> Run:
    home = fresh(directory / "import")
    _, cpu = weft(checkout, home, "import", str(pages), "--incremental")
    digest, _ = weft(checkout, home, "digest")
    return Run(count, cpu, digest.split()[0])


def link_index(checkout: Path, pages: int, directory: Path) -> Run:
    place = fresh(directory / "linkindex")
    program = checkout / "benchmarks/linkindex.py"
    command = [checkout / ".venv/bin/python", program, "--pages", str(pages), "--one", "incremental", place]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    measured = json.loads((place / "incremental.json").read_bytes())
    return Run(measured["pages"], measured["cpu"], "")


def fresh(home: Path) -> Path:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return home


def write_pages(served: Served, file: Path, repeat: int) -> int:
    """The web's pages as JSON lines, each host `repeat` times under other names."""
    count = 0
    truth = [page for page in Truth(served.world).walk([served.url(0)]) if page.outlinks]
    with file.open("w") as lines:
        for copy in range(repeat):
            for page in truth:
                links = [
                    {"url": link.url.replace("http://", f"http://c{copy}."), "text": link.anchor}
                    for link in page.outlinks
                ]
                url = page.url.replace("http://", f"http://c{copy}.")
                lines.write(json.dumps({"url": url, "fetched": "2026-01-01T00:00:00Z", "links": links}) + "\n")
                count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="another checkout of weft, set up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    hosts, pages, repeat, linked = (20, 20, 2, 2000) if options.quick else (100, 40, 5, 20_000)
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    plan = WebPlan(hosts=hosts, pages=pages, addresses=20, profile=PROFILES["plain"])
    found: dict[str, list[tuple[Run, ...]]] = {"old": [], "new": []}
    try:
        with serving(plan) as served:
            count = write_pages(served, directory / "pages.jsonl", repeat)
            for number in range(options.rounds):
                for name, checkout in (("old", options.old.resolve()), ("new", NEW)):
                    runs = (
                        crawl(checkout, served, directory),
                        load(checkout, directory / "pages.jsonl", count, directory),
                        link_index(checkout, linked, directory),
                    )
                    found[name].append(runs)
                    told = ", ".join(f"{run.each:.3f} ms" for run in runs)
                    print(f"round {number + 1} {name}: {told}", file=sys.stderr)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    report(found)


def report(found: dict[str, list[tuple[Run, ...]]]) -> None:
    print("| CPU ms a page, all processes, median | pages | old | new | new / old |\n|---|---|---|---|---|")
    for row, name in enumerate(("whole crawl", "import, incremental", "link index alone, 40 links a page")):
        old, new = (statistics.median(runs[row].each for runs in found[which]) for which in ("old", "new"))
        sizes = {runs[row].pages for which in found.values() for runs in which}
        print(
            f"| {name} | {', '.join(f'{size:,}' for size in sorted(sizes))} | {old:.3f} | {new:.3f} | {new / old:.2f} |"
        )
    digests = {runs[1].digest for which in found.values() for runs in which}
    print(f"\ndigests of the imports: {'all equal' if len(digests) == 1 else 'THEY DIFFER'}")


if __name__ == "__main__":
    main()
