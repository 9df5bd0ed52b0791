"""`weft bench searchquality`: which queries it makes of pages, which answers are right, and how it counts."""

from __future__ import annotations

import random

import pytest

from searchquality_pages import LabelPage, nearly_same, own_titles, read_page
from searchquality_queries import Query, make_queries, pages_with_runs
from searchquality_scores import Outcome, by_kind, rank_of, score, table, verdict
from searchquality_sites import SETS, is_left_out
from searchquality_words import is_prose, may_be_asked, misspell, normal
from weft.model.url import UrlRules

RULES = UrlRules()
NAMES = ("alpine meadow", "granite quarry", "harbour lighthouse", "sunken orchard", "winter pasture", "copper foundry")
PROSE = "every visitor remembers the {} because nothing else {} quite resembles the place near {} bridges"


def page(path: str, title: str, body: str, port: str = "") -> LabelPage:
    html = f"<title>{title} - Guide to Places</title>{body}"
    return read_page(html.encode(), f"http://places.test{port}/{path}.html", RULES)


def uri(path: str) -> str:
    return f"test.places/{path}.html"


def places(port: str = "") -> list[LabelPage]:
    pages = []
    for number, name in enumerate(NAMES):
        other = (number + 1) % len(NAMES)
        text = f"<h2>Footpaths along river {number}</h2><p>{PROSE.format(name, name, name)}</p>"
        link = f'<p><a href="{other}.html">road towards {NAMES[other]}</a> <a href="{other}.html">next</a></p>'
        pages.append(page(str(number), name.title(), text + link, port))
    return pages


def left_out() -> list[LabelPage]:
    said = f'<p>On the map <a href="2.html">remembers the {NAMES[2]}</a> because nothing else is there</p>'
    return [page("unknown", "Somewhere", said)]


def by_kinds() -> dict[str, list[Query]]:
    made: dict[str, list[Query]] = {}
    for query in make_queries(places(), left_out(), 100):
        made.setdefault(query.kind, []).append(query)
    return made


def test_a_title_is_asked_without_what_all_titles_share() -> None:
    assert own_titles(places())[uri("0")] == "Alpine Meadow"
    assert Query("title", "Alpine Meadow", frozenset({uri("0")})) in by_kinds()["title"]


def test_headings_and_anchors_are_asked_for_the_pages_that_they_name() -> None:
    made = by_kinds()
    assert Query("heading", "Footpaths along river 3", frozenset({uri("3")})) in made["heading"]
    assert Query("anchor", "road towards alpine meadow", frozenset({uri("0")})) in made["anchor"]
    assert all("next" not in query.text for query in made["anchor"])


def test_words_of_the_body_stand_in_a_row_on_every_right_page() -> None:
    pages = {one.uri: one for one in places()}
    assert by_kinds()["body"]
    for query in by_kinds()["body"]:
        assert len(query.text.split()) == 5
        assert query.right == {one for one in pages if query.text in normal(pages[one].text)}


def test_a_misspelt_title_has_a_word_that_is_nowhere_and_the_right_page_of_the_title() -> None:
    text = " ".join(normal(one.text + one.title) for one in places()).split()
    for query in by_kinds()["misspelt"]:
        assert sum(word.lower() not in text for word in query.text.split()) == 1
        assert len(query.right) == 1


def test_left_out_pages_give_anchors_and_phrases_for_indexed_ones() -> None:
    made = by_kinds()
    assert made["heldout-anchor"] == [Query("heldout-anchor", f"remembers the {NAMES[2]}", frozenset({uri("2")}))]
    assert made["heldout-phrase"]
    assert all(query.right == {uri("2")} for query in made["heldout-phrase"])
    assert all(uri("unknown") not in query.right for queries in made.values() for query in queries)


def test_the_same_pages_make_the_same_queries_in_two_halves() -> None:
    first, second = make_queries(places(), left_out(), 100), make_queries(places(), left_out(), 100)
    assert first == second
    assert len({query.is_unseen for query in first}) == 2
    assert len(make_queries(places(), left_out(), 2)) <= 2 * 7


