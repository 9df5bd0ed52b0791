"""What the worst files cost: reading them grows with the file, a decision is bounded whatever the file."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from functools import cache, partial
from itertools import islice, product
from pathlib import Path
from string import ascii_lowercase

import pytest

from support.step_counting import steps
from weft import robots
from weft.robots.encoding import canonical_pattern, canonical_target, forms
from weft.robots.file import parse
from weft.robots.lines import LIMIT
from weft.robots.match_steps import MOST_STEPS
from weft.robots.rules import TOO_COSTLY, Rules


def numbered(template: str, size: int) -> str:
    """About `size` bytes of lines that differ in a number only."""
    return "".join(template.format(number) for number in range(size // len(template)))


LETTERS_IN_ANY_ORDER = ["Disallow: /*{}*{}*{}\n".format(*three) for three in product(ascii_lowercase, repeat=3)]
HOSTILE: dict[str, Callable[[int], str]] = {
    "literal rules": lambda size: numbered("Disallow: /{:x}\n", size),
    "rules inside each other": lambda size: "".join(f"Disallow: /{'a' * length}\n" for length in range(int(size**0.5))),
    "stars in one rule": lambda size: "Disallow: /" + "*a" * (size // 2) + "*z\n",
    "stars next to each other": lambda size: "Disallow: /" + "*" * size + "z\n",
    "stars in all rules": lambda size: numbered("Disallow: /" + "*a" * 30 + "*z{:x}\n", size),
    "rules with a common head": lambda size: numbered("Disallow: /shop/a{:x}*/print\n", size),
    "rules with a common end": lambda size: numbered("Disallow: /*{:x}/print/a\n", size),
    "letters in any order": lambda size: "".join(islice(LETTERS_IN_ANY_ORDER, size // 17)),
    "long rules that nearly match": lambda size: numbered("Disallow: /*" + "a" * 50 + "b" + "a" * 40 + "*{:x}\n", size),
    "thousands of stars in all rules": lambda size: "".join(
        f"Disallow: /{'*a' * 1500}{'*b' * number}\n" for number in range(size // 3100)
    ),
    "one rule again and again": lambda size: "Disallow: /*a*b\n" * (size // 16),
    "rules that only end": lambda size: numbered("Disallow: /*{:x}$\n", size),
    "rules that nearly match": lambda size: numbered("Disallow: /*aaaaaaaab{:x}a\n", size),
    "agents": lambda size: numbered("User-agent: a{:x}\n", size),
    "agents and delays": lambda size: numbered("User-agent: a{:x}\n", size // 2) + "Crawl-delay: 9\n" * (size // 32),
    "groups": lambda size: "User-agent: *\nDisallow: /a\n" * (size // 27),
    "one long line": lambda size: "x" * size,
    "percent signs": lambda size: "Disallow: /" + "%41%" * (size // 4),
    "words": lambda size: "a " * (size // 2),
    "no-break spaces": lambda size: "Disallow" + "\u00a0" * (size // 2) + " x\n",
    "forgotten colons": lambda size: numbered("Disallow /a:{:x} x\n", size),
    "empty lines": lambda size: "\n" * size,
}


def rules_of_hostile(kind: str, size: int) -> Rules:
    return parse(("User-agent: *\n" + HOSTILE[kind](size)).encode()).rules_for("weft")


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_cost_of_a_file_grows_with_its_size_at_most(kind: str) -> None:
    def work(size: int) -> None:
        rules = rules_of_hostile(kind, size)
        for target in ("/" + "a" * 500, "/" + "ab" * 250, "/?" + "%2F" * 150):
            rules.decide(target)

    assert steps(partial(work, 16_000)) < 2.4 * steps(partial(work, 8_000)) + 500


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_cost_of_a_decision_grows_with_the_url_at_most(kind: str) -> None:
    rules = rules_of_hostile(kind, 16_000)
    short, long = (steps(partial(rules.decide, "/" + "a" * size)) for size in (400, 800))
    assert long < 2.4 * short + 500


LONG_TARGETS = {
    "a": "/" + "a" * 2047,
    "ab": "/" + "ab" * 1023,
    "%2F": "/?" + "%2F" * 680,
    "a-z": "/" + ascii_lowercase * 78,
    "hexadecimal": "/" + "".join(f"{number:x}" for number in range(580)),
}


def begins_with(pattern: bytes, target: bytes) -> bool:
    """RFC 9309's matching, step by step."""
    head, *pieces = pattern.split(b"*")
    position = len(head)
    for piece in pieces:
        found = target.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return target.startswith(head)


