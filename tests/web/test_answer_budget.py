"""No question costs more than its budget, and none goes on when nobody waits for it any more."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from support.web_app import HUB, RunningApp
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


def test_a_budget_that_is_spent_stays_spent() -> None:
    budget = Budget(10)
    budget.spend(10)
    assert budget.is_half_spent
    for _ in range(2):
        with pytest.raises(WeftError):
            budget.spend(1)