def test_queries_do_not_depend_on_the_port() -> None:
    here, there = make_queries(places(":8001"), [], 100), make_queries(places(":45678"), [], 100)
    assert [query[:2] for query in here] == [query[:2] for query in there]


def test_a_query_with_more_than_three_right_pages_is_not_asked() -> None:
    pages = [page(str(number), "The same title", f"<p>{PROSE.format(*NAMES[:3])} {number}") for number in range(4)]
    assert make_queries(pages, [], 100) == []


def test_nearly_the_same_pages_are_both_right() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    pages = [page("a", "One", text), page("b", "Two", text + " more"), page("c", "Three", text[:300])]
    same = nearly_same(pages)
    assert same[uri("a")] == same[uri("b")] == {uri("a"), uri("b")}
    assert same[uri("c")] == {uri("c")}


def test_runs_are_found_across_lines() -> None:
    pages = [page("a", "A", "<p>one two three</p><p>four five six</p>")]
    assert pages_with_runs(pages, ["two three four five six", "six five four"]) == {
        "two three four five six": {uri("a")},
        "six five four": set(),
    }


@pytest.mark.parametrize("seed", range(40))
def test_a_slip_changes_one_long_word_by_one_letter(seed: int) -> None:
    wrong = misspell("The quick Lighthouse", random.Random(seed), frozenset({"lighthouse", "quick"}))
    assert wrong.lower() != "the quick lighthouse"
    changed = [word for word in wrong.split() if word not in ("The", "quick", "Lighthouse")]
    assert len(changed) == 1
    assert len(wrong.split()) == 3


def test_no_slip_is_made_where_no_word_is_long_enough_or_all_are_words() -> None:
    assert misspell("a few tiny ones", random.Random(1), frozenset()) == ""
    every = frozenset({"abcdd", "abccde"})
    assert misspell("abcde", random.Random(1), every) not in every


def test_what_is_worth_asking() -> None:
    assert may_be_asked("mod_rewrite")
    assert may_be_asked("sunken orchard")
    assert not may_be_asked("next")
    assert not may_be_asked("see here")
    assert not may_be_asked("1 2 3")
    assert not may_be_asked("one two three four five six seven eight nine")
    assert is_prose(["that", "nothing", "else", "resembles", "it"])
    assert not is_prose(["that", "that", "else", "resembles", "it"])
    assert not is_prose(["x1", "nothing", "else", "resembles", "it"])


def test_ranks_and_scores() -> None:
    right = frozenset({"b", "c"})
    assert [rank_of(answers, right) for answers in (["a", "b", "c"], ["c"], ["a"], [])] == [2, 1, 0, 0]
    found = score([1, 2, 0, 10])
    assert found.queries == 4
    assert found.mrr == pytest.approx((1 + 0.5 + 0.1) / 4)
    assert (found.first, found.ten) == (0.25, 0.75)
    assert score([]).mrr == 0.0


def test_the_verdict_names_the_kinds_in_which_weft_is_behind() -> None:
    title, body = Query("title", "a", frozenset("a")), Query("body", "b", frozenset("b"))
    ours = by_kind([Outcome(title, 1), Outcome(body, 2)])
    other = by_kind([Outcome(title, 2), Outcome(body, 1)])
    scores = {"weft": ours, "other": other}
    assert verdict(scores, "weft", 0.5) == ["weft is not ahead of other for body: 0.500, 1.000."]
    assert verdict({"weft": ours}, "weft", 0.8) == ["weft reaches MRR@10 0.750 over all, not 0.8."]
    assert "| weft | 0.75 (50/100) | 1.00 (100/100) |" in table(scores)


def test_first_pages_of_a_site_are_never_left_out_and_about_a_tenth_of_the_others_is() -> None:
    hosts = [site.host for pages in SETS for site in pages.sites]
    assert len(set(hosts)) == len(hosts)
    assert not any(is_left_out(host, "index.html") for host in hosts)
    assert 60 < sum(is_left_out("places.test", f"{number}.html") for number in range(1000)) < 140
