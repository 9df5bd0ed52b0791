"""The optima that `weft bench recrawl` compares with: no other way to spend as many fetches is better."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "benchmarks/recrawl.py"
RATES = np.array([0.0, 0.01, 0.1, 0.5, 1.0, 4.0, 20.0])


@pytest.fixture(scope="module")
def recrawl() -> ModuleType:
    spec = util.spec_from_file_location("recrawl_bench", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def freshness(frequencies: np.ndarray) -> float:
    fresh = [
        1.0 if rate == 0 else 0.0 if often == 0 else (often / rate) * (1 - np.exp(-rate / often))
        for rate, often in zip(RATES, frequencies, strict=True)
    ]
    return float(np.mean(fresh))


@pytest.mark.parametrize("fetches", [0.05, 0.3, 1.0, 5.0])
def test_no_way_to_spend_as_much_is_better_than_the_best(recrawl: ModuleType, fetches: float) -> None:
    dice = np.random.default_rng(1)
    best_fresh, best_seen = recrawl.best_freshness(RATES, fetches), recrawl.best_share_seen(RATES, fetches)
    most = 0.0
    for _ in range(3000):
        share = dice.dirichlet(np.full(len(RATES), 0.7)) * fetches * len(RATES)
        most = max(most, freshness(share))
        assert freshness(share) <= best_fresh + 1e-9
        assert float((RATES * np.minimum(share, 1)).sum() / RATES.sum()) <= best_seen + 1e-9
    assert best_fresh - most < 0.2


def test_a_fixed_interval_brings_what_theory_says(recrawl: ModuleType) -> None:
    dice = np.random.default_rng(2)
    days, rate, interval = 4000, 0.5, 4.0
    changes = np.sort(dice.uniform(0, recrawl.WARM_UP + days, dice.poisson(rate * (recrawl.WARM_UP + days))))
    spent = recrawl.measure([changes], recrawl.fixed(dice, interval, recrawl.WARM_UP + days), days)
    assert spent.fetches == pytest.approx(1 / interval, rel=0.01)
    assert spent.seen == pytest.approx(1 / interval, rel=0.1)
    assert spent.fresh == pytest.approx((1 - np.exp(-rate * interval)) / (rate * interval), rel=0.05)
