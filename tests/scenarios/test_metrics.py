"""All roles serve their metrics while they crawl, and the home tells the same of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.contrib_files import all_asked, metric_of
from support.measured_weft import ROLES, TOKEN, WEB, MeasuredWeft, Samples, measured_weft
from support.weft_command import one_sentence, weft
from weft.answers.nodes import WHAT
from weft.metrics.home_catalogue import BUILD, HOME_METRICS
from weft.metrics.role_catalogue import EVERY_ROLE, ROLE_METRICS
from weft.metrics.samples import Kind, Metric

ROLE_OF = {WHAT[node]: metrics for node, metrics in ROLE_METRICS.items()}
LABELS_OF_BUCKETS = {"le"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredWeft]:
    with measured_weft(tmp_path_factory.mktemp("measured")) as weft_:
        weft_.start(*ROLES, WEB)
        weft_.wait_for(lambda: weft_.has_counted("index", "weft_index_freshness_seconds"), "pages to be loaded")
        weft_.wait_for(lambda: weft_.has_counted("spider", "weft_spider_errors_total"), "a fetch to go wrong")
        weft_.wait_for(lambda: weft_.has_counted("index", "weft_index_links_refused_total"), "a link to be left out")
        waits = "weft_urlserver_politeness_waits_total"
        weft_.wait_for(lambda: weft_.has_counted("urlserver", waits), "a host to be given a rest")
        weft_.wait_for(lambda: weft_.has_counted("indexserver", "weft_search_documents"), "pages to be searchable")
        weft_.wait_for(lambda: "weft_links_in_error" in weft_.told_by_home(), "a link to end in error")
        weft_.wait_for(lambda: weft_.told_by_home()["weft_mgmt_copy_time_seconds"][0][1], "a copy of the control plane")
        asked = weft("search", "the", "--home", str(weft_.home.path), cwd=weft_.home.path)
        assert asked.returncode in (0, 1), asked.stderr
        yield weft_


def metrics_of(role: str) -> list[Metric]:
    return [BUILD, *(told.metric for told in (*EVERY_ROLE, *ROLE_OF[role]))]


def assert_labels(found: Samples, metrics: list[Metric]) -> None:
    for metric in metrics:
        assert found[metric.name], metric.name
        for labels, _ in found[metric.name]:
            assert set(labels) - LABELS_OF_BUCKETS == set(metric.labels), metric.name
            assert ("le" in labels) <= (metric.kind is Kind.HISTOGRAM)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_tells_all_its_metrics_and_no_others(running: MeasuredWeft, role: str) -> None:
    found = running.told_by(role)
    assert set(found) == {metric.name for metric in metrics_of(role)}
    assert_labels(found, metrics_of(role))
    assert running.get(role, "/healthz") == (200, "ok\n")


def test_the_home_tells_all_metrics_of_all_nodes(running: MeasuredWeft) -> None:
    roles = (*ROLES, WEB)
    # Growth is told after ten minutes, limits where there are any.
    later = {"weft_home_growth_bytes_per_day", "weft_home_limit_bytes"}
    of_home = [metric for metric in HOME_METRICS if metric.name not in later]
    everything = [*of_home, *(metric for role in roles for metric in metrics_of(role) if metric is not BUILD)]
    last = {"weft_search_question_seconds", "weft_web_answer_seconds"}
    running.wait_for(lambda: last <= set(running.told_by_home()), "a heartbeat")
    found = running.told_by_home()
    assert set(found) == set(running.told_by(WEB)), "the web app serves them"
    assert {metric.name for metric in everything} == set(found) - later
    assert_labels(found, everything)
    assert {labels["role"]: value for labels, value in found["weft_nodes_up"]} == dict.fromkeys(roles, 1)


def test_counters_agree_along_the_way_of_a_page(running: MeasuredWeft) -> None:
    """In the order in which a page passes them, from the last to the first, because all of them go on."""
    pages = [
        sum(value for _, value in running.told_by(role)[metric])
        for role, metric in (
            ("index", "weft_index_results_total"),
            ("spider", "weft_spider_fetches_total"),
            ("urlserver", "weft_urlserver_urls_sent_total"),
        )
    ]
    assert pages == sorted(pages)
    spider = running.told_by("spider")
    (archived,) = (value for _, value in spider["weft_spider_archived_bytes_total"])
    (received,) = (value for _, value in spider["weft_spider_received_bytes_total"])
    files = sum(file.stat().st_size for file in (running.home.path / "warc").iterdir())
    assert 0 < archived <= files
    assert received > 0
    (fetches,) = (value for _, value in spider["weft_spider_fetches_total"])
    counted = sum(value for labels, value in spider["weft_spider_fetch_seconds"] if labels.get("le") == "+Inf")
    assert counted == fetches


@pytest.mark.parametrize(
    ("path", "status"), [("/metrics?x=1", 200), ("/", 404), ("/metric", 404), ("/healthz?x", 200), ("/metrics/", 404)]
)
def test_only_two_paths_are_answered(running: MeasuredWeft, path: str, status: int) -> None:
    assert running.get("spider", path)[0] == status


def test_with_a_token_only_who_shows_it_reads_metrics(tmp_path: Path) -> None:
    with measured_weft(tmp_path, TOKEN) as weft_:
        weft_.start("spider")
        weft_.wait_for(lambda: weft_.get("spider", "/healthz", token="")[0] == 200, "the spider")
        assert weft_.get("spider", "/metrics")[0] == 200
        assert weft_.get("spider", "/metrics", token="another")[0] == 401
        assert weft_.get("spider", "/metrics", token="")[0] == 401


OPEN = "--metrics: 0.0.0.0 can be reached by others; expected spider.token, or a loopback address"


@pytest.mark.parametrize(
    ("role", "address", "words"),
    [
        *((role, "0.0.0.0:0", OPEN) for role in ROLES),
        ("spider", "9471", "--metrics: 9471 has no port"),
        ("spider", "nowhere:x", "--metrics: nowhere:x is not host:port"),
    ],
)
def test_an_address_that_cannot_be_served_is_refused_in_a_sentence(
    tmp_path: Path, role: str, address: str, words: str
) -> None:
    weft("init", "--home", "home", cwd=tmp_path)
    done = weft("run", role, "--metrics", address, "--home", "home", cwd=tmp_path)
    assert done.returncode == 2
    assert words in one_sentence(done)


def test_what_the_dashboard_and_the_alerts_ask_for_is_there(running: MeasuredWeft) -> None:
    """With the states, tasks and roles that they name."""
    found = running.told_by_home()
    for asked in all_asked():
        for name in asked.names:
            assert found.get(name) or found.get(metric_of(name)), asked
        for name, label, operator, value in asked.selected:
            if operator == "=" and label in ("state", "task", "role", "reason", "result"):
                assert any(labels[label] == value for labels, _ in found[name]), asked
