"""Whole searches over a small index: which pages are found, in which order, and what is said beside them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.random_webs import RULES
from support.search_world import STORE, SearchWorld
from weft.answers.search import SearchListing, SearchOptions, search_listing
from weft.answers.view import View
from weft.errors import SearchMissing, UsageError
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.records import Doc
from weft.search.local_shards import LocalShards
from weft.search.verify import verify_search


def page(url: str, *links: tuple[str, str], at: int = 1, **doc: object) -> LoadedPage:
    raw = [RawLink(href, anchor) for href, anchor in links]
    return load_page(RULES, RULES.identify(url), at, raw, Doc(**doc))  # type: ignore[arg-type]


class Library:
    """Some pages, and searches over them."""

    def __init__(self, path: Path, *pages: LoadedPage, shards: int = 1) -> None:
        self.world = SearchWorld(path, shards)
        self.world.load(*pages)
        self.world.indexer.finish()

    def search(self, text: str, **options: object) -> SearchListing:
        shards = LocalShards.open(self.world.path, STORE, self.world.settings.shards)
        return search_listing(View(self.world.store), shards, text, SearchOptions(**options))  # type: ignore[arg-type]

    def found(self, text: str, **options: object) -> list[str]:
        return [item.uri for item in self.search(text, **options).items]


@contextmanager
def library(path: Path, *pages: LoadedPage, shards: int = 1) -> Iterator[Library]:
    made = Library(path / "row", *pages, shards=shards)
    yield made
    made.world.close()


PAGES = (
    page("http://tea.com/", text="How to brew green tea in a kettle.", title="Tea", language="en"),
    page("http://pots.com/", text="Kettles, cups and pots.", title="Kettles", language="en"),
    page("http://blog.com/", ("http://tea.com/", "infusion guide"), ("http://far.com/x", "samovar"), text="My blog."),
)


@pytest.fixture(scope="module", params=[1, 3], ids=["one shard", "three shards"])
def books(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with library(tmp_path_factory.mktemp("books"), *PAGES, shards=request.param) as made:
        yield made


@pytest.mark.parametrize(
    ("text", "uris"),
    [
        ("green tea", ["com.tea"]),
        ("brewing", ["com.tea"]),
        ("kettle", ["com.pots", "com.tea"]),
        ('"brew green"', ["com.tea"]),
        ('"green brew"', []),
        ("kettle -green", ["com.pots"]),
        ("cups OR blog", ["com.blog", "com.pots"]),
        ("kett*", ["com.pots", "com.tea"]),
        ("infusion", ["com.tea"]),
        ("samovar", ["com.far/x"]),
        ("intitle:kettles", ["com.pots"]),
        ("intitle:green", []),
        ("inurl:far", ["com.far/x"]),
        ("site:tea.com kettle", ["com.tea"]),
        ("site:tea.com", ["com.tea"]),
        ("-site:tea.com kettle", ["com.pots"]),
        ("lang:en kettle", ["com.pots", "com.tea"]),
        ("lang:de kettle", []),
        ("kettle before:1971", ["com.pots", "com.tea"]),
        ("kettle after:1971", []),
        ("site:far.com/x", ["com.far/x"]),
        ("site:far.com/y", []),
    ],
)
def test_a_query_finds_these_pages(books: Library, text: str, uris: list[str]) -> None:
    assert sorted(books.found(text)) == sorted(uris)


def test_a_page_named_so_is_first(books: Library) -> None:
    assert books.found("kettles")[0] == "com.pots"
    assert books.found("tea")[0] == "com.tea"


def test_a_misspelt_word_is_corrected_and_that_is_said(books: Library) -> None:
    answer = books.search("kettel green")
    assert answer.corrected == {"kettel": "kettle"}
    assert [item.uri for item in answer.items] == ["com.tea"]


def test_some_words_are_better_than_nothing_and_that_is_said(books: Library) -> None:
    answer = books.search("samovar blog")
    assert not answer.all_words
    assert {item.uri for item in answer.items} == {"com.far/x", "com.blog"}


def test_an_answer_has_titles_snippets_and_facets(books: Library) -> None:
    answer = books.search("brew kettle")
    (item,) = answer.items
    assert (item.title, item.url, item.crawled) == ("Tea", "http://tea.com/", True)
    assert [item.snippet[a:b] for a, b in item.marks] == ["brew", "kettle"]
    assert [(facet.value, facet.count) for facet in answer.domains] == [("tea.com", 1)]
    assert [(facet.value, facet.count) for facet in answer.languages] == [("en", 1)]
    assert answer.total == 1
    assert answer.total_is_exact


def test_the_parts_of_a_score_add_up(books: Library) -> None:
    (item,) = books.search("green tea", explain=True).items
    assert item.parts is not None
    assert {part.name for part in item.parts} >= {"green", "tea", "green tea", "1 references"}
    assert sum(part.score for part in item.parts) == pytest.approx(item.score, abs=0.01)


def test_pairs_of_common_words_count_only_if_there_are_no_others(tmp_path: Path) -> None:
    pages = [page(f"http://a.com/{n}", text=f"this is all about word{n}") for n in range(60)]
    with library(tmp_path, *pages) as made:
        assert {"about word7", '"is all about word7"'} <= _parts(made, "is all about word7")
        assert not {"is all", "all about"} & _parts(made, "is all about word7")
        assert "is all" in _parts(made, "is all")


def _parts(made: Library, text: str) -> set[str]:
    return {part.name for part in made.search(text, explain=True).items[0].parts or ()}


INFLECTED = {
    "en": ("The runners were running home.", "run", "running"),
    "de": ("Die Häuser stehen am Fluss.", "haus", "häuser"),
    "fr": ("Les chevaux mangeaient lentement.", "manger", "mangeaient"),
    "es": ("Los niños comieron manzanas.", "manzana", "manzanas"),
    "it": ("I ragazzi leggevano libri.", "libro", "libri"),
    "pt": ("As crianças brincavam nos jardins.", "jardim", "jardins"),
    "nl": ("De huizen zijn mooi geschilderd.", "huis", "huizen"),
    "sv": ("Pojkarna läste böckerna.", "pojkar", "pojkarna"),
    "ru": ("Старые книги лежали на столе.", "книга", "книги"),
    "fi": ("Talojen katot ovat punaisia.", "talo", "talojen"),
    "hu": ("A házakban emberek laknak.", "házak", "házakban"),
    "tr": ("Kitapları masada buldum.", "kitap", "kitapları"),
}


@pytest.fixture(scope="module")
def tower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    pages = [page(f"http://{tag}.com/", text=text, language=tag) for tag, (text, _, _) in INFLECTED.items()]
    pages += [
        page("http://ja.com/", text="日本語の全文検索エンジン", language="ja"),
        page("http://zh.com/", text="我们喜欢搜索引擎", language="zh"),
        page("http://ko.com/", text="한국어 검색엔진", language="ko"),
        page("http://th.com/", text="ภาษาไทยไม่มีช่องว่าง", language="th"),
        page("http://el.com/", text="Τα παιδιά παίζουν", language="el"),
        page("http://he.com/", text="שָׁלוֹם עולם", language="he"),
    ]
    with library(tmp_path_factory.mktemp("tower"), *pages) as made:
        yield made


def test_a_word_that_is_remembered_is_read_in_the_languages_of_each_index(tmp_path: Path) -> None:
    text = "Chevaux and horses."
    french, english = (page(f"http://{tag}.com/", text=text, language=tag) for tag in ("fr", "en"))
    with library(tmp_path / "fr", french) as first, library(tmp_path / "en", english) as second:
        for _ in range(2):
            assert (first.found("cheval"), second.found("cheval")) == (["com.fr"], [])
            assert second.found("horse") == ["com.en"]
            assert (second.found("horse"), second.found("intitle:horse")) == (["com.en"], [])


# Stems of these two forms differ: the stemmer is not a dictionary.
UNLIKE = {"nl", "pt"}


@pytest.mark.parametrize("tag", INFLECTED)
def test_a_page_is_found_by_the_form_that_it_has_and_by_another_one(tower: Library, tag: str) -> None:
    _, other, exact = INFLECTED[tag]
    assert tower.found(exact) == [f"com.{tag}"]
    if tag not in UNLIKE:
        assert tower.found(other) == [f"com.{tag}"]


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("検索", "com.ja"),
        ("全文検索エンジン", "com.ja"),
        ("本", "com.ja"),
        ("搜索引擎", "com.zh"),
        ("검색", "com.ko"),
        ("ภาษาไทย", "com.th"),
        ("παιδια", "com.el"),
        ("ΠΑΙΔΙΆ", "com.el"),
        ("שלום", "com.he"),
        ("hauser", "com.de"),
        ("HÄUSER", "com.de"),
        ("ninos", "com.es"),
        ("ﬁne OR mangeaient", "com.fr"),
    ],
)
def test_scripts_without_spaces_and_accents(tower: Library, text: str, uri: str) -> None:
    assert tower.found(text) == [uri]


def test_characters_in_another_order_are_another_word(tower: Library) -> None:
    assert tower.found("索検") == []


def test_near_duplicates_and_canonicals_are_one_result(tmp_path: Path) -> None:
    text = "A long text about lighthouses that stand along the coast and warn ships at night. " * 5
    pages = [
        page("http://a.com/", text=text, simhash=7),
        page("http://b.com/", text=text, simhash=7),
        page("http://c.com/print", text="lighthouses for printing", canonical="http://c.com/"),
        page("http://c.com/", text="lighthouses"),
    ]
    with library(tmp_path, *pages) as made:
        answer = made.search("lighthouses")
        assert sorted((item.uri, item.folded) for item in answer.items) in (
            [("com.a", 1), ("com.c", 1)],
            [("com.b", 1), ("com.c", 1)],
        )
        assert len(made.found("lighthouses", fold=False)) == 4


def test_pages_of_results_hold_every_page_once(tmp_path: Path) -> None:
    pages = [page(f"http://s{n % 40}.com/{n}", text=f"common word{n}") for n in range(250)]
    with library(tmp_path, *pages) as made:
        seen: list[str] = []
        cursor = None
        while True:
            answer = made.search("common", limit=30, cursor=cursor)
            assert max(map([item.domain for item in answer.items].count, {i.domain for i in answer.items})) <= 2
            seen += [item.uri for item in answer.items]
            cursor = answer.next
            if cursor is None:
                break
        assert len(seen) == len(set(seen)) == 250


def test_one_domain_alone_fills_the_page(tmp_path: Path) -> None:
    with library(tmp_path, *(page(f"http://a.com/{n}", text=f"common word{n}") for n in range(30))) as made:
        assert len(made.found("common")) == 10
        assert len(made.found("common", per_domain=3)) == 3


def test_of_pages_that_match_alike_the_more_referenced_is_first(tmp_path: Path) -> None:
    pages = [page(f"http://{name}.com/", text="the same words") for name in "abcdef"]
    links = [page(f"http://l{n}.com/", ("http://d.com/", "")) for n in range(20)]
    with library(tmp_path, *pages, *links) as made:
        assert made.found("same words")[0] == "com.d"


HOSTILE = [
    " ".join(f"w{n}" for n in range(400)),
    "(" * 1000 + "tea" + ")" * 1000,
    '"' * 1999,
    "a" * 2000,
    "tea " + "OR tea " * 200,
    ".*" * 500,
    "[a-z]+ (tea|kettle)* \\d{1,1000}",
    "te* ke* gr* br* cu*",
    "\x00\x01\x1b[31m tea \x7f",
    "tea AND OR NOT - + : site: lang: after: before:",
    "site:" + "a." * 500,
    "after:99999-99-99 before:0000 tea",
    "𝔱𝔢𝔞 🫖 \U000e0041 \U00010000 \U0010ffff tea",
    "inurl:../../etc/passwd intitle:<script>",
    "%00 tea&q=1;drop table",
    "猫" * 1000,
    "ภ" * 500,
    "e\u0301" * 900,
]


def said(books: Library, text: str) -> list[str]:
    """The notes of an answer, or the sentence that refuses the query."""
    try:
        return books.search(text).notes
    except UsageError as error:
        return [str(error)]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_query_is_answered(books: Library, text: str) -> None:
    assert "\n" not in "".join(said(books, text))


@settings(max_examples=150)
@given(text=st.text(max_size=300))
def test_any_text_is_a_query_or_refused_with_a_sentence(books: Library, text: str) -> None:
    assert "\n" not in "".join(said(books, text))


def test_a_hundred_thousand_words_are_refused_at_once(books: Library) -> None:
    began = perf_counter()
    with pytest.raises(UsageError, match="at most 2,048 characters; this one has"):
        books.search("word " * 100_000)
    assert perf_counter() - began < 30  # a bound against hanging, not a measure of speed


@pytest.mark.parametrize(("limit", "cursor"), [(0, None), (101, None), (10, "x"), (10, "-1"), (10, "1e3")])
def test_a_wrong_limit_or_cursor_is_refused(books: Library, limit: int, cursor: str | None) -> None:
    with pytest.raises(UsageError):
        books.search("tea", limit=limit, cursor=cursor)


def test_a_cursor_beyond_the_end_is_an_empty_page(books: Library) -> None:
    answer = books.search("tea", cursor="9")
    assert answer.items == []
    assert answer.next is None


def test_a_home_without_search_says_so(tmp_path: Path) -> None:
    with pytest.raises(SearchMissing, match="there is none yet"):
        LocalShards.open(tmp_path / "row", STORE, 1)


def test_what_cannot_be_written_can_be_searched(make_disk: Callable[[str], Path]) -> None:
    disk = make_disk("64m")
    with library(disk, *PAGES) as made:
        made.world.indexer.close()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        shards = LocalShards.open(made.world.path, STORE, 1)
        shards.refresh()
        answer = search_listing(View(made.world.store), shards, "green tea", SearchOptions())
        assert [item.uri for item in answer.items] == ["com.tea"]
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


def verified(world: SearchWorld, place: Path) -> tuple[int, list[str]]:
    found = verify_search(world.store, world.directories(), place, lambda what, number: None)
    return found.differences, found.examples


def test_the_check_notices_what_is_missing_too_much_doubled_old_or_without_a_word(tmp_path: Path) -> None:
    with library(tmp_path, *PAGES) as made:
        world = made.world
        assert verified(world, tmp_path) == (0, [])
        shard = world.indexer._shards[0].writer
        shard.put("com.tea", None)
        shard.commit(shard.cursors)
        assert "com.tea is not found by search, and should be" in verified(world, tmp_path)[1]
        assert "com.tea is not found by 'tea' in title" in verified(world, tmp_path)[1]
        (document,) = world.indexer._source.documents([b"com.pots"])
        assert document is not None
        shard.add(document)
        shard.commit(shard.cursors)
        assert "com.pots is in the search index 2 times" in verified(world, tmp_path)[1]
    with library(tmp_path / "again", *PAGES) as made:
        batch_at = made.world.store.last_seq
        made.world.load(page("http://pots.com/", at=2, text="Something else."))
        found = verify_search(made.world.store, made.world.directories(), tmp_path, lambda what, number: None)
        assert found.behind == made.world.store.last_seq - batch_at == 1
        assert "com.pots is found by search as it was before" in found.examples
        assert "com.pots is not found by 'else' in text" in found.examples


def test_a_random_library_is_searched_by_any_of_its_words(tmp_path: Path) -> None:
    random = Random(5)
    vocabulary = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]
    texts = {f"http://p{n}.com/": random.sample(vocabulary, 12) for n in range(60)}
    with library(tmp_path, *(page(url, text=" ".join(said)) for url, said in texts.items())) as made:
        for word in random.sample(vocabulary, 40):
            having = {RULES.identify(url).uri for url, said in texts.items() if word in said}
            if having:
                assert set(made.found(word, limit=100, fold=False, per_domain=0)) == having


def test_dates_are_those_of_the_content(tmp_path: Path) -> None:
    first = int(datetime(2024, 5, 1, tzinfo=UTC).timestamp() * 1000)
    later = int(datetime(2025, 5, 1, tzinfo=UTC).timestamp() * 1000)
    with library(tmp_path, page("http://a.com/", at=first, text="news of may")) as made:
        made.world.load(page("http://a.com/", at=later, text="news of may"))
        made.world.indexer.finish()
        assert made.found("news after:2024-04 before:2024-06") == ["com.a"]
        assert made.found("news after:2025") == []
        assert made.search("news").items[0].changed == "2024-05-01T00:00:00Z"


@pytest.mark.parametrize("length", [480, 980, 2000])
def test_an_address_in_a_filter_may_be_as_long_as_a_query(books: Library, length: int) -> None:
    answer = books.search(f"site:far.com/x{'a' * length}")
    assert answer.items == []
    assert any("500 characters of a site" in note for note in answer.notes) == (length > 480)


def test_of_many_misspelt_words_the_first_few_are_corrected(books: Library) -> None:
    answer = books.search(" OR ".join(["kettel", *(f"zzqx{letter}w" for letter in "abc")]) + " " + "zzqyw " * 20)
    assert answer.items
    assert len(answer.corrected) <= 8
