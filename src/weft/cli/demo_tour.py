"""`weft demo tour`: crawl a small web on loopback, query it, change a page, and see the answers change."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.invocation import NumberRange, command
from weft.cli.output import say

if TYPE_CHECKING:
    from weft.demo.web.server.serving import Served

_HURRY = {
    "urlserver.req_host_per_sec": "20.0",
    "urlserver.req_ip_per_sec": "200.0",
    "urlserver.req_ip_concurrent": "20",
}
"""Our own servers on loopback may get more requests than a stranger's."""


@command("tour")
@click.option("--hosts", type=click.IntRange(2, 1000), default=50, help="Number of hosts.")
@click.option("--pages", type=click.IntRange(2, 1000), default=20, help="Average number of pages per host.")
@click.option("--seconds", type=NumberRange(min=1), default=90.0, help="Limit for each crawl.")
@click.option(
    "--stay",
    type=NumberRange(min=0),
    metavar="S",
    show_default="until Ctrl-C in a terminal, else 0",
    help="Keep the web app and the crawl running for S seconds after the tour.",
)
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    default=Path("weft-demo"),
    help="Where to create the home; an old one is replaced.",
)
def run(hosts: int, pages: int, seconds: float, stay: float | None, directory: Path) -> None:
    """Crawl a synthetic web on loopback and query it; then change a page and see the answers change."""
    from weft.cli.demo_watch import stay as stay_for
    from weft.cli.demo_watch import web_app_of
    from weft.demo.web.definition.plan import WebPlan
    from weft.demo.web.definition.profile import profile_with
    from weft.demo.web.patterns.sites import EXTRA_SITES
    from weft.demo.web.server.serving import serving

    home = directory / "home"
    shutil.rmtree(home, ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    home.mkdir(mode=0o700)
    shares = ("closed=0.3", "robots_missing=0.1", "moved=0.03", "missing=0.03", "nofollow=0.03")
    plan = WebPlan(hosts=hosts, pages=pages, profile=profile_with("plain", shares), extra_sites=EXTRA_SITES)
    log = directory / "web.log"
    log.unlink(missing_ok=True)
    with serving(plan, log) as served:
        (home / "weft.toml").write_text(served.settings_text(), encoding="utf-8")
        with web_app_of(home) as address:
            if address:
                _tell(f"The web app is at {address} Open it: it shows everything below, while it happens.")
            _tell(f"A synthetic web of {hosts} hosts on 127.0.0.x. It logs every request in {log}.")
            _weft(home, "crawl", served.url(0), "--scope", "any", "--seconds", f"{seconds:g}", "--no-web")
            _tell("Which pages are linked most?")
            _weft(home, "top", "--limit", "5")
            _ask_about_a_change(served, home, seconds)
            _find_a_changed_page(served, home, seconds)
            _learn_a_parameter(served, home, seconds)
            served.flush()
            _tell("Was the crawl polite? The web's own request log decides.")
            _weft(home, "demo", "judge", str(log), "--refetch-after", "0", "--tolerance", "0.02")
            if address and (stay or (stay is None and sys.stdout.isatty())):
                _tell("The tour is over; the web app stays.")
                stay_for(home, address, stay, _environment())
    _tell(f"The home stays in {home}. Next: `weft up --home {home}`, or `weft domains --home {home}`")


def _ask_about_a_change(served: Served, home: Path, seconds: float) -> None:
    source, target = _someone_who_links(served)
    _tell("And within one domain?")
    _weft(home, "top", "--domain", target.split("/")[2], "--limit", "3")
    _tell("Who links to this page, and with what text?")
    _weft(home, "links", target, "--limit", "5")
    _tell(f"Now {source} is deleted (404). Crawl again and compare.")
    served.vanish(source)
    _weft(home, "crawl", "--again", "0", "--seconds", f"{seconds:g}", "--no-web")
    _weft(home, "links", target, "--limit", "5")
    _weft(home, "changes", target, "--limit", "3")


def _find_a_changed_page(served: Served, home: Path, seconds: float) -> None:
    """Every page of the synthetic web names its edition; a change makes it the next one."""
    page = _most_linked(home)
    words = _edition_of(home, page)
    if words is None:
        return
    entry, edition = words
    _tell("Which pages match these words?")
    _weft(home, "search", f'"entry {entry} edition {edition}"', "--limit", "3")
    _tell(f"Now {page} gets a new edition. Crawl again: it is found by its new words, and not by its old ones.")
    served.change(page)
    _weft(home, "crawl", page, "--depth", "0", "--seconds", f"{seconds:g}", "--no-web")
    _weft(home, "search", f'"entry {entry} edition {edition + 1}"', "--limit", "3")
    _weft(home, "search", f'"entry {entry} edition {edition}"', "--limit", "3")


def _most_linked(home: Path) -> str:
    import weft

    with weft.open(home) as index:
        return next((str(item.url) for item in index.top().items if item.crawled), "")


def _edition_of(home: Path, url: str) -> tuple[str, int] | None:
    """The word that only this page has, and the number of its edition."""
    import weft

    with weft.open(home) as index:
        title = index.page(url).title or ""
        entry = title.rpartition("(")[2].rstrip(")")
        for item in index.search(entry).items if entry else ():
            if item.url == url and (found := re.search(r"edition ([0-9]+)", item.snippet)):
                return entry, int(found[1])
    return None


def _learn_a_parameter(served: Served, home: Path, seconds: float) -> None:
    """A site that puts a new session id into every link: each page gets a new URL with every visit."""
    site = f"http://session.test:{served.plan.port}"
    _tell(f"{site} puts a new session id into every link. Weft learns to ignore it.")
    _weft(home, "crawl", f"{site}/", "--seconds", f"{seconds:g}", "--no-web")
    _tell("The learned rule, the evidence for and against it, and the fetches it saved:")
    _weft(home, "rules", "session.test")
    _weft(home, "rules", "--explain", f"{site}/p/7?session=another")


def _someone_who_links(served: Served) -> tuple[str, str]:
    """A page that can be deleted, and one of the pages that it links to."""
    from weft.demo.web.fates import Fate
    from weft.demo.web.truth import Truth

    pages = list(Truth(served.world).walk([served.url(0)], limit=60))
    for page in pages[5:]:
        others = [link for link in page.outlinks if link.uri != page.uri and "nofollow" not in link.rel]
        if page.fate is Fate.PAGE and others:
            return page.url, others[-1].url
    return served.url(0, 1), served.url(0)


def _tell(sentence: str) -> None:
    say()
    say(f"# {sentence}", bold=True)


def _weft(home: Path, *arguments: str) -> None:
    """Run a command as a user would type it, with its output in ours."""
    command = [*arguments, "--home", str(home)]
    say(f"$ weft {shlex.join(command)}", dim=True)
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", "weft", *command], env=_environment(), check=False)  # noqa: S603 - ourselves


def _environment() -> dict[str, str]:
    return {**os.environ, **{"WEFT_" + name.upper().replace(".", "_"): value for name, value in _HURRY.items()}}
