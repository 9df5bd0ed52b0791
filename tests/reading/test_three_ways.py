"""What a fetch does to the index: one table, and the same for crawl, import and `verify --archive`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from support.three_ways import URL, Held, Sent, crawl, expected_by_archive, imported, verified
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.records import Doc, decode_page

BEFORE = Sent(body="<title>Before</title><p>Old words</p><a href=/old>old</a>")
AFTER = "<title>After</title><p>New words</p><a href=/new>new</a><a href=/marked rel=nofollow>marked</a>"
SITEMAP = "<urlset><url><loc>https://a.com/new</loc></url></urlset>"
FEED = "<rss><item><link>/new</link></item></rss>"

TABLE = [
    ("HTML", Sent(body=AFTER), "replaced", ["/new"]),
    ("XHTML", Sent(kind="application/xhtml+xml", body=AFTER), "replaced", ["/new"]),
    ("HTML with noindex", Sent(body=f"<meta name=robots content=noindex>{AFTER}"), "replaced", ["/new"]),
    ("HTML with nofollow", Sent(body=f"<meta name=robots content=nofollow>{AFTER}"), "replaced", []),
    ("a list of types", Sent(kind="text/html, text/html; charset=utf-8", body=AFTER), "replaced", ["/new"]),
    ("two header lines", Sent(kind="text/plain\r\nContent-Type: text/html", body=AFTER), "replaced", ["/new"]),
    ("a type that is none", Sent(kind="html", body=f"<!doctype html>{AFTER}"), "replaced", ["/new"]),
    ("304", Sent(304), "kept", []),
    ("the same content", BEFORE, "kept", []),
    ("redirect to another uri", Sent(301, location="/new"), "removed", ["/new"]),
    ("redirect to the same uri", Sent(302, location="http://a.com/page#x"), "kept", []),
    ("meta refresh", Sent(body=f"<meta http-equiv=refresh content='0;url=/next'>{AFTER}"), "replaced",
     ["/new", "/next"]),
    ("404", Sent(404), "removed", []),
    ("410", Sent(410, body=AFTER), "removed", []),
    ("403", Sent(403, body=AFTER), "kept", []),
    ("500", Sent(500, body=AFTER), "kept", []),
    ("206", Sent(206, body=AFTER), "kept", []),
    ("not HTML", Sent(kind="application/pdf", body="%PDF"), "removed", []),
    ("sitemap", Sent(kind="application/xml", body=SITEMAP), "removed", ["/new"]),
    ("feed", Sent(kind="application/rss+xml", body=FEED), "removed", ["/new"]),
]  # fmt: skip
NAMES = [row[0] for row in TABLE]
ROWS = [row[1:] for row in TABLE]


read_unpacked = msgspec.msgpack.Decoder(Doc).decode


def after(held: Held, before: Held) -> str:
    if not held.cur:
        assert not read_unpacked(held.doc).text
        return "removed"
    return "kept" if held == before else "replaced"


@pytest.mark.parametrize(("sent", "effect", "found"), ROWS, ids=NAMES)
def test_a_row_of_the_table_in_a_crawl(tmp_path: Path, sent: Sent, effect: str, found: list[str]) -> None:
    with closing(crawl(tmp_path, BEFORE, sent)) as world:
        assert after(Held.by(world.store), imported(BEFORE)[0]) == effect
        names = ("/new", "/marked", "/next")
        assert [name for name in names if world.record(f"https://a.com{name}")] == found


@pytest.mark.parametrize(("sent", "effect", "found"), ROWS, ids=NAMES)
def test_a_row_of_the_table_in_an_import(sent: Sent, effect: str, found: list[str]) -> None:
    before = imported(BEFORE)[0]
    assert b"Old words" in before.doc
    assert after(imported(BEFORE, sent)[0], before) == effect


@pytest.mark.parametrize(("sent", "effect", "found"), ROWS, ids=NAMES)
def test_a_row_of_the_table_in_the_archive(tmp_path: Path, sent: Sent, effect: str, found: list[str]) -> None:
    with closing(crawl(tmp_path, BEFORE, sent)) as world:
        expected = expected_by_archive(world)
        assert expected.problem == ""
        assert after(Held(expected.cur, expected.doc), imported(BEFORE)[0]) == effect
        assert verified(world).differences == 0


@pytest.mark.parametrize("sent", [row[0] for row in ROWS], ids=NAMES)
def test_all_three_hold_the_same(tmp_path: Path, sent: Sent) -> None:
    with closing(crawl(tmp_path, sent)) as world:
        held = Held.by(world.store)
        assert held == imported(sent)[0]
        record = world.record(URL)
        assert record is not None
        if record.decided_position:
            expected = expected_by_archive(world)
            assert Held(expected.cur, expected.doc) == held


def test_noindex_keeps_the_links_and_hides_the_text(tmp_path: Path) -> None:
    with closing(crawl(tmp_path, Sent(body=f"<meta name=robots content=noindex>{AFTER}"))) as world:
        held = Held.by(world.store)
        assert read_unpacked(held.doc) == Doc(status=200, type="text/html", bytes=129, noindex=True)
        assert decode_page(held.cur).outlinkcount == 2


def test_a_redirect_to_what_cannot_be_fetched_keeps_a_crawled_page_and_removes_an_imported_one(tmp_path: Path) -> None:
    sent = Sent(302, location="mailto:somebody")
    with closing(crawl(tmp_path, BEFORE, sent)) as world:
        record = world.record(URL)
        assert record is not None
        assert (Held.by(world.store).cur != b"", record.error) == (True, "redirect")
        assert verified(world).differences == 0
    held = imported(BEFORE, sent)[0]
    assert (held.cur, read_unpacked(held.doc)) == (b"", Doc(status=302))


def test_a_redirect_without_location_is_retried_by_a_crawl_and_passed_over_by_an_import(tmp_path: Path) -> None:
    sent = Sent(302)
    with closing(crawl(tmp_path, BEFORE, sent)) as world:
        record = world.record(URL)
        assert record is not None
        assert (Held.by(world.store).cur != b"", record.self_redirect) == (True, True)
    page, passed = imported(BEFORE, sent)[1]
    assert isinstance(page, LoadedPage)
    assert passed == "status 302"


def test_a_page_with_too_many_links_is_cut_alike_by_all_three(tmp_path: Path) -> None:
    long = "".join(f"<a href='/{n}{'x' * 1900}'>words</a>" for n in range(2300))
    sent = Sent(body=f"{long}<a href=/last>last</a>")
    with closing(crawl(tmp_path, sent)) as world:
        held = Held.by(world.store)
        page = decode_page(held.cur)
        assert (page.outlinkcount + page.left_out, page.left_out > 0) == (2301, True)
        assert world.answers.page(URL).left_out == page.left_out
        assert held == imported(sent)[0]
        expected = expected_by_archive(world)
        assert Held(expected.cur, expected.doc) == held
        assert world.record("https://a.com/last") is None


FACTS = "<meta name=robots content=nofollow><link rel=canonical href=/best><h2>Second</h2><h1>First <b>of</b> all</h1>"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (
            Sent(kind="Text/HTML; charset=utf-8", body=FACTS),
            Doc(
                status=200, type="text/html", bytes=len(FACTS), canonical="https://a.com/best", nofollow=True,
                h1="First of all", headings=["Second", "First of all"], text="Second\nFirst of all",
                simhash=41254231573856397,
            ),
        ),
        (Sent(kind="application/pdf", body="%PDF-1.7"), Doc(status=200, type="application/pdf", bytes=8)),
        (Sent(kind="", body=""), Doc(status=200, bytes=0)),
        (Sent(308, location="http://b.com/there"), Doc(status=308, location="http://b.com/there")),
        (Sent(410), Doc(status=410)),
    ],
    ids=["page", "file", "empty", "redirect", "gone"],
)  # fmt: skip
def test_the_facts_of_a_response_are_kept(tmp_path: Path, sent: Sent, expected: Doc) -> None:
    with closing(crawl(tmp_path, BEFORE, sent)) as world:
        assert read_unpacked(Held.by(world.store).doc) == expected
        assert verified(world).differences == 0
    assert read_unpacked(imported(BEFORE, sent)[0].doc) == expected


def test_a_file_where_a_redirect_was_is_told_as_a_file(tmp_path: Path) -> None:
    moved, file = Sent(301, location="/new"), Sent(kind="application/pdf", body="%PDF")
    with closing(crawl(tmp_path, moved, file)) as world:
        answer = world.answers.page(URL)
        assert (answer.state, answer.type, answer.bytes, answer.redirect) == ("file", "application/pdf", 4, None)
        assert Held.by(world.store) == imported(moved, file)[0]
