"""`weft bench recrawl`: changes seen for the fetches spent, by weft's rule, by fixed intervals and at best.

Pages change as Poisson processes whose rates are known here and to nobody else. Figures are of a simulation: they
depend on the seed alone, not on the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from weft.config.sections import DispatcherSettings
from weft.dispatcher.fetch_results import interval_after
from weft.dispatcher.link_records import LinkRecord

Floats = npt.NDArray[np.float64]
DAY: Final = 86_400_000
WARM_UP: Final = 60
"""Days in which a rule may learn, and nothing counts."""
FIXED: Final = (0.25, 1, 3, 7, 14, 30)
SETTINGS: Final = DispatcherSettings()


class Spent(NamedTuple):
    """What a policy cost and brought, of all pages."""

    fetches: float
    """Of a page, in a day."""
    seen: float
    """Share of the changes that were seen within a day."""
    fresh: float
    """Share of the time in which what is known of a page is what it says."""


def main() -> None:
    pages, days = (300, 60) if "--quick" in sys.argv else (3000, 120)
    dice = np.random.default_rng(next((int(given) for given in sys.argv[1:] if given.isdecimal()), 7))
    rates = change_rates(dice, pages)
    changes = [np.sort(dice.uniform(0, WARM_UP + days, dice.poisson(rate * (WARM_UP + days)))) for rate in rates]
    print(f"{pages} pages, {days} days after {WARM_UP} to learn in; a page changes {rates.mean():.2f} times a day")
    print(f"(median {np.median(rates):.3f}, nine of ten below {np.quantile(rates, 0.9):.2f})\n")
    print(f"{'policy':<20} {'fetches':>8} {'seen':>7} {'of best':>8} {'fresh':>7} {'of best':>8}")
    spent_by_weft = measure(changes, lambda each: adaptive(each, WARM_UP + days), days)
    intervals = [1 / spent_by_weft.fetches, *FIXED]
    results = [("weft", spent_by_weft)]
    results += [
        (f"every {interval:.3g} days", measure(changes, fixed(dice, interval, WARM_UP + days), days))
        for interval in intervals
    ]
    for name, spent in results:
        best_seen, best_fresh = best_share_seen(rates, spent.fetches), best_freshness(rates, spent.fetches)
        print(
            f"{name:<20} {spent.fetches:>8.3f} {spent.seen:>7.1%} {spent.seen / best_seen:>8.1%}"
            f" {spent.fresh:>7.1%} {spent.fresh / best_fresh:>8.1%}"
        )
    print(
        "\nfetches: of a page in a day; seen: changes seen within a day; fresh: time in which a page is known as it is;"
    )
    print(
        "of best: beside what the known rates allow at best for as many fetches; the first interval spends as weft does"
    )


def change_rates(dice: np.random.Generator, pages: int) -> Floats:
    """Changes in a day: a few pages by the hour, most by the month or the year, a third never."""
    rates = dice.lognormal(mean=np.log(1 / 30), sigma=2.0, size=pages)
    return np.where(dice.random(pages) < 1 / 3, 0.0, np.minimum(rates, 48.0))


FetchesOf = Callable[[Floats], Floats]
"""The moments at which a page that changes then is fetched."""


def fixed(dice: np.random.Generator, interval: float, end: float) -> FetchesOf:
    return lambda _: np.arange(dice.uniform(0, interval), end, interval)


def adaptive(changes: Floats, end: float) -> Floats:
    """By the rule that the crawl uses: it sees at each fetch whether the page changed, and nothing else."""
    record, now = LinkRecord(url=""), 0.0
    fetches = [now]
    while True:
        before = fetches[-2] if len(fetches) > 1 else 0.0
        has_changed = bool(np.searchsorted(changes, now) > np.searchsorted(changes, before))
        interval = interval_after(record, SETTINGS, has_changed=has_changed)
        record = LinkRecord(url="", interval=interval)
        now += interval / DAY
        if now >= end:
            return np.array(fetches)
        fetches.append(now)


def measure(changes: list[Floats], fetches_of: FetchesOf, days: int) -> Spent:
    begin, end = float(WARM_UP), float(WARM_UP + days)
    fetches = seen = total = 0
    fresh = 0.0
    for each in changes:
        moments = fetches_of(each)
        fetches += int((moments >= begin).sum())
        counted = each[(each >= begin) & (each < end - 1)]
        following = np.append(moments, np.inf)[np.searchsorted(moments, counted)]
        seen += int((following - counted <= 1).sum())
        total += len(counted)
        fresh += fresh_days(each, moments, begin, end)
    pages = len(changes)
    return Spent(fetches / pages / days, seen / total, fresh / pages / days)


def fresh_days(changes: Floats, fetches: Floats, begin: float, end: float) -> float:
    """Days from each fetch until the page changed or was fetched again."""
    until = np.append(fetches[1:], end)
    changed = np.append(changes, np.inf)[np.searchsorted(changes, fetches)]
    return float(np.maximum(0, np.minimum(np.minimum(until, changed), end) - np.maximum(fetches, begin)).sum())


def best_share_seen(rates: Floats, fetches: float) -> float:
    """A fetch a day shows all changes of a page, half as many half of them: the fastest pages come first."""
    ordered = np.sort(rates)[::-1]
    whole = fetches * len(rates)
    shares = np.clip(whole - np.arange(len(rates)), 0, 1)
    return float((ordered * shares).sum() / ordered.sum())


def best_freshness(rates: Floats, fetches: float) -> float:
    """The frequencies at which one more fetch brings as much for every page, and nothing for those without any."""
    moving = rates[rates > 0]
    low, high = 0.0, float(1 / moving.min())
    for _ in range(60):
        gain = (low + high) / 2
        spent = frequencies(moving, gain).sum() / len(rates)
        low, high = (gain, high) if spent > fetches else (low, gain)
    found = frequencies(moving, high)
    ratio = np.divide(moving, found, out=np.full_like(moving, np.inf), where=found > 0)
    fresh = np.where(found > 0, (1 - np.exp(-ratio)) / ratio, 0.0)
    return float((fresh.sum() + (rates == 0).sum()) / len(rates))


def frequencies(rates: Floats, gain: float) -> Floats:
    """Where the freshness (f / r) (1 - exp(-r / f)) grows by `gain` for one more fetch: (1 - (1 + x) exp(-x)) / r."""
    low, high = np.zeros_like(rates), np.full_like(rates, 60.0)
    for _ in range(60):
        x = (low + high) / 2
        is_below = (1 - (1 + x) * np.exp(-x)) / rates < gain
        low, high = np.where(is_below, x, low), np.where(is_below, high, x)
    return np.where(gain * rates < 1, rates / np.maximum(high, 1e-12), 0.0)


if __name__ == "__main__":
    main()
