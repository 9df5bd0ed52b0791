"""`weft up` for a year of simulated time, with trouble of every kind: nothing grows without bound."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from support.changing_site import DAY, RETRY_AFTER, Request, changing_site, rude
from support.clock_setting import ClockFile
from support.long_life import GAP, SET_BY, Life, grown
from support.whole_crawl import told

DAYS = float(os.environ.get("LIFE_DAYS", "365"))
TROUBLED = DAYS * 2 / 3
"""Days; then there is no trouble: processes that live for months show what they keep to themselves."""
SEED = int(os.environ.get("LIFE_SEED", "1"))
REPORT = os.environ.get("LIFE_REPORT", "")
"""A file for what was measured; tests/tools/life_chart.py draws it."""


@pytest.mark.long
def test_nothing_grows_without_bound_in_a_year(make_disk: Callable[[str], Path]) -> None:
    place = make_disk("400m")
    clock = ClockFile(place / "clock")
    clock.set(0)
    with changing_site(clock.now) as site:
        life = Life(place, site, clock, random.Random(SEED))
        try:
            life.begin()
            life.rest()
            every = max(1, round(DAYS / 120))
            life.live(TROUBLED, trouble=0.1, sample_every=every)
            clock.set(0)
            life.live(DAYS - TROUBLED, trouble=0.0, sample_every=every)
        finally:
            life.end()
            wrong = rude(site.requests, GAP, 2 * SET_BY)
            if REPORT:
                facts = {
                    "samples": life.samples,
                    "done": life.done,
                    "impatient": life.impatient,
                    "calm": TROUBLED,
                    "rude": wrong,
                }
                Path(REPORT).write_text(json.dumps(facts))
        proof = told(place, "verify", "--archive", "--search")
    assert proof["differences"] == 0, proof["examples"]
    assert not wrong
    assert not grown(life.samples)


def test_what_grows_with_time_is_noticed_and_what_grows_with_fetches_is_not() -> None:
    samples = [
        {
            "day": day,
            "fetches": 10.0 * day,
            "known URLs": 50.0 + day,
            "memory: web": 80e6 + 0.3e6 * day,
            "memory: spider": 80e6 + 0.01e6 * day,
            "rows: host": 5.0 + day / 2,
            "rows: chunk": 5.0 * day,
            "rows: index_server": 0.03 * day**2,
            "rows: link": 50.0 + day,
            "bytes: mgmt.db-wal": min(33e6, 1e6 * day),
        }
        for day in range(1, 366)
    ]
    assert set(grown(samples)) == {"memory: web", "rows: host", "rows: index_server"}


def test_a_crawler_without_manners_is_noticed() -> None:
    robots = Request("a.test", "/robots.txt", 0.0, 0.1, 200, "User-agent: *\nDisallow: /p/1\n")
    broken = Request("c.test", "/robots.txt", 0.0, 0.1, 503, "")

    def asked(at: float, path: str = "/p/2", host: str = "a.test", status: int = 200) -> Request:
        return Request(host, path, at, at, status, "")

    polite = [robots, asked(1), asked(2, status=503), asked(3 + RETRY_AFTER), asked(DAY)]
    assert not rude(polite, 1.0 - 0.1, 0)
    wrong = {
        "0.500 s after": asked(1.5),
        "forbidden: /p/1": asked(10, "/p/1"),
        "without a robots.txt": asked(DAY + 10),
        "asked for patience": asked(RETRY_AFTER - 10),
        "could not be had": asked(5, host="c.test"),
    }
    for reason, request in wrong.items():
        assert any(reason in sentence for sentence in rude([*polite, broken, request], 0.9, 0)), reason
