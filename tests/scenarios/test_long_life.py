"""`weft up` for a year of simulated time, with trouble of every kind: nothing grows without bound."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from support.changing_site import changing_site, rude
from support.clock_setting import ClockFile
from support.long_life import GAP, SET_BY, Life, grown
from support.whole_crawl import told

pytestmark = pytest.mark.long
DAYS = float(os.environ.get("LIFE_DAYS", "365"))
TROUBLED = DAYS * 2 / 3
"""Days; then there is no trouble: processes that live for months show what they keep to themselves."""
SEED = int(os.environ.get("LIFE_SEED", "1"))
REPORT = os.environ.get("LIFE_REPORT", "")
"""A file for what was measured; tests/tools/life_chart.py draws it."""


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
