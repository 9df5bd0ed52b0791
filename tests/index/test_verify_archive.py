"""The index compared with its archive: nothing differs after any fetch, and whatever is changed is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from support.built_world import RULES, SETTINGS, World
from support.record_node import RecordNode
from weft.config import Settings
from weft.config.sections import IndexSettings, MgmtSettings
from weft.dispatcher.link_records import link_key
from weft.dispatcher.lost_links import LostLinks
from weft.dispatcher.site_changes import unsettled
from weft.index.archive_reader import ArchiveReader, archive_reader_pool
from weft.index.fetch_reader_pool import ReaderSettings
from weft.index.verify_archive import ArchiveVerification, decisive_fetches, verify_archive
from weft.linkindex import keys
from weft.linkindex.cells import Cells
from weft.linkindex.loaded import RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc, Outlink, decode_page, encode_page
from weft.store.api import Batch
from weft.store.tables import Table

PAGE = "<title>A</title><p>Some words</p><a href=/b>see b</a><a href=/c>see c</a>"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as made:
        yield made


def compared(world: World) -> ArchiveVerification:
    archive = ArchiveReader(ReaderSettings.from_settings(Settings(), RULES, world.place / "warc"))
    return verify_archive(world.store, lambda fetches: ((fetch, archive.read(fetch)) for fetch in fetches))


def compared_by_workers(world: World) -> ArchiveVerification:
    with archive_reader_pool(Settings(), RULES, world.place / "warc", workers=1) as read_again:
        return verify_archive(world.store, read_again)


def change(world: World, table: Table, row: bytes, column: tuple[bytes, bytes], value: bytes | None) -> None:
    batch = Batch()
    if value is None:
        batch.delete(table, row, *column)
    else:
        batch.put(table, row, *column, value)
    world.store.write(batch, world.store.last_seq + 1)


def test_every_outcome_of_a_fetch_is_found_again_in_the_archive(world: World) -> None:
    world.crawl("https://a.com/", PAGE, etag='"1"')
    world.crawl("https://a.com/old", PAGE)
    world.crawl("https://a.com/gone", PAGE)
    world.crawl("https://a.com/file", PAGE)
    world.crawl("https://a.com/failing", PAGE)
    world.crawl("https://a.com/hidden", "<meta name=robots content=noindex><p>secret")
    world.crawl("https://a.com/latin", "<p>na\xefve", kind="text/html; charset=utf-8")
    world.again()
    world.crawl("https://a.com/", status=304)
    world.crawl("https://a.com/old", status=301, location="/new")
    world.crawl("https://a.com/gone", status=404)
    world.crawl("https://a.com/file", "%PDF", kind="application/pdf")
    world.crawl("https://a.com/failing", status=500)
    found = compared(world)
    assert (found.differences, found.examples) == (0, [])
    assert (found.records, found.pages, found.left_out) == (7, 4, 0)
    assert compared_by_workers(world) == found


def test_links_that_an_older_weft_took_and_that_are_refused_now_are_no_difference(world: World) -> None:
    world.crawl("https://a.com/", PAGE + "<a href='http://b,c.com/x'>odd</a>")
    row, column = b"p:com.a", (keys.PAGE, keys.CUR)
    (cell,) = world.store.get(Table.FLUO, [keys.page_column(b"com.a", keys.CUR)])
    assert cell is not None
    page = decode_page(cell.value)
    odd = Outlink("http://b,c.com/x", "odd")

    def with_links(*more: Outlink) -> bytes:
        links = [*page.outlinks, *more]
        return encode_page(structs.replace(page, outlinks=links, outlinkcount=len(links)))

    change(world, Table.FLUO, row, column, with_links(odd))
    assert compared(world).examples == []
    change(world, Table.FLUO, row, column, with_links(odd, Outlink("https://d.com/")))
    assert compared(world).differences == 1


def test_links_that_the_crawl_should_know_are_looked_for(world: World) -> None:
    world.crawl("https://a.com/", PAGE)
    world.crawl("https://a.com/old", status=301, location="/moved")
    page = load_page(
        RULES, RULES.identify("https://imported.com/"), world.clock.now(), [RawLink("https://d.com/")], Doc()
    )
    LinkIndex(world.store, IndexSettings(), world.clock).apply([page])
    assert world.dispatcher.step(world.scope, 0).looked_at
    while world.dispatcher.step(world.scope, 0).looked_at:
        pass

    def judged() -> ArchiveVerification:
        archive = ArchiveReader(ReaderSettings.from_settings(Settings(), RULES, world.place / "warc"))
        waiting = unsettled(world.store, world.scope, SETTINGS)
        lost = LostLinks(world.store, world.scope, SETTINGS, waiting, world.clock.now(), counts_within=True)
        return verify_archive(
            world.store, lambda fetches: ((fetch, archive.read(fetch)) for fetch in fetches), lost=lost
        )

    found = judged()
    assert (found.links, found.lost_links, found.waiting_links, found.differences) == (3, 0, 0, 0)
    gone: Cells = {link_key(b"com.a", uri): None for uri in (b"com.a/b", b"com.a/moved")}
    world.store.write(Batch(gone), world.store.last_seq + 1)
    found = judged()
    assert (found.links, found.lost_links, found.differences) == (3, 2, 0)
    assert found.examples == [
        "links l:com.a link:com.a/b is missing: com.a leads to https://a.com/b, which is in scope",
        "links l:com.a link:com.a/moved is missing: com.a/old leads to https://a.com/moved, which is in scope",
    ]
    assert compared(world).links is None, "nobody said what is in scope"


@pytest.mark.parametrize(
    ("table", "row", "column", "value", "sentence"),
    [
        (Table.FLUO, b"p:com.a", (keys.PAGE, keys.CUR), b'{"url":"https://a.com/x"}', "fluo p:com.a page:cur is …"),
        (Table.FLUO, b"p:com.a", (keys.PAGE, keys.CUR), None, "fluo p:com.a page:cur is missing"),
        (Table.DOCS, b"x:com.a", (b"doc", b""), None, "docs x:com.a doc is missing"),
        (Table.FLUO, b"p:com.a/gone", (keys.PAGE, keys.CUR), b"{}", "page:cur is there, expected nothing"),
    ],
)
def test_a_cell_that_was_changed_is_found(
    world: World, table: Table, row: bytes, column: tuple[bytes, bytes], value: bytes | None, sentence: str
) -> None:
    world.crawl("https://a.com/", PAGE)
    world.crawl("https://a.com/gone", status=410)
    change(world, table, row, column, value)
    found = compared(world)
    assert found.differences == 1
    assert sentence in found.examples[0]


def test_the_sentence_shows_where_two_pages_part(world: World) -> None:
    world.crawl("https://a.com/", PAGE)
    cell = world.store.get(Table.FLUO, [keys.page_column(b"com.a", keys.CUR)])[0]
    assert cell is not None
    change(world, Table.FLUO, b"p:com.a", (keys.PAGE, keys.CUR), cell.value.replace(b"see c", b"see d"))
    assert "see d" in compared(world).examples[0]


def test_a_record_that_is_missing_or_of_another_page_is_named(world: World) -> None:
    world.crawl("https://a.com/1", "one")
    world.crawl("https://a.com/2", "two")
    first, second = decisive_fetches(world.store)
    file = world.place / "warc" / first.position.file
    data = file.read_bytes()
    file.write_bytes(data[: second.position.offset])
    found = compared(world)
    assert found.differences == 1
    assert (
        f"com.a/2: its record {file.name} at {second.position.offset} cannot be read again: ends" in found.examples[0]
    )
    file.unlink()
    assert compared(world).differences == 2


def test_imported_pages_are_left_out_and_counted(world: World) -> None:
    world.crawl("https://a.com/", PAGE)
    world.crawl("https://a.com/2", PAGE)
    world.clock.advance(1000)
    pages = [
        load_page(RULES, RULES.identify(url), world.clock.now(), [RawLink("/z")], Doc(title="imported"))
        for url in ("https://a.com/", "https://b.com/")
    ]
    LinkIndex(world.store, IndexSettings(), world.clock).apply(pages)
    found = compared(world)
    assert (found.differences, found.records, found.left_out) == (0, 1, 2)


POSTGRESQL = Settings(mgmt=MgmtSettings(url="postgresql:///anywhere"))
"""Records may lie on other machines."""


def compared_elsewhere(world: World) -> ArchiveVerification:
    """By workers of a machine that has none of the records."""
    with archive_reader_pool(POSTGRESQL, RULES, world.place / "none", workers=1) as read_again:
        return verify_archive(world.store, read_again)


def test_records_of_other_nodes_are_read_there(world: World) -> None:
    with RecordNode(world.place / "warc") as node:
        world.node = node.address
        world.crawl("https://a.com/", PAGE)
        world.fetch_again("https://a.com/", PAGE)  # a revisit
        world.build()
        world.crawl("https://a.com/gone", status=404)
        found = compared_elsewhere(world)
        assert (found.records, found.differences, found.unreachable) == (2, 0, 0)
        change(world, Table.DOCS, b"x:com.a", (b"doc", b""), None)
        assert compared_elsewhere(world).differences == 1


def test_records_that_cannot_be_reached_are_no_differences_and_counted_apart(world: World) -> None:
    with RecordNode(world.place / "warc") as node:
        world.node = node.address
        world.crawl("https://a.com/", PAGE)
        world.node = "127.0.0.1:1"
        world.crawl("https://b.com/", PAGE)
        world.crawl("https://b.com/2", PAGE)
        world.crawl("https://b.com/gone", status=404)
        found = compared_elsewhere(world)
    assert (found.records, found.pages, found.differences) == (1, 1, 0)
    assert (found.unreachable, found.left_out, found.is_complete) == (3, 0, False)
    assert found.nodes == {"127.0.0.1:1": "refuses the connection"}


def test_a_record_that_another_node_does_not_have_is_a_difference(world: World) -> None:
    with RecordNode(world.place / "other") as node:
        world.node = node.address
        world.crawl("https://a.com/", PAGE)
        found = compared_elsewhere(world)
    assert (found.differences, found.unreachable) == (1, 0)
    assert "cannot be read again: 404" in found.examples[0]


def test_records_in_this_home_are_read_here_whatever_their_node_is(world: World) -> None:
    world.node = "127.0.0.1:1"
    world.crawl("https://a.com/", PAGE)
    with archive_reader_pool(POSTGRESQL, RULES, world.place / "warc", workers=1) as read_again:
        found = verify_archive(world.store, read_again)
    assert (found.records, found.differences, found.unreachable) == (1, 0, 0)
