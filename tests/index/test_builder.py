"""The index builder: what each outcome of a fetch does, exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from support.built_world import HTML, RULES, SETTINGS, World
from weft.dispatcher.scope import Scope
from weft.index import chunk_markers
from weft.linkindex import keys
from weft.linkindex.records import Doc, decode_page, read_doc
from weft.mgmt.values import NewLink, Result
from weft.model.original import Original
from weft.model.refusal import RefusalKind
from weft.model.site import Site, SiteSettings
from weft.store.tables import Table


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as made:
        yield made


def unreferenced(world: World, url: str) -> bool:
    """Whether a crawl knows this page and no page links to it."""
    answer = world.answers.page(url)
    return (answer.state, answer.references, answer.score) == ("not fetched yet", 0, 0)


def test_fetches_are_read_by_worker_processes(tmp_path: Path) -> None:
    with closing(World(tmp_path, with_workers=True)) as world:
        for n in range(60):
            world.fetch(f"https://a.com/{n}", f"<title>{n}</title><a href=/{n + 1}>next</a>")
        while world.build().results:
            pass
        assert [world.answers.page(f"https://a.com/{n}").title for n in range(60)] == [str(n) for n in range(60)]


def test_a_page_is_loaded_and_its_links_are_found(world: World) -> None:
    world.fetch("https://a.com/", "<title>A</title><p>Words <a href=/b>see b</a> <a href='http://c.com/'>C</a>")
    built = world.build()
    assert (built.results, built.pages, built.links, built.discovered) == (1, 1, 2, 2)
    page = world.answers.page("https://a.com/")
    assert (page.title, page.outlinkcount, page.crawled) == ("A", 2, True)
    assert [(item.uri, item.anchor) for item in world.answers.links("https://a.com/b").items] == [("com.a", "see b")]
    found = world.record("https://a.com/b")
    assert found is not None
    assert (found.depth, found.source, found.phase) == (1, "com.a", "new")


def test_a_link_of_a_home_of_before_whose_host_is_refused_now_is_built_all_the_same(world: World) -> None:
    world.mgmt.add([NewLink(f"com.a,b/{name}", f"http://a,b.com/{name}", "a,b.com") for name in ("x", "y")])
    chunk = world.mgmt.claim(world.crawler, 2)
    assert chunk is not None
    page, failing = chunk.links
    world._answer(page, "<title>X</title><a href=/z>z</a><a href=https://c.com/>c</a>", 200, HTML)
    world._answer(failing, "", 0, "", error="unknown_host")
    assert world.build().results == 2
    (cell,) = world.store.get(Table.QUERY, [keys.page_column(b"com.a,b/x", keys.CUR)])
    assert [link.url for link in decode_page(cell.value).outlinks] == ["https://c.com/"], "what is new is refused"


def test_nofollow_counts_but_is_not_followed(world: World) -> None:
    world.crawl("https://a.com/", "<a href=/b rel='nofollow ugc'>b</a>")
    assert world.answers.page("https://a.com/b").references == 1
    assert world.record("https://a.com/b") is None
    world.crawl("https://b.com/", "<meta name=robots content=nofollow><a href=/c>c</a>")
    assert world.answers.page("https://b.com/c").references == 1
    assert world.record("https://b.com/c") is None


def test_a_link_that_is_nofollow_in_one_place_only_is_followed(world: World) -> None:
    twice = "<a href=/b rel=nofollow>first</a> <a href=/b>second</a>"
    world.crawl("https://a.com/", twice)
    assert [item.anchor for item in world.answers.links("https://a.com/b").items] == ["first"]
    assert world.record("https://a.com/b") is not None
    world.crawl("https://b.com/", f"<meta name=robots content=nofollow>{twice}")
    assert world.record("https://b.com/b") is None


def test_links_of_a_round_that_failed_are_found_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.fetch("https://a.com/", "<a href=/b>b</a>")
    chunks = world.mgmt.take_crawled(world.lease)

    def failing(*_: object) -> dict[bytes, bytes | None]:
        raise OSError("no")

    with monkeypatch.context() as broken:
        broken.setattr(chunk_markers, "mark", failing)
        with pytest.raises(OSError, match="no"):
            world.load(chunks)
    world.load(chunks)
    assert world.record("https://a.com/b") is not None


def test_a_redirect_removes_the_page_and_its_target_is_found_without_a_reference(world: World) -> None:
    world.crawl("https://a.com/old", "<a href=/x>x</a>")
    world.again()
    world.crawl("https://a.com/old", status=301, location="/new")
    assert world.answers.page("https://a.com/old").state == "redirect"
    assert unreferenced(world, "https://a.com/new")
    target, moved = world.record("https://a.com/new"), world.record("https://a.com/old")
    assert target is not None
    assert moved is not None
    assert (target.depth, moved.location) == (0, "com.a/new")


def test_a_chain_of_redirects_without_end_is_cut_with_its_reason(world: World) -> None:
    hops = SETTINGS.redirect_hops
    for n in range(hops):
        world.crawl(f"https://a{n % 3}.com/{n}", status=302, location=f"https://a{(n + 1) % 3}.com/{n + 1}")
    last = world.record(f"https://a{hops % 3}.com/{hops}")
    assert last is not None
    assert (last.phase, last.redirects, last.depth) == ("new", hops, 0)
    world.crawl(f"https://a{hops % 3}.com/{hops}", status=302, location="https://over.com/")
    over = world.record("https://over.com/")
    assert over is not None
    assert (over.phase, over.reason) == ("hidden", f"redirects: {hops + 1} in a row, over {hops}")
    assert world.builder.discovery.refused[RefusalKind.REDIRECTS] == 1


def test_a_page_at_the_end_of_redirects_begins_a_new_count(world: World) -> None:
    world.crawl("https://a.com/1", status=302, location="/2")
    world.crawl("https://a.com/2", "<a href=/3>3</a>")
    found = world.record("https://a.com/3")
    assert found is not None
    assert (found.redirects, found.depth) == (0, 1)


def test_a_page_that_was_behind_too_many_redirects_is_opened_by_a_link_to_it(world: World) -> None:
    for n in range(SETTINGS.redirect_hops + 1):
        world.crawl(f"https://a.com/{n}", status=302, location=f"/{n + 1}")
    over = f"https://a.com/{SETTINGS.redirect_hops + 1}"
    assert world.record(over).phase == "hidden"
    world.crawl("https://b.com/", f"<a href={over}>straight to it</a>")
    record = world.record(over)
    assert record is not None
    assert (record.phase, record.reason, record.redirects, record.depth) == ("new", "", 0, 1)


def test_a_redirect_to_the_same_uri_changes_the_url_once(world: World) -> None:
    world.crawl("http://a.com/", status=301, location="https://a.com/")
    record = world.record("http://a.com/")
    assert record is not None
    assert (record.url, record.self_redirect) == ("https://a.com/", True)
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


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (HTML, "<title>A</title>"),
        ("application/pdf", "%PDF"),
        ("application/xml", "<urlset><url><loc>https://a.com/b</loc></url></urlset>"),
    ],
    ids=["page", "file", "sitemap"],
)
def test_whatever_has_content_is_asked_for_again_with_its_validators_and_their_capture(
    world: World, kind: str, body: str
) -> None:
    world.crawl("https://a.com/x", body, kind=kind, etag='"1"', last_modified="yesterday")
    world.again()
    chunk = world.mgmt.claim(world.crawler, 5)
    assert chunk is not None
    (details,) = [one for one in world.mgmt.details([link.doc_id for link in chunk.links]).values() if one.etag]
    assert (details.url, details.etag, details.last_modified) == ("https://a.com/x", '"1"', "yesterday")
    world.archive.close()
    (file,) = (world.place / "warc").glob("*.warc.gz")
    (fields,) = [
        record.rec_headers
        for record in ArchiveIterator(file.open("rb"))
        if record.rec_type == "response" and record.rec_headers["WARC-Target-URI"] == details.url
    ]
    record, date, digest = (fields[f"WARC-{name}"] for name in ("Record-ID", "Date", "Payload-Digest"))
    assert details.original == Original(record, details.url, date, digest.removeprefix("sha1:"))


def test_a_sitemap_is_read_again_in_full_when_the_scope_has_changed(world: World) -> None:
    narrow, wide = (Scope([Site(name="a.com", scope=scope)], SETTINGS) for scope in ("hosts", "domains"))
    sitemap = "<urlset><url><loc>https://www.a.com/b</loc></url></urlset>"
    world.scope = narrow
    world.crawl("https://a.com/sitemap.xml", sitemap, kind="application/xml", etag='"1"')
    assert world.record("https://www.a.com/b") is None
    asked = []
    for scope in (narrow, wide):
        world.scope = scope
        world.again()
        (link,) = world.mgmt.claim(world.crawler, 1).links
        asked.append(world.mgmt.details([link.doc_id])[link.doc_id].etag)
        world.mgmt.release(world.crawler)
        world.crawl(link.url, sitemap, kind="application/xml", etag='"1"')
    assert asked == ['"1"', ""]
    assert world.record("https://www.a.com/b") is not None


def test_validators_of_answers_without_content_are_not_kept(world: World) -> None:
    world.crawl("https://a.com/x", "none", status=404, etag='"1"')
    record = world.record("https://a.com/x")
    assert record is not None
    assert (record.etag, record.original) == ("", None)


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_gone_is_removed(world: World, status: int) -> None:
    world.crawl("https://a.com/", "<a href=/b>b</a>")
    world.again()
    world.crawl("https://a.com/", status=status)
    assert world.answers.page("https://a.com/").state == "gone"
    assert unreferenced(world, "https://a.com/b")


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
    answer = world.answers.page("https://a.com/x")
    assert answer.state == "file"
    assert answer.next_due is not None


def test_noindex_is_not_searchable_but_its_links_count(world: World) -> None:
    world.crawl("https://a.com/", "<meta name=robots content=noindex><title>T</title>secret <a href=/b>b</a>")
    assert world.answers.page("https://a.com/b").references == 1
    doc, changed = world.store.scan_rows(Table.DOCS)
    assert changed.qualifier == b"changed"
    assert read_doc(doc.value) == Doc(status=200, type="text/html", bytes=73, noindex=True)


def test_a_meta_refresh_is_a_page_whose_target_is_found(world: World) -> None:
    world.crawl("https://a.com/", "<meta http-equiv=refresh content='0; url=/next'>here")
    assert world.answers.page("https://a.com/").crawled
    assert unreferenced(world, "https://a.com/next")
    assert world.record("https://a.com/next") is not None


def test_a_sitemap_gives_links_and_no_references(world: World) -> None:
    body = "<urlset xmlns='x'><url><loc>https://a.com/1?a=1&amp;b=2</loc></url><url><loc>/2</loc></url></urlset>"
    world.crawl("https://a.com/sitemap.xml", body, kind="application/xml")
    assert world.record("https://a.com/1?a=1&b=2") is not None
    assert unreferenced(world, "https://a.com/1?a=1&b=2")


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
    world.load(chunks)
    before = [(table, list(world.store.scan_rows(table))) for table in Table if table is not Table.META]
    again = world.load(chunks)
    assert (again.pages, again.discovered) == (0, 0)
    assert before == [(table, list(world.store.scan_rows(table))) for table in Table if table is not Table.META]


def test_the_seq_of_a_chunk_is_that_of_a_round_by_which_it_was_whole(world: World) -> None:
    world.fetch("https://a.com/1", "one")
    chunks = world.mgmt.take_crawled(world.lease)
    assert world.load(chunks).seq == world.builder.seq == world.store.last_seq == 1
    world.dispatcher.step(world.scope, 10)
    world.fetch("https://a.com/2", "two")
    assert world.load(world.mgmt.take_crawled(world.lease)).seq == world.builder.seq
    world.builder = world.new_builder()
    world.load(chunks)
    assert [chunk.id for chunk in world.built] == [chunks[0].id], "its marker tells that it is loaded"
    assert world.builder.seq == world.store.last_seq, "no round was written: any of the store's is late enough"


def test_markers_go_once_the_chunk_is_reported(world: World) -> None:
    for n in range(3):
        world.crawl(f"https://a.com/{n}", "x")
    assert len(list(world.store.scan(Table.META, b"chunk"))) == 1


def test_handlers_get_the_pages_that_were_loaded(world: World) -> None:
    world.crawl("https://a.com/", "<title>T</title>text <a href=/b>b</a>")
    world.crawl("https://a.com/gone", status=404)
    assert [(page.uri, page.title, page.links) for page in world.handled] == [("com.a", "T", ["com.a/b"])]


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
    world.load(chunks)
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
    assert (found.phase, found.canonical) == ("hidden", "com.a/p")


@pytest.mark.parametrize(("wanted_now", "phase"), [(("pdf",), "hidden"), (("image",), "due"), (None, "due")])
def test_a_file_of_an_unwanted_type_is_left_out_unless_its_type_was_wanted_meanwhile(
    world: World, wanted_now: tuple[str, ...] | None, phase: str
) -> None:
    anywhere = Site(name="*", scope="any", settings=SiteSettings(types=wanted_now))
    world.scope = Scope([anywhere], SETTINGS)
    world.crawl("https://a.com/picture", error="unwanted_type", kind="image/png")
    record = world.record("https://a.com/picture")
    assert record is not None
    assert record.phase == phase
    assert world.builder.discovery.refused[RefusalKind.TYPE] == (phase == "hidden")
    if phase == "due":
        assert record.due <= world.clock.now()


def test_a_page_that_turned_into_an_unwanted_file_is_kept_as_it_was(world: World) -> None:
    world.scope = Scope([Site(name="*", scope="any", settings=SiteSettings(types=()))], SETTINGS)
    world.crawl("https://a.com/x", "<title>Once</title>")
    world.again()
    world.crawl("https://a.com/x", error="unwanted_type", kind="image/png")
    assert world.answers.page("https://a.com/x").title == "Once"
    record = world.record("https://a.com/x")
    assert record is not None
    assert record.reason == "type: image/png by the header of its response"


def test_the_interval_that_a_site_sets_is_used_for_its_pages(world: World) -> None:
    world.scope = Scope([Site(name="*", scope="any"), Site(name="a.com", settings=SiteSettings(recrawl=5.0))], SETTINGS)
    for host in ("www.a.com", "b.com"):
        world.crawl(f"https://{host}/", "x")
    first, second = world.record("https://www.a.com/"), world.record("https://b.com/")
    assert first is not None
    assert second is not None
    assert first.due == first.fetched + 5000
    assert second.due == second.fetched + 86_400_000
