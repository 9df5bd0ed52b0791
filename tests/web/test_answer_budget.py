"""No question costs more than its budget, and none goes on when nobody waits for it any more."""

from __future__ import annotations

import json
import time
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles
from threading import Thread
from typing import Any

import pytest

from support.run_web import run_web
from support.web_app import HUB, RunningApp
from support.weft_command import weft
from weft.answers.budget import AnswerLate, Budget, TooMuchWork
from weft.errors import NotKnown, WeftError
from weft.web.api import ENDPOINTS
from weft.web.endpoint import Endpoint
from weft.web.pages.catalogue import PAGES

GIVEN = {"url": HUB, "domain": "hub.example", "q": "weft"}
HEAVY = [each for each in ENDPOINTS if not each.is_light]


def asked(endpoint: Endpoint[Any]) -> Any:
    given = {name: GIVEN[name] for name in endpoint.params.__struct_fields__ if name in GIVEN and name != "domain"}
    if "{domain}" in endpoint.path:
        return endpoint.read([], {"domain": GIVEN["domain"]})
    return endpoint.read(given.items(), {})


@pytest.mark.parametrize("endpoint", HEAVY, ids=lambda each: each.path)
def test_every_question_about_the_index_spends_its_budget(app: RunningApp, endpoint: Endpoint[Any]) -> None:
    web = app.web
    with pytest.raises(TooMuchWork, match="ask for fewer items"):
        endpoint.ask(web.within(Budget(0)), asked(endpoint))
    late = Budget()
    late.end()
    with pytest.raises(AnswerLate):
        endpoint.ask(web.within(late), asked(endpoint))
    with suppress(NotKnown):  # as the response of a page that was imported
        endpoint.ask(web.within(Budget()), asked(endpoint))


def test_questions_that_may_read_much_wait_apart_from_the_others() -> None:
    light = {each.path for each in ENDPOINTS if each.is_light}
    assert light == {
        *("/api/totals", "/api/status", "/api/queues", "/api/waiting", "/api/recent"),
        *("/api/sites", "/api/nodes", "/api/settings", "/api/about"),
    }
    assert all(page.twin.is_light == (page.twin.path in {*light, "/go", "/openapi.json"}) for page in PAGES)


def test_too_much_is_a_sentence_and_not_a_fault(app: RunningApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.web.app.Budget", lambda: Budget(3))
    answer = app.ask("/api/top", limit=1000)
    assert answer.status == 400
    assert "ask for fewer items" in answer.sentence
    assert app.ask("/domain/hub.example", headers={"Accept": "text/html"}).status == 400
    assert app.ask("/api/totals").status == 400, "three steps are not enough for the totals"


@pytest.mark.long
def test_searches_in_long_pages_leave_the_app_to_others(tmp_path: Path) -> None:
    """Eight of them at once, of one client. Without bounds they take all threads for minutes."""
    file = tmp_path / "long.jsonl"
    words = {"fetched": "2026-01-31T12:00:00Z", "title": "long", "text": "cat " * 50_000}
    file.write_text("".join(json.dumps({"url": f"https://long.example/{n}", **words}) + "\n" for n in range(100)))
    done = weft("import", str(file), "--home", "home", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with run_web(tmp_path / "home", "web.rate=10000") as (_, port, _):

        def ask(path: str) -> tuple[int, float]:
            began = time.monotonic()
            with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                return answer.status, time.monotonic() - began

        assert ask("/api/search?q=cat")[0] == ask("/api/totals")[0] == 200
        found: list[tuple[int, float]] = []
        search = "/api/search?q=cat&limit=100&fold=false&per_domain=0"
        threads = [Thread(target=lambda: found.extend(ask(search) for _ in range(4))) for _ in range(8)]
        for thread in threads:
            thread.start()
        light: list[float] = []
        while any(thread.is_alive() for thread in threads):
            status, seconds = ask("/api/totals")
            assert status == 200
            light.append(seconds)
            time.sleep(0.01)
    assert [status for status, _ in found] == [200] * 32
    assert quantiles(light, n=100)[98] < 0.2, (len(light), max(light))


def test_a_budget_that_is_spent_stays_spent() -> None:
    budget = Budget(10)
    budget.spend(10)
    assert budget.is_half_spent
    for _ in range(2):
        with pytest.raises(WeftError):
            budget.spend(1)