def plainly(body: str, target: str) -> bool:
    """Whether a file that holds nothing but Disallow lines for everybody allows a target, by trying every line."""
    paths = {line.removeprefix("Disallow: ") for line in body.splitlines() if line.startswith("Disallow: /")}
    patterns = [form for path in paths for form in forms(canonical_pattern(path.encode()))]
    targets = [form + b"$" for form in forms(canonical_target(target))]
    return not any(begins_with(pattern, each) for pattern in patterns for each in targets)


STILL_DECIDED = sorted(
    HOSTILE.keys()
    - {"stars in all rules", "letters in any order", "long rules that nearly match", "thousands of stars in all rules"}
)


@cache
def largest(kind: str) -> Rules:
    return rules_of_hostile(kind, LIMIT - 100)


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_largest_hostile_file_is_decided_or_refused(kind: str) -> None:
    body = HOSTILE[kind](LIMIT - 100)
    for name, target in LONG_TARGETS.items():
        decision = largest(kind).decide(target)
        assert decision == TOO_COSTLY or decision.allowed == plainly(body, target), name


@pytest.mark.parametrize("kind", STILL_DECIDED)
def test_files_that_are_large_but_simple_are_always_decided(kind: str) -> None:
    assert not any(largest(kind).decide(target).is_too_costly for target in LONG_TARGETS.values())


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_file_makes_a_decision_dear(kind: str) -> None:
    for target in LONG_TARGETS.values():
        assert steps(partial(largest(kind).decide, target)) < 20 * MOST_STEPS


ORDINARY = ["/", "/shop/a12/x/print?filter7=1&sort=asc", "/2026/11/17/a-page-with-a-title.html", "/a/b/c/?q=%C3%A4"]


@pytest.mark.parametrize("kind", sorted(HOSTILE.keys() - {"letters in any order"}))
def test_ordinary_urls_are_decided_by_the_largest_files(kind: str) -> None:
    for target in ORDINARY:
        assert not largest(kind).decide(target).is_too_costly
        assert steps(partial(largest(kind).decide, target)) < 4_000


def test_hundreds_of_stars_in_one_rule_are_matched_with_the_longest_url() -> None:
    rules = parse(b"User-agent: *\nDisallow: /" + b"*a" * 900 + b"$").rules_for("weft")
    assert not rules.decide("/" + "a" * 2047).allowed
    assert not rules.decide("/" + "xa" * 1000).allowed
    assert rules.decide("/" + "xa" * 1000 + "x").allowed
    assert rules.decide("/" + "a" * 800).allowed


def test_thousands_of_honest_rules_with_stars_are_decided() -> None:
    lines = [f"Disallow: /*?filter{number}=" for number in range(5000)] + ["Allow: /*?filter77=*&page=*$"]
    rules = parse("\n".join(["User-agent: *", *lines]).encode()).rules_for("weft")
    long = "&more=" * 300
    assert rules.decide("/list?filter77=x" + long).line_text == "Disallow: /*?filter77="
    assert rules.decide("/list?filter77=x&page=2" + long).line_text == "Allow: /*?filter77=*&page=*$"
    assert rules.decide("/list?filter5001=x" + long).line_number is None


def memory_of_the_package(snapshot: tracemalloc.Snapshot) -> int:
    here = tracemalloc.Filter(True, f"{Path(robots.__file__).parent}/*")
    return sum(trace.size for trace in snapshot.filter_traces([here]).traces)


@pytest.mark.parametrize("kind", HOSTILE)
def test_rules_take_a_few_times_the_memory_of_their_file(kind: str) -> None:
    size = 60_000
    gc.collect()
    tracemalloc.start()
    rules = rules_of_hostile(kind, size)
    gc.collect()
    # Threads that other tests of this process left may allocate meanwhile.
    taken = memory_of_the_package(tracemalloc.take_snapshot())
    tracemalloc.stop()
    assert taken < 5 * size
    assert rules.size <= taken < 1.2 * rules.size + 20_000
    assert largest(kind).size < 5 * LIMIT


def test_literal_rules_cost_a_decision_nothing_however_many_there_are() -> None:
    few, many = (rules_of_hostile("literal rules", size) for size in (200, 100_000))
    assert steps(partial(many.decide, "/a/b/c")) <= steps(partial(few.decide, "/a/b/c")) + 60
