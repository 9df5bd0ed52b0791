"""The index builder: what each outcome of a fetch does, exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from weft.answers.index import Index
from weft.archive.records import Exchange
from weft.archive.writer import ArchiveWriter
from weft.clock import ManualClock
from weft.config import Settings
from weft.config.crawl_sections import DispatcherSettings
from weft.config.index_sections import IndexSettings
from weft.dispatcher.iterate import Dispatcher
from weft.dispatcher.records import LinkRecord, decode_record, link_column
from weft.dispatcher.scope import Scope
from weft.errors import NotKnown
from weft.index import handlers
from weft.index.builder import Builder, Built
from weft.index.handlers import HandledPage, Handlers
from weft.index.parsing import reading_all
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.verify import verify
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NewLink, NodeType, Result, Site, WarcPosition
from weft.model.domain import reversed_domain
from weft.model.url import UrlRules
from weft.store.memory import MemoryStore
from weft.store.tables import Table

RULES = UrlRules()
HTML = "text/html; charset=utf-8"
SETTINGS = DispatcherSettings()


class World:
    """A control plane, an archive and an index; fetches happen by saying what came back."""

    def __init__(self, place: Path) -> None:
        self.place, self.clock = place, ManualClock(1_770_000_000_000)
        self.mgmt, self.store = MemoryMgmt(self.clock), MemoryStore()
        self.archive = ArchiveWriter(place / "warc", clock=self.clock)
        self.crawler = self.mgmt.register(NodeType.CRAWLER, "crawler")
        self.lease = self.mgmt.register(NodeType.INDEX_BUILDER, "builder")
        self.scope = Scope([Site(name="*", scope="any")], SETTINGS)
        self.handled: list[HandledPage] = []
        settings = Settings()
        self._reading = reading_all(settings, RULES, place / "warc", workers=1)
        self.builder = Builder(
            self.store,
            LinkIndex(self.store, IndexSettings(), self.clock),
            self._reading.__enter__(),
            SETTINGS,
            self.clock,
        )
        self.dispatcher = Dispatcher(self.store, self.mgmt, SETTINGS, self.clock)

    def close(self) -> None:
        self._reading.__exit__(None, None, None)

    def fetch(self, url: str, body: str = "", status: int = 200, kind: str = HTML, **about: str) -> None:
        """`url` was asked and this came back; an `error` in place of an answer."""
        page = RULES.identify(url)
        self.mgmt.add([NewLink(page.uri, page.url, "host")])
        chunk = self.mgmt.claim(self.crawler, 1)
        assert chunk is not None
        link = chunk.links[0]
        assert link.url == page.url
        self.clock.advance(1)
        now = self.clock.now()
        position = None
        if "error" not in about:
            head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n\r\n".encode()
            exchange = Exchange(
                url=page.url, ip="192.0.2.1", started=now, request=b"GET / HTTP/1.1\r\n\r\n",
                head=head, body=body.encode(), status=status, content_type=kind,
            )  # fmt: skip
            found = self.archive.store([exchange])[0]
            position = WarcPosition("spider", *found)
        result = Result(
            doc_id=link.doc_id, claim=link.claim, status=0 if "error" in about else status, position=position,
            started=now, ended=now, content_type=kind, **about,
        )  # fmt: skip
        assert self.mgmt.report([result]) == [True]

    def build(self) -> Built:
        chunks = self.mgmt.take_crawled(self.lease)
        built = self.builder.build(chunks, self.scope)
        for chunk in chunks:
            assert self.mgmt.built(self.lease, chunk.id, chunk.attempt)
            self.builder.reported(chunk.id)
        assert verify(self.store, "all", self.place).differences == 0
        return built

    def crawl(self, url: str, body: str = "", status: int = 200, kind: str = HTML, **about: str) -> None:
        self.fetch(url, body, status, kind, **about)
        self.build()

    def again(self) -> None:
        """Let a link that was crawled be asked again."""
        self.clock.advance(40 * 86_400)
        assert self.dispatcher.step(self.scope, 100).given >= 1

    def record(self, url: str) -> LinkRecord | None:
        page = RULES.identify(url)
        column = link_column(reversed_domain(page.domain).encode(), page.uri.encode())
        cell = self.store.get(Table.LINKS, [column])[0]
        return decode_record(cell.value) if cell else None

    @property
    def answers(self) -> Index:
        return Index(self.store, RULES)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_a_page_is_loaded_and_its_links_are_found(world: World) -> None:
    world.fetch("https://a.com/", "<title>A</title><p>Words <a href=/b>see b</a> <a href='http://c.com/'>C</a>")
    built = world.build()
    assert (built.results, built.pages, built.links, built.discovered) == (1, 1, 2, 2)
    page = world.answers.page("https://a.com/")
    assert (page.title, page.outlinkcount, page.crawled) == ("A", 2, True)
    assert [(item.uri, item.anchor) for item in world.answers.links("https://a.com/b").items] == [("com.a", "see b")]
    found = world.record("https://a.com/b")
    assert found is not None
    assert (found.depth, found.source, found.place) == (1, "com.a", "new")


def test_nofollow_counts_but_is_not_followed(world: World) -> None:
    world.crawl("https://a.com/", "<a href=/b rel='nofollow ugc'>b</a>")
    assert world.answers.page("https://a.com/b").references == 1
    assert world.record("https://a.com/b") is None
    world.crawl("https://b.com/", "<meta name=robots content=nofollow><a href=/c>c</a>")
    assert world.answers.page("https://b.com/c").references == 1
    assert world.record("https://b.com/c") is None


def test_a_redirect_removes_the_page_and_its_target_is_found_without_a_reference(world: World) -> None:
    world.crawl("https://a.com/old", "<a href=/x>x</a>")
    world.again()
    world.crawl("https://a.com/old", status=301, location="/new")
    assert world.answers.page("https://a.com/old").state == "gone"
    with pytest.raises(NotKnown):
        world.answers.page("https://a.com/new")
    target, moved = world.record("https://a.com/new"), world.record("https://a.com/old")
    assert target is not None
    assert moved is not None
    assert (target.depth, moved.location) == (0, "com.a/new")


def test_a_redirect_to_the_same_uri_changes_the_url_once(world: World) -> None:
    world.crawl("http://a.com/", status=301, location="https://a.com/")
    record = world.record("http://a.com/")
    assert record is not None
    assert (record.url, record.turned) == ("https://a.com/", True)
    assert world.dispatcher.step(world.scope, 10).given == 1
    world.crawl("https://a.com/", "hello")
    assert world.answers.page("a.com").url == "https://a.com/"


def test_not_modified_keeps_everything_and_moves_the_version(world: World) -> None:
    world.crawl("https://a.com/", "<a href=/b>b</a>", etag='"1"')
    first = world.answers.page("https://a.com/").fetched
    world.again()
    world.crawl("https://a.com/", status=304)
    page = world.answers.page("https://a.com/")
    assert (page.crawled, page.outlinkcount) == (True, 1)
    assert first is not None
    assert page.fetched is not None
    assert page.fetched > first
    record = world.record("https://a.com/")
    assert record is not None
    assert record.etag == '"1"'


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_gone_is_removed(world: World, status: int) -> None:
    world.crawl("https://a.com/", "<a href=/b>b</a>")
    world.again()
    world.crawl("https://a.com/", status=status)
    assert world.answers.page("https://a.com/").state == "gone"
    with pytest.raises(NotKnown):
        world.answers.page("https://a.com/b")


@pytest.mark.parametrize(
    ("status", "about", "error"), [(500, {}, "http"), (403, {}, "http"), (200, {"error": "timeout"}, "timeout")]
)
def test_other_failures_keep_the_page(world: World, status: int, about: dict[str, str], error: str) -> None:
    world.crawl("https://a.com/", "<a href=/b>b</a>")
    world.again()
    world.crawl("https://a.com/", status=status, **about)
    assert world.answers.page("https://a.com/").crawled
    record = world.record("https://a.com/")
    assert record is not None
    assert (record.error, record.failures) == (error, 1)


def test_what_is_no_page_is_removed(world: World) -> None:
    world.crawl("https://a.com/x", "<a href=/b>b</a>")
    world.again()
    world.crawl("https://a.com/x", "%PDF", kind="application/pdf")
    assert world.answers.page("https://a.com/x").state == "gone"


def test_noindex_is_not_searchable_but_its_links_count(world: World) -> None:
    world.crawl("https://a.com/", "<meta name=robots content=noindex><title>T</title>secret <a href=/b>b</a>")
    assert world.answers.page("https://a.com/b").references == 1
    assert not list(world.store.scan_rows(Table.DOCS))


def test_a_meta_refresh_is_a_page_whose_target_is_found(world: World) -> None:
    world.crawl("https://a.com/", "<meta http-equiv=refresh content='0; url=/next'>here")
    assert world.answers.page("https://a.com/").crawled
    with pytest.raises(NotKnown):
        world.answers.page("https://a.com/next")
    assert world.record("https://a.com/next") is not None


def test_a_sitemap_gives_links_and_no_references(world: World) -> None:
    body = "<urlset xmlns='x'><url><loc>https://a.com/1?a=1&amp;b=2</loc></url><url><loc>/2</loc></url></urlset>"
    world.crawl("https://a.com/sitemap.xml", body, kind="application/xml")
    assert world.record("https://a.com/1?a=1&b=2") is not None
    with pytest.raises(NotKnown):
        world.answers.page("https://a.com/1?a=1&b=2")


def test_a_canonical_is_remembered_and_changes_no_count(world: World) -> None:
    world.crawl("https://a.com/x?y=1", "<link rel=canonical href=/x><a href=/b>b</a>")
    record = world.record("https://a.com/x?y=1")
    assert record is not None
    assert record.canonical == "com.a/x"
    assert world.answers.page("https://a.com/b").references == 1


def test_out_of_scope_has_a_reference_but_no_record(world: World) -> None:
    world.scope = Scope([Site(name="a.com")], SETTINGS)
    world.crawl("https://a.com/", "<a href=https://b.com/>b</a>")
    assert world.answers.page("https://b.com/").references == 1
    assert world.record("https://b.com/") is None


def test_a_chunk_that_comes_again_changes_nothing(world: World) -> None:
    world.fetch("https://a.com/", "<a href=/b>b</a>")
    chunks = world.mgmt.take_crawled(world.lease)
    world.builder.build(chunks, world.scope)
    before = [(table, list(world.store.scan_rows(table))) for table in Table if table is not Table.META]
    again = world.builder.build(chunks, world.scope)
    assert (again.pages, again.discovered) == (0, 0)
    assert before == [(table, list(world.store.scan_rows(table))) for table in Table if table is not Table.META]


def test_markers_go_once_the_chunk_is_reported(world: World) -> None:
    for n in range(3):
        world.crawl(f"https://a.com/{n}", "x")
    assert len(list(world.store.scan(Table.META, b"chunk"))) == 1


def test_handlers_are_told_of_pages_and_may_fail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[HandledPage] = []
    monkeypatch.setattr(handlers, "kept", told.append, raising=False)
    points = [
        EntryPoint("broken", "weft.index.handlers:absent", handlers.GROUP),
        EntryPoint("failing", "operator:index", handlers.GROUP),
        EntryPoint("keeping", "weft.index.handlers:kept", handlers.GROUP),
    ]
    world.builder._handlers = Handlers(points)
    world.crawl("https://a.com/", "<title>T</title>text <a href=/b>b</a>")
    assert [(page.uri, page.title, page.links) for page in told] == [("com.a", "T", ["com.a/b"])]


def test_a_record_that_cannot_be_read_is_a_failure_of_its_link_alone(world: World) -> None:
    world.fetch("https://a.com/1", "one")
    world.fetch("https://a.com/2", "two")
    chunks = world.mgmt.take_crawled(world.lease)
    broken = chunks[0].links[0].result.position
    assert broken is not None
    file = world.place / "warc" / broken.file
    data = bytearray(file.read_bytes())
    data[broken.offset + 20 : broken.offset + 30] = b"\0" * 10
    file.write_bytes(data)
    world.builder.build(chunks, world.scope)
    first, second = world.record("https://a.com/1"), world.record("https://a.com/2")
    assert first is not None
    assert second is not None
    assert (first.error, second.error) == ("archive", "")


def test_an_error_without_a_fetch_is_dated_when_it_is_built(world: World) -> None:
    page = RULES.identify("https://a.com/private")
    world.mgmt.add([NewLink(page.uri, page.url, "a.com")])
    chunk = world.mgmt.claim(world.crawler, 1)
    assert chunk is not None
    link = chunk.links[0]
    world.mgmt.refuse(world.crawler, [Result(doc_id=link.doc_id, claim=link.claim, error="robots")])
    assert world.build().freshness == []
    record = world.record("https://a.com/private")
    assert record is not None
    assert (record.fetched, record.due) == (world.clock.now(), world.clock.now() + 86_400_000)


def test_parameters_that_do_not_matter_are_learned_in_the_batch_that_loads_the_pages(world: World) -> None:
    text = "<title>A</title><p>The same words, many enough to be a text of their own.</p>"
    world.crawl("https://a.com/p", text)
    world.crawl("https://a.com/p?lang=en", text + "<a href='/p?lang=en&amp;lang=en'></a>")
    found = world.record("https://a.com/p?lang=en&lang=en")
    assert found is not None
    assert (found.place, found.canonical) == ("hidden", "com.a/p")
