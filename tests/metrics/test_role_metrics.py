"""Figures become samples; what another version of weft tells is left out where it is not understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.metrics.role_catalogue import EVERY_ROLE, ROLE_METRICS
from weft.metrics.role_metrics import role_samples
from weft.metrics.samples import Kind, metrics_text
from weft.mgmt.values import NodeType
from weft.roles.histogram import HistogramFacts

ALL = [*EVERY_ROLE, *(told for some in ROLE_METRICS.values() for told in some)]


def told_by(node: NodeType, figures: dict) -> dict:
    return {(sample.metric.name, sample.labels): sample.value for sample in role_samples(node, "n:1", figures)}


def test_numbers_tables_sentences_and_lists_are_counted() -> None:
    found = told_by(NodeType.SPIDER, {"fetches": 7, "errors": {"dns": 2, "reset": 1}})
    assert {name: value for name, value in found.items() if value} == {
        ("weft_spider_fetches_total", ("n:1",)): 7,
        ("weft_spider_errors_total", ("n:1", "dns")): 2,
        ("weft_spider_errors_total", ("n:1", "reset")): 1,
    }
    assert told_by(NodeType.INDEX_SERVER, {"shards": [0, 2], "problem": "the disk is full", "lag_ms": 1500}) == {
        ("weft_search_shards", ("n:1",)): 2,
        ("weft_search_stuck", ("n:1",)): 1,
        ("weft_search_lag_seconds", ("n:1",)): 1.5,
    }
    assert told_by(NodeType.CRAWLER, {"spiders_away": {"a": "refused"}}) == {
        ("weft_urlserver_spiders_away", ("n:1",)): 1
    }


def test_known_values_of_a_label_are_told_from_the_beginning() -> None:
    found = told_by(NodeType.SPIDER, {"errors": {}, "statuses": {"404": 3}})
    assert found["weft_spider_errors_total", ("n:1", "dns")] == 0
    assert found["weft_spider_responses_total", ("n:1", "404")] == 3
    assert found["weft_spider_responses_total", ("n:1", "200")] == 0
    assert told_by(NodeType.SPIDER, {}) == {}, "another version may not tell them at all"


def test_every_role_tells_of_its_process_by_its_name() -> None:
    found = told_by(NodeType.INDEX_BUILDER, {"process": {"memory": 5}, "store": {"last_seq": 9}})
    assert found["weft_process_resident_memory_bytes", ("index", "n:1")] == 5
    assert found["weft_index_store_seq", ("n:1",)] == 9


def test_a_histogram_is_taken_as_it_is_told() -> None:
    facts = {"bounds": [1.0], "counts": [2, 3], "sum": 4.5}
    found = told_by(NodeType.INDEX_BUILDER, {"fresh": facts})
    assert found == {("weft_index_freshness_seconds", ("n:1",)): HistogramFacts([1.0], [2, 3], 4.5)}


@pytest.mark.parametrize(
    "facts",
    [
        None,
        7,
        {},
        {"bounds": [], "counts": [1], "sum": 1.0},
        {"bounds": [1.0], "counts": [1], "sum": 1.0},
        {"bounds": [2.0, 1.0], "counts": [1, 1, 1], "sum": 1.0},
        {"bounds": [1.0], "counts": ["x", 2], "sum": 1.0},
    ],
)
def test_what_is_no_histogram_is_left_out(facts: object) -> None:
    assert told_by(NodeType.INDEX_BUILDER, {"fresh": facts}) == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=8), some, max_size=3),
    max_leaves=6,
)
FIGURES = sorted({told.figure.partition(".")[0] for told in ALL})


@given(st.sampled_from(NodeType), st.dictionaries(st.sampled_from(FIGURES) | st.text(max_size=5), JSON, max_size=8))
def test_no_figures_of_another_version_break_anything(node: NodeType, figures: dict) -> None:
    samples = list(role_samples(node, "n:1", figures))
    metrics_text(samples)
    assert all(len(sample.labels) == len(sample.metric.labels) for sample in samples)


def test_names_follow_the_conventions() -> None:
    assert len({told.metric.name for told in ALL}) == len(ALL)
    for metric in (told.metric for told in ALL):
        assert metric.name.startswith("weft_")
        assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER), metric.name
        assert metric.meaning.endswith("."), metric.name
