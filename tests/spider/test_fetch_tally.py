"""What a spider counts of its fetches."""

from __future__ import annotations

import pytest

from weft.mgmt.values import DocId, Result
from weft.spider.fetch_tally import FetchTally, status_name


@pytest.mark.parametrize(("status", "name"), [(200, "200"), (404, "404"), (418, "418"), (299, "2xx"), (520, "5xx")])
def test_statuses_that_nobody_defined_are_counted_together(status: int, name: str) -> None:
    assert status_name(status) == name


def test_a_fetch_counts_by_its_status_its_error_and_its_time() -> None:
    tally = FetchTally()
    tally.add(Result(doc_id=DocId(1), claim=1, status=200, started=1000, ended=1040))
    tally.add(Result(doc_id=DocId(2), claim=1, status=200, error="too_large", started=1000, ended=3000))
    tally.add(Result(doc_id=DocId(3), claim=1, error="reset", started=1000, ended=900))
    facts = tally.facts()
    assert (facts["fetches"], facts["statuses"], facts["errors"]) == (3, {"200": 2}, {"too_large": 1, "reset": 1})
    assert facts["fetch_seconds"]["sum"] == pytest.approx(2.04), "a clock that was set back takes no time away"
    assert sum(facts["fetch_seconds"]["counts"]) == 3


def test_a_fetch_without_a_result_counts_as_lost() -> None:
    tally = FetchTally()
    tally.lose()
    assert (tally.facts()["fetches"], tally.facts()["errors"]) == (1, {"lost": 1})
