"""The rows of an export are what the index counts and what weft answers, whatever the web and its history."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.exported_rows import DAY, RULES, Row, fail_link, index_of, page, rows_of, small_blocks
from support.random_webs import histories, newest_pages
from support.small_webs import naive_cells
from weft.answers.index import Index
from weft.answers.objects import moment
from weft.errors import NotKnown, UsageError, WeftError
from weft.export.export import ExportWrong, export
from weft.export.plan import plan
from weft.export.request import Direction, ExportRequest, Format, Subject
from weft.export.urls import ShownUrls
from weft.export.whole_file import Sink
from weft.linkindex import keys
from weft.linkindex.batch import PageUnreadable, expected_cells
from weft.linkindex.loaded import LoadedPage, load_gone
from weft.linkindex.records import Doc
from weft.model.domain import Domain
from weft.model.fetch_error import FetchError
from weft.model.url import Uri
from weft.store.api import Batch, Reader
from weft.store.encoding import split_key
from weft.store.memory import MemoryStore

LINKS, PAGES, DOMAINS = Subject.LINKS, Subject.PAGES, Subject.DOMAINS

counts = st.sampled_from(["all", "external"])
sizes = st.integers(1, 9)
some_domains = st.lists(st.sampled_from(["a.com", "b.com", "c.co.uk", "d.org", "1.2.3.4", "e.com"]), unique=True)


def batch_references(cells: dict[bytes, bytes]) -> dict[tuple[str, str], str]:
    """(source, target) and anchor of every reference that the batch program counts."""
    found = {}
    for key, anchor in cells.items():
        table, row, family, qualifier = split_key(key)
        if table == b"q" and family == keys.INLINKS:
            found[qualifier.decode(), row[2:].decode()] = anchor.decode()
    return found


def references_in(rows: list[Row]) -> dict[tuple[str, str], str]:
    found = {(row["source_uri"], row["target_uri"]): row["anchor"] for row in rows}
    assert len(found) == len(rows), "no reference is a row twice"
    return found


@given(histories, counts, sizes)
def test_links_are_exactly_the_references_of_the_batch_program(
    tmp_path_factory: pytest.TempPathFactory, history: list[LoadedPage], count: str, size: int
) -> None:
    directory = tmp_path_factory.getbasetemp()
    store = index_of([history], count)
    with small_blocks(size):
        rows = rows_of(store, ExportRequest(LINKS), directory)
    assert references_in(rows) == batch_references(dict(expected_cells(store, count, directory)))
    naive = naive_cells(newest_pages(history).values(), external=count == "external")
    assert references_in(rows) == batch_references(naive)
    assert len(rows) == sum(row["references"] for row in rows_of(store, ExportRequest(PAGES), directory))
    assert [row["source_uri"] for row in rows] == sorted(row["source_uri"] for row in rows)


@given(histories, counts, sizes)
def test_links_say_what_the_answers_say(
    tmp_path_factory: pytest.TempPathFactory, history: list[LoadedPage], count: str, size: int
) -> None:
    store = index_of([[one] for one in history], count)
    with small_blocks(size):
        rows = rows_of(store, ExportRequest(LINKS), tmp_path_factory.getbasetemp())
    index = Index(store, RULES)
    for target in index.top(limit=1000).items:
        answer = index.links(target.url, limit=1000)
        found = sorted((row for row in rows if row["target_uri"] == target.uri), key=lambda row: row["source_uri"])
        assert {row["target_url"] for row in found} <= {answer.url}
        assert [
            (row["source_uri"], row["source_url"], row["anchor"], row["rel"], moment(row["since"])) for row in found
        ] == [(item.uri, item.url, item.anchor, item.rel, item.since) for item in answer.items]
    for row in rows:
        assert row["source_domain"] == RULES.identify(row["source_url"]).domain
        assert row["target_domain"] == RULES.identify(row["target_url"]).domain


@given(histories, counts, sizes)
def test_pages_say_what_the_answers_say(
    tmp_path_factory: pytest.TempPathFactory, history: list[LoadedPage], count: str, size: int
) -> None:
    store = index_of([[one] for one in history], count)
    with small_blocks(size):
        rows = rows_of(store, ExportRequest(PAGES), tmp_path_factory.getbasetemp())
    index = Index(store, RULES)
    assert sorted(row["uri"] for row in rows) == sorted(item.uri for item in index.top(limit=1000).items)
    assert [row["uri"] for row in rows] == sorted(row["uri"] for row in rows)
    for row in rows:
        answer = index.page(row["url"])
        for name in row.keys() - {"fetched", "next_due", "failing_since", "language", "description", "left_out"}:
            assert row[name] == getattr(answer, name)
        assert answer.fetched == (None if row["fetched"] is None else moment(row["fetched"]))
        assert (row["language"] is None) == (row["description"] is None) == (not row["crawled"])


def test_pages_tell_what_was_found_and_when_they_are_due(tmp_path: Path) -> None:
    at, moved = RULES.identify("https://a.com/moved"), "https://b.com/new"
    facts = Doc(status=301, location=moved)
    links = [("https://a.com/moved", "m"), ("https://a.com/x.pdf", "x"), ("https://a.com/bad", "b")]
    pdf = load_gone(
        RULES.identify("https://a.com/x.pdf"), DAY, Doc(status=200, type="application/pdf", bytes=7, nofollow=True)
    )
    home = page("https://a.com/", links, status=200, type="text/html", bytes=9, canonical=moved, noindex=True, h1="H")
    store = index_of([[home, load_gone(at, DAY, facts), pdf]])
    fail_link(store, "https://a.com/bad", status=503, error="http")
    rows = {row["url"]: row for row in rows_of(store, ExportRequest(PAGES), tmp_path)}
    index = Index(store, RULES)

    def told(url: str, *names: str) -> tuple[object, ...]:
        assert {name: getattr(index.page(url), name) for name in names} == {name: rows[url][name] for name in names}
        return tuple(rows[url][name] for name in names)

    assert told("https://a.com/moved", "state", "status", "redirect", "h1") == ("redirect", 301, moved, None)
    assert told("https://a.com/x.pdf", "state", "type", "bytes", "robots") == ("file", "application/pdf", 7, None)
    found = told("https://a.com/", "state", "canonical", "robots", "h1", "depth")
    assert found == ("page", moved, "noindex", "H", None)
    assert told("https://a.com/bad", "state", "status", "depth", "type") == ("failing", 503, 2, None)
    bad = rows["https://a.com/bad"]
    assert (bad["next_due"], bad["failing_since"], bad["reason"]) == (9 * DAY, 7 * DAY, FetchError.HTTP.sentence)


@given(histories, counts, sizes)
def test_domains_say_what_the_answers_say(
    tmp_path_factory: pytest.TempPathFactory, history: list[LoadedPage], count: str, size: int
) -> None:
    store = index_of([history], count)
    with small_blocks(size):
        rows = rows_of(store, ExportRequest(DOMAINS), tmp_path_factory.getbasetemp())
    items = Index(store, RULES).domains(limit=1000).items
    assert rows == [{name: getattr(item, name) for name in ("domain", "pagecount", "references")} for item in items]


@given(histories, counts, sizes, some_domains, st.one_of(st.none(), st.integers(1, 6)))
def test_a_part_by_domain_and_time_is_that_part_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[LoadedPage],
    count: str,
    size: int,
    names: list[str],
    since: int | None,
) -> None:
    directory, store = tmp_path_factory.getbasetemp(), index_of([history], count)
    known = {row["domain"] for row in rows_of(store, ExportRequest(DOMAINS), directory)}
    domains = tuple(Domain(name) for name in names if name in known)

    def is_wanted(row: Row, domain: str, at: str) -> bool:
        is_late = since is None or (row[at] is not None and row[at] >= since)
        return is_late and (not domains or row[domain] in domains)

    links, pages = rows_of(store, ExportRequest(LINKS), directory), rows_of(store, ExportRequest(PAGES), directory)
    with small_blocks(size):
        found = rows_of(store, ExportRequest(LINKS, domains, since=since), directory)
        assert found == [row for row in links if is_wanted(row, "target_domain", "since")]
        found = rows_of(store, ExportRequest(PAGES, domains, since=since), directory)
        expected = [row for row in pages if is_wanted(row, "domain", "fetched")]
        assert sorted(found, key=lambda row: str(row["uri"])) == expected
        if domains:
            found = rows_of(store, ExportRequest(LINKS, domains, Direction.OUT, since), directory)
            assert found == [row for row in links if is_wanted(row, "source_domain", "since")]
            of_domains = {row["domain"] for row in rows_of(store, ExportRequest(DOMAINS, domains), directory)}
            assert of_domains == set(domains)


@given(histories, sizes, st.integers(1, 12), st.sampled_from([*Subject]))
def test_a_limit_gives_the_first_rows(
    tmp_path_factory: pytest.TempPathFactory, history: list[LoadedPage], size: int, limit: int, subject: Subject
) -> None:
    directory, store = tmp_path_factory.getbasetemp(), index_of([history])
    whole = rows_of(store, ExportRequest(subject), directory)
    with small_blocks(size):
        assert rows_of(store, ExportRequest(subject, limit=limit), directory) == whole[:limit]


def test_pages_of_a_domain_come_with_the_most_referenced_first(tmp_path: Path) -> None:
    links = [("https://a.com/x",), ("https://a.com/y",)]
    store = index_of([[page("https://b.com/1", links), page("https://b.com/2", links[1:]), page("https://a.com/z")]])
    rows = rows_of(store, ExportRequest(PAGES, (Domain("a.com"),)), tmp_path)
    assert [(row["uri"], row["references"]) for row in rows] == [("com.a/y", 2), ("com.a/x", 1), ("com.a/z", 0)]


def test_a_page_tells_its_language_and_description_and_one_that_went_when_it_went(tmp_path: Path) -> None:
    told = page("https://a.com/", [("https://b.com/",)], language="de", description="Über „uns“", text="word " * 999)
    store = index_of([[told, page("https://b.com/")], [load_gone(RULES.identify("https://b.com/"), 2 * DAY)]])
    first, second = rows_of(store, ExportRequest(PAGES), tmp_path)
    assert (first["language"], first["description"]) == ("de", "Über „uns“")
    assert (second["state"], second["crawled"], second["fetched"]) == ("gone", False, 2 * DAY)
    assert (second["title"], second["language"], second["outlinkcount"]) == (None, None, None)


def test_a_page_that_is_only_referenced_is_shown_as_its_references_say(tmp_path: Path) -> None:
    both, plain = ("http://x.com/both",), ("http://x.com/plain",)
    pages = [page("https://a.com/", [both, plain]), page("https://b.com/", [("https://x.com/both",), plain])]
    rows = rows_of(index_of([pages]), ExportRequest(LINKS), tmp_path)
    assert {row["target_url"] for row in rows} == {"https://x.com/both", "http://x.com/plain"}


def test_a_loaded_target_is_shown_as_it_was_fetched(tmp_path: Path) -> None:
    pages = [
        page("https://a.com/", [("https://x.com:80/odd",), ("https://y.com:80/odd",)]),
        page("http://x.com:443/odd"),
    ]
    rows = rows_of(index_of([pages]), ExportRequest(LINKS), tmp_path)
    assert [(row["target_uri"], row["target_url"]) for row in rows] == [
        ("com.x/odd", "http://x.com:443/odd"),
        ("com.y/odd", "https://y.com/odd"),
    ]


def test_many_sources_of_one_domain_are_read_once_each_with_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.export.sources.SORT_MEMORY", 4096)
    monkeypatch.setattr("weft.export.sources._SORTED_AT_ONCE", 7)
    targets = [(f"https://t.com/{number}",) for number in range(5)]
    store = index_of([[page(f"https://s{number}.com/", targets) for number in range(200)]])
    rows = rows_of(store, ExportRequest(LINKS, (Domain("t.com"),)), tmp_path)
    assert len(references_in(rows)) == 1000
    assert [row["source_uri"] for row in rows] == sorted(row["source_uri"] for row in rows)


def test_large_pages_make_blocks_of_few_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [page(f"https://a.com/{n}", [("https://b.com/", "w" * 200)], description="d" * 300) for n in range(20)]
    store = index_of([pages])

    def rows_in_blocks(subject: Subject) -> list[int]:
        return [block.rows for block in plan(store, ExportRequest(subject), tmp_path).blocks if block.rows]

    assert (rows_in_blocks(LINKS), rows_in_blocks(PAGES)) == ([20], [21])
    monkeypatch.setattr("weft.export.links.BLOCK_BYTES", 1000)
    monkeypatch.setattr("weft.export.pages.BLOCK_CHARACTERS", 1000)
    assert (rows_in_blocks(LINKS), rows_in_blocks(PAGES)) == ([4] * 5, [4] * 5 + [1])


def test_only_so_many_urls_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.export.urls.REMEMBERED", 10)
    urls = ShownUrls(MemoryStore())
    for number in range(100):
        uris, shown = [Uri(f"com.a/{number}")], [f"https://a.com/{number}"]
        urls.remember(uris, shown)
        assert urls.of_targets([Uri("com.b"), *uris], ["https://b.com/", *shown]) == ["https://b.com/", *shown]
        assert len(urls._known) <= 12


@pytest.mark.parametrize("subject", Subject)
def test_an_empty_index_has_no_rows(tmp_path: Path, subject: Subject) -> None:
    assert rows_of(MemoryStore(), ExportRequest(subject), tmp_path) == []


@pytest.mark.parametrize("subject", Subject)
def test_a_domain_that_is_not_known_is_said(tmp_path: Path, subject: Subject) -> None:
    with pytest.raises(NotKnown, match=r"no pages of x\.com are known"):
        rows_of(index_of([[page("https://a.com/")]]), ExportRequest(subject, (Domain("x.com"),)), tmp_path)


def test_domains_cannot_be_chosen_by_time_nor_pages_by_direction() -> None:
    with pytest.raises(UsageError, match="domains have no time"):
        ExportRequest(DOMAINS, since=1)
    with pytest.raises(UsageError, match="needs links and a domain"):
        ExportRequest(PAGES, (Domain("a.com"),), Direction.OUT)
    with pytest.raises(UsageError, match="needs links and a domain"):
        ExportRequest(LINKS, direction=Direction.OUT)


class _Nowhere(Sink):
    def __init__(self) -> None:
        self.size, self.closed = 0, False

    def write(self, data: bytes) -> int:
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        pass


def export_nowhere(reader: Reader, request: ExportRequest, directory: Path) -> int:
    return export(reader, request, _Nowhere(), directory, form=Format.JSONL).rows


def test_more_or_fewer_rows_than_the_index_counts_are_an_error(tmp_path: Path) -> None:
    store = index_of([[page("https://a.com/", [("https://b.com/",), ("https://c.com/",)])]])
    assert export_nowhere(store, ExportRequest(LINKS), tmp_path) == 2
    batch = Batch()
    batch.add({keys.page_cur(b"com.a"): page("https://a.com/", [("https://b.com/",)]).cur})
    batch.add({keys.page_since(b"com.a"): b"[1]"})
    store.write(batch, 2)
    with pytest.raises(ExportWrong, match="read 1 links where the index counts 2; run `weft verify`"):
        export_nowhere(store, ExportRequest(LINKS), tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (keys.page_cur(b"com.a"), b"{"),
        (keys.page_cur(b"com.a"), b'{"url":"https://a.com/","outlinkcount":1,"outlinks":[{"url":"https:///"}]}'),
        (keys.page_cur(b"com.a"), b'{"url":"https://a.com/","outlinkcount":1,"outlinks":[{"url":"no url"}]}'),
        (keys.page_since(b"com.a"), b"[1,2]"),
        (keys.page_since(b"com.a"), b"["),
    ],
)
def test_a_page_that_cannot_be_read_is_named(tmp_path: Path, key: bytes, value: bytes) -> None:
    store = index_of([[page("https://0.com/"), page("https://a.com/", [("https://b.com/",)])]])
    batch = Batch()
    batch.add({key: value})
    store.write(batch, 2)
    with pytest.raises(PageUnreadable, match=r"p:com\.a "):
        export_nowhere(store, ExportRequest(LINKS), tmp_path)
    assert issubclass(PageUnreadable, WeftError)


def test_a_page_that_names_a_target_twice_counts_once_as_in_the_batch_program(tmp_path: Path) -> None:
    cur = (
        b'{"url":"https://a.com/","outlinkcount":2,"outlinks":'
        b'[{"url":"https://b.com/","anchor":"one"},{"url":"http://b.com/","anchor":"two"}]}'
    )
    store = MemoryStore()
    batch = Batch()
    batch.add({keys.page_cur(b"com.a"): cur})
    store.write(batch, 1)
    batch = Batch()
    batch.add(dict(expected_cells(store, "all", tmp_path)))
    store.write(batch, 2)
    rows = rows_of(store, ExportRequest(LINKS), tmp_path)
    assert [(row["anchor"], row["since"]) for row in rows] == [("one", None)]
    assert export_nowhere(store, ExportRequest(LINKS), tmp_path) == 1
