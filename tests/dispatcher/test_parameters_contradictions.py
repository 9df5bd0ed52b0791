"""A contradiction always wins: whatever was learned before, what it hid is to be fetched again."""

from __future__ import annotations

import resource

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.parameter_learning import Learning
from weft.dispatcher.parameters import evidence_cells, host_evidence
from weft.dispatcher.parameters import path_evidence as bounds
from weft.dispatcher.parameters.path_evidence import Observation, PathEvidence, observe

NEVER_FETCHED = [f"/a?s={n}" for n in range(90, 96)]
BESIDE = [f"/a?t=1&s={n}" for n in range(90, 96)]
paths = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
values = st.lists(st.integers(1, 9), unique=True, min_size=1, max_size=4)


def learn(crawl: Learning, path: str, numbers: list[int]) -> None:
    for query in ["", *(f"?s={n}" for n in numbers)]:
        crawl.fetch(f"/{path}{query}", ord(path))
        crawl.fetch(f"/{path}?t=1{query.replace('?', '&')}", 1000 + ord(path))


def places(crawl: Learning, targets: list[str]) -> set[str]:
    return {crawl.phase(target) for target in targets}


@settings(deadline=None, max_examples=40)
@given(paths, values, st.sampled_from([1, 2, 3]))
def test_after_a_contradiction_no_link_of_its_path_stays_hidden(learned: list[str], found: list[int], at: int) -> None:
    crawl = Learning()
    for path in ["a", *learned]:
        learn(crawl, path, found)
    targets = [*NEVER_FETCHED, *BESIDE]
    crawl.find(*targets)
    assert len(found) == 1 or places(crawl, NEVER_FETCHED) == {"hidden"}
    crawl.fetch("/a", 501)
    crawl.fetch(f"/a?s={found[0]}", 502)
    for _ in range(at + 2):
        crawl.step()
    assert "hidden" not in places(crawl, targets)


@settings(deadline=None, max_examples=20)
@given(st.permutations("bcdefgh"), st.integers(2, 6))
def test_a_contradiction_on_any_path_reopens_what_the_host_rule_hid_on_all(order: list[str], count: int) -> None:
    crawl = Learning()
    for path in order[:6]:
        crawl.fetch(f"/{path}", ord(path))
        crawl.fetch(f"/{path}?s={path}", ord(path))
    crawl.find(*NEVER_FETCHED[:count])
    assert places(crawl, NEVER_FETCHED[:count]) == {"hidden"}
    crawl.fetch(f"/{order[6]}", 501)
    crawl.fetch(f"/{order[6]}?s=1", 502)
    crawl.step()
    assert "hidden" not in places(crawl, NEVER_FETCHED[:count])


@pytest.mark.long
@pytest.mark.parametrize("texts", [1, 2, 1_000_000])
def test_a_million_parameters_of_a_host_take_no_more_memory_than_a_thousand(texts: int) -> None:
    """New names in each query, twelve or one, on a hundred paths in turn."""
    host, known = host_evidence.HostEvidence(), dict.fromkeys(range(100), PathEvidence())
    sizes = []
    for n in range(86_000):
        if n == 5_000:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        query = "&".join(f"p{n}x{each}={each}" for each in range(12 if n % 50 else 1))
        path = f"com.test/{n % 100}"
        seen = observe(known[n % 100], Observation(query, 1 + n % texts, n), [Observation(None, 1 + n % texts, n)])
        known[n % 100] = seen
        host = host_evidence.cast(host_evidence.seen_text(host, path, 1 + n % texts), path, seen)
        if n % 1000 == 999:
            sizes.append(
                len(evidence_cells.encode(host)) + max(len(evidence_cells.encode(each)) for each in known.values())
            )
    assert max(sizes) < 400_000
    assert max(sizes[5:]) < 1.5 * max(sizes[:5])
    assert len(host.votes) <= host_evidence.PARAMETERS
    assert all(len(each.findings) <= bounds.PARAMETERS * bounds.AGREEING for each in known.values())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024
