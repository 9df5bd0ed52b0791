"""Which parameters do not matter: learned from equal texts, never from chance, and forgotten when it is not true."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.parameter_learning import HOUR, NEVER_SAMPLED, RULES, Learning
from support.weft_command import weft
from weft.dispatcher.fetch_results import FetchKind
from weft.dispatcher.link_records import LinkPhase
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.store.rocksdb import RocksStore


def test_the_documents_example() -> None:
    crawl = Learning()
    crawl.fetch("/page1.html", 7)
    crawl.fetch("/page1.html?lang=en", 7)
    crawl.find("/page1.html?lang=en&lang=en")
    record = crawl.record("/page1.html?lang=en&lang=en")
    assert record.phase is LinkPhase.HIDDEN
    assert record.canonical == "com.test/page1.html"
    assert record.reason == "parameters: lang=en on com.test/page1.html -> com.test/page1.html"
    crawl.clock.advance(100 * HOUR)
    crawl.step()
    assert crawl.phase("/page1.html") == "given"
    assert crawl.phase("/page1.html?lang=en") == "hidden"


def test_a_default_yields_to_the_bare_path_and_hides_no_other_value() -> None:
    crawl = Learning()
    crawl.fetch("/list", 1)
    crawl.fetch("/list?page=1", 1)
    crawl.fetch("/list?page=2", 2)
    assert [crawl.reduced(f"/list?page={n}") for n in (1, 2, 3)] == ["/list", "/list?page=2", "/list?page=3"]


def test_enough_values_on_a_path_make_the_parameter_one_that_does_not_matter() -> None:
    crawl = Learning()
    crawl.fetch("/a", 1)
    crawl.fetch("/a?sort=x", 1)
    assert crawl.reduced("/a?sort=never-seen") == "/a?sort=never-seen"
    crawl.fetch("/a?sort=y", 1)
    assert crawl.reduced("/a?sort=never-seen") == "/a"
    assert crawl.reduced("/b?sort=never-seen") == "/b?sort=never-seen"


def test_enough_paths_make_it_so_on_the_host_and_on_no_other() -> None:
    crawl = Learning()
    for n in range(6):
        assert crawl.reduced("/new?ref=z") == "/new?ref=z"
        crawl.fetch(f"/{n}", 10 + n)
        crawl.fetch(f"/{n}?ref=r{n}", 10 + n)
    assert crawl.reduced("/new?ref=z") == "/new"
    page = RULES.identify("https://www.test.com/new?ref=z")
    assert ParameterRound(crawl.store, crawl.settings).reduce(b"com.test", page) is None


def test_one_value_on_many_paths_says_nothing_of_other_values() -> None:
    crawl = Learning()
    for n in range(9):
        crawl.fetch(f"/{n}", 10 + n)
        crawl.fetch(f"/{n}?page=1", 10 + n)
    assert crawl.reduced("/new?page=1") == "/new"
    assert crawl.reduced("/new?page=2") == "/new?page=2"


def test_parameters_that_matter_only_together_are_kept() -> None:
    crawl = Learning()
    crawl.fetch("/map", 1)
    for n in range(5):
        crawl.fetch(f"/map?x={n}", 1)
        crawl.fetch(f"/map?y={n}", 1)
    assert crawl.reduced("/map?x=99") == "/map"
    assert crawl.reduced("/map?x=3&y=4") == "/map?x=3&y=4"


def test_a_rule_of_the_host_holds_only_beside_parameters_that_it_was_seen_beside() -> None:
    crawl = Learning()
    for n in range(6):
        crawl.fetch(f"/{n}?page=2", 10 + n)
        crawl.fetch(f"/{n}?page=2&ref=r{n}", 10 + n)
    assert crawl.reduced("/new?page=7&ref=z") == "/new?page=7"
    assert crawl.reduced("/new?view=grid&ref=z") == "/new?view=grid&ref=z"


def test_parameters_that_always_come_together_are_learned_together() -> None:
    crawl = Learning()
    for n in range(6):
        crawl.fetch(f"/{n}", 10 + n)
        crawl.fetch(f"/{n}?src=a{n}&med=b", 10 + n)
    assert crawl.reduced("/new?src=z&med=z") == "/new"
    assert crawl.reduced("/new?src=z") == "/new?src=z"


def test_a_value_that_is_the_same_beside_one_value_may_matter_beside_another() -> None:
    crawl = Learning()
    crawl.fetch("/item?id=1", 1)
    crawl.fetch("/item?id=1&tab=reviews", 1)
    assert crawl.reduced("/item?id=1&tab=reviews") == "/item?id=1"
    assert crawl.reduced("/item?id=2&tab=reviews") == "/item?id=2&tab=reviews"


def test_order_and_repetition_are_learned_too() -> None:
    crawl = Learning()
    crawl.fetch("/f?a=1&b=2", 1)
    crawl.fetch("/f?b=2&a=1", 1)
    assert crawl.reduced("/f?b=2&a=1") == "/f?a=1&b=2"
    assert crawl.reduced("/f?b=9&a=1") == "/f?b=9&a=1"
    crawl.fetch("/f?a=5&a=5", 2)
    crawl.fetch("/f?a=5", 2)
    assert crawl.reduced("/f?b=9&a=1&a=1") == "/f?a=1&b=9"


@pytest.mark.parametrize(
    ("kind", "text", "status"),
    [
        (FetchKind.PAGE, 0, 200),
        (FetchKind.FAILED, 1, 500),
        (FetchKind.GONE, 1, 404),
        (FetchKind.PAGE, 1, 404),
        (FetchKind.OTHER, 1, 200),
    ],
)
def test_nothing_is_learned_from_errors_and_empty_texts(kind: FetchKind, text: int, status: int) -> None:
    crawl = Learning()
    for target in ("/x", "/x?a=1", "/x?a=2", "/x?a=3"):
        crawl.fetch(target, text, kind, status=status)
    assert crawl.rules() == []


def test_a_text_that_many_paths_give_teaches_nothing() -> None:
    crawl = Learning()
    for n in range(9):
        for target in (f"/{n}", f"/{n}?v=1", f"/{n}?v=2", f"/{n}?v=3"):
            crawl.fetch(target, 404)
    assert [rule for rule in crawl.rules() if not rule.dropped] == []
    assert crawl.reduced("/0?v=2") == "/0?v=2"


def test_texts_that_were_fetched_long_after_one_another_contradict_nothing() -> None:
    crawl = Learning()
    crawl.fetch("/a", 1)
    crawl.fetch("/a?s=1", 1)
    crawl.clock.advance(2 * HOUR)
    crawl.fetch("/a", 2)
    assert crawl.reduced("/a?s=1") == "/a"
    crawl.fetch("/a?s=1", 3)
    assert crawl.reduced("/a?s=1") == "/a?s=1"


def test_a_contradiction_drops_the_rule_and_reopens_what_it_hid() -> None:
    crawl = Learning()
    for target in ("/a", "/a?s=1", "/a?s=2"):
        crawl.fetch(target, 1)
    crawl.find("/a?s=3", "/a?s=4", "/a?s=5")
    assert crawl.phase("/a?s=3") == "hidden"
    crawl.fetch("/a?s=4", 2)
    step = crawl.step()
    assert step.looked_at > 0
    crawl.step()
    assert [crawl.phase(f"/a?s={n}") for n in (3, 5)] == ["given", "given"]
    dropped = [rule for rule in crawl.rules() if rule.dropped]
    assert [(rule.about, rule.saved) for rule in dropped if rule.reach == "path"] == [("s", 3)]


def test_a_contradiction_on_one_path_ends_the_rule_of_the_host() -> None:
    crawl = Learning()
    for n in range(6):
        crawl.fetch(f"/{n}", 10 + n)
        crawl.fetch(f"/{n}?ref=r{n}", 10 + n)
    crawl.find("/new?ref=a", "/other?ref=b")
    assert crawl.phase("/new") == "new"
    crawl.fetch("/other", 50)
    crawl.fetch("/other?ref=b", 51)
    crawl.step()
    crawl.step()
    assert crawl.phase("/new?ref=a") == "given"


def test_what_stands_for_others_but_gives_no_page_stands_for_none() -> None:
    crawl = Learning()
    for n in range(6):
        crawl.fetch(f"/{n}", 10 + n)
        crawl.fetch(f"/{n}?sid=r{n}", 10 + n)
    crawl.find("/new?sid=a")
    assert crawl.phase("/new?sid=a") == "hidden"
    crawl.fetch("/new", 0, FetchKind.GONE, status=404)
    crawl.step()
    crawl.step()
    assert crawl.phase("/new?sid=a") == "given"


def test_without_absence_the_first_value_stands_for_the_others() -> None:
    crawl = Learning()
    for sid in ("m", "k", "z"):
        crawl.fetch(f"/a?sid={sid}", 1)
    assert crawl.reduced("/a?sid=b") == "/a?sid=k"
    assert crawl.reduced("/a?sid=k") == "/a?sid=k"


def test_a_sample_is_fetched_with_what_it_is_compared_to() -> None:
    crawl = Learning(replace(NEVER_SAMPLED, rule_sample=100))
    for target in ("/a", "/a?s=1", "/a?s=2"):
        crawl.fetch(target, 1)
    crawl.clock.advance(2 * HOUR)
    crawl.find("/a?s=3")
    assert crawl.phase("/a?s=3") == "new"
    crawl.step()
    assert [crawl.phase("/a?s=3"), crawl.phase("/a")] == ["given", "given"]
    crawl.fetch("/a", 1)
    crawl.fetch("/a?s=3", 1)
    crawl.clock.advance(1000 * HOUR)
    crawl.step()
    assert crawl.phase("/a?s=3") == "hidden"


def test_the_user_keeps_and_drops_parameters() -> None:
    crawl = Learning()
    crawl.say(drop_parameters=["utm*"])
    crawl.find("/a?utmx=1&b=2", "/c?lang=de")
    crawl.step()
    record = crawl.record("/a?utmx=1&b=2")
    assert (record.phase, record.canonical) == (LinkPhase.HIDDEN, "com.test/a?b=2")
    assert crawl.phase("/c?lang=de") == "given"
    for target in ("/p", "/p?lang=en", "/p?lang=de"):
        crawl.fetch(target, 1)
    crawl.find("/p?lang=fr")
    assert crawl.phase("/p?lang=fr") == "hidden"
    crawl.say(keep_parameters=["lang"])
    for _ in range(3):
        crawl.step()
    assert [crawl.phase("/p?lang=fr"), crawl.phase("/a?utmx=1&b=2")] == ["given", "given"]


def test_a_page_that_may_not_be_crawled_stands_for_none() -> None:
    crawl = Learning()
    crawl.say(exclude=["test.com/a$"])
    for target in ("/a", "/a?s=1", "/a?s=2"):
        crawl.fetch(target, 1)
    crawl.find("/a?s=3")
    assert crawl.phase("/a?s=3") == "new"


def test_it_can_be_switched_off() -> None:
    crawl = Learning(replace(NEVER_SAMPLED, learn_parameters=False))
    for target in ("/a", "/a?s=1", "/a?s=2"):
        crawl.fetch(target, 1)
    crawl.clock.advance(100 * HOUR)
    crawl.step()
    assert crawl.phase("/a?s=1") == "given"


def test_the_command_lists_rules_and_explains_a_url(tmp_path: Path) -> None:
    assert weft("add", "https://test.com/", cwd=tmp_path).returncode == 0
    assert "No rules" in weft("rules", cwd=tmp_path).stdout
    with RocksStore(tmp_path / "weft-data" / "store") as store:
        crawl = Learning(store=store)
        crawl.fetch("/page1.html", 7)
        crawl.fetch("/page1.html?lang=en", 7)
        crawl.find("/page1.html?lang=en&lang=en")
    item = json.loads(weft("rules", "test.com", "--json", cwd=tmp_path).stdout)["items"][0]
    assert (item["about"], item["where"], item["support"], item["contradictions"], item["saved"]) == (
        "lang=en",
        "com.test/page1.html",
        1,
        0,
        1,
    )
    assert "lang=en" in weft("rules", cwd=tmp_path).stdout
    url = "https://test.com/page1.html?lang=en&lang=en"
    explained = weft("rules", "--explain", url, cwd=tmp_path)
    assert explained.stdout.splitlines() == [
        "lang=en on com.test/page1.html: 1 pair agrees",
        f"{url} -> https://test.com/page1.html",
    ]
    assert "-> com.test/page1.html" in weft("why", url, cwd=tmp_path).stdout
