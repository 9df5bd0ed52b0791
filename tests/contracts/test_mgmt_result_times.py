"""Times of results that were taken from clocks which are wrong: every control plane stores them by its own."""

from __future__ import annotations

import pytest

from support.mgmt_engines import START, Engine
from weft.clock import ManualClock
from weft.mgmt.api import Mgmt
from weft.mgmt.values import NewLink, NodeType, Result, WarcPosition

HOUR = 3_600_000
TOOK = 40


def fetched(mgmt: Mgmt, ended: int) -> Result:
    crawler = mgmt.register(NodeType.CRAWLER, "10.0.0.1:7069")
    mgmt.add([NewLink("h/1", "https://h/1", "h")])
    chunk = mgmt.claim(crawler, 1)
    assert chunk is not None
    (link,) = chunk.links
    place = WarcPosition("10.0.0.2:7070", "a.warc.gz", 0, 500)
    return Result(doc_id=link.doc_id, claim=link.claim, status=200, position=place, started=ended - TOOK, ended=ended)


def stored(mgmt: Mgmt) -> Result:
    builder = mgmt.register(NodeType.INDEX_BUILDER, "index@a:/home")
    (chunk,) = mgmt.take_crawled(builder)
    return chunk.links[0].result


@pytest.mark.parametrize("ahead", [-HOUR, -60_000, 60_000, HOUR])
def test_a_fetch_ended_when_it_did_whatever_the_clock_of_its_spider_said(
    engine: Engine, mgmt: Mgmt, ahead: int
) -> None:
    theirs = ManualClock(START + ahead)
    result = fetched(mgmt, ended=theirs.now())
    for clock in (theirs, engine.clock):
        clock.advance(30)  # until it could be reported
    assert mgmt.report([result], theirs) == [True]
    kept = stored(mgmt)
    assert (kept.started, kept.ended) == (START - TOOK, START)


def test_a_report_that_is_repeated_later_is_the_same(engine: Engine, mgmt: Mgmt) -> None:
    theirs = ManualClock(START - HOUR)
    result = fetched(mgmt, ended=theirs.now())
    assert mgmt.report([result], theirs) == [True]
    for clock in (theirs, engine.clock):
        clock.advance(7)
    assert mgmt.report([result], theirs) == [True]
    assert stored(mgmt).ended == START


def test_clocks_that_agree_leave_the_times_alone(mgmt: Mgmt) -> None:
    result = fetched(mgmt, ended=START - 5)
    assert mgmt.report([result], ManualClock(START - 300)) == [True]
    assert stored(mgmt).ended == START - 5
