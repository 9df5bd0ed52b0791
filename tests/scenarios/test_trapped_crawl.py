"""`weft crawl` over a synthetic web with traps: they take what a host may have and no more, and others are covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft as package
from support.weft_command import weft
from weft.config.sections import UrlSettings
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import Profile
from weft.demo.web.definition.traits import Session, Traits
from weft.demo.web.log import RequestLine, read_log
from weft.demo.web.server.serving import Served, serving
from weft.demo.web.truth import Truth
from weft.model.url import UrlRules

MOST = 40
SETS = ["urlserver.req_host_per_sec=100.0", "urlserver.req_ip_per_sec=1000.0", "urlserver.req_ip_concurrent=100"]
# Learned parameters would leave the session ids out as well; here the cap has to hold alone.
SETS += ["dispatcher.learn_parameters=false", f"dispatcher.host_links={MOST}", "dispatcher.max_depth=100"]
PLAN = WebPlan(seed=5, hosts=9, pages=5, profile=Profile(session_traps=0.3, calendars=0.3, deep_traps=0.3))
RULES = UrlRules(UrlSettings().strip)


def has_no_end(traits: Traits) -> bool:
    return traits.session is Session.TRAP or traits.has_calendar or traits.has_deep_trap


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(PLAN, tmp_path / "web.log") as running:
        (tmp_path / "home").mkdir()
        (tmp_path / "home/weft.toml").write_text(running.settings_text())
        yield running


def test_a_trap_uses_up_its_own_host_alone(served: Served, tmp_path: Path) -> None:
    hosts = [served.world.hosts.numbered(number) for number in range(PLAN.hosts)]
    endless = {host.name for host in hosts if has_no_end(host.traits)}
    assert 2 <= len(endless) < PLAN.hosts - 2
    given = [part for text in SETS for part in ("--set", text)]
    done = weft("crawl", *(served.url(n) for n in range(PLAN.hosts)), "--home", "home", *given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nothing is left that is due" in done.stdout
    served.flush()
    asked = Counter(
        line.host.partition(":")[0] for line in read_log(tmp_path / "web.log") if isinstance(line, RequestLine)
    )
    # One more each for robots.txt and for the page that was added.
    assert all(asked[name] <= MOST + 2 for name in endless)
    assert any(asked[name] >= MOST for name in endless)
    truth = Truth(served.world, RULES, in_scope=lambda name: name not in endless)
    pages = [page for host in hosts if host.name not in endless for page in truth.walk([served.url(host.number)])]
    assert len(pages) > PLAN.hosts
    with package.open(tmp_path / "home") as index:
        assert [page.url for page in pages if not index.page(page.url).crawled] == []
