"""A format that weft does not know yet: one more line in the list of body types, and all three ways read it."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from support.three_ways import Held, Sent, crawl, imported, verified
from weft.html import FoundLink
from weft.linkindex.records import Doc, decode_page
from weft.reading import body_types
from weft.reading.html_body import HTML
from weft.reading.listing_body import LISTING
from weft.reading.outcomes import BodyKind
from weft.reading.response_body import Body, BodyType, PageContent, ReadBody
from weft.reading.settings import ReadingSettings

NOTE = Sent(kind="text/x-note", body="A note\n/x the first\n/y the second")


def recognise_note(body: Body) -> ReadBody | None:
    return partial(read_note, body) if body.media_type == "text/x-note" else None


def read_note(body: Body, settings: ReadingSettings) -> PageContent:
    """The first line is the title, the others are links."""
    title, *lines = body.data.decode().splitlines()
    links = [FoundLink(*line.split(" ", 1)) for line in lines]
    return PageContent(Doc(title=title, text=" ".join(lines)[: settings.limits.text_chars]), links, fingerprint=7)


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = BodyType(BodyKind.PAGE, recognise_note)
    monkeypatch.setattr(body_types, "BODY_TYPES", (*body_types.BODY_TYPES, made_up))


def test_html_and_listings_are_read() -> None:
    assert body_types.BODY_TYPES == (HTML, LISTING)


def test_an_unknown_format_is_no_page(tmp_path: Path) -> None:
    with closing(crawl(tmp_path, NOTE)) as world:
        assert Held.by(world.store) == imported(NOTE)[0]
        assert Held.by(world.store).cur == b""


@pytest.mark.usefixtures("notes")
def test_a_crawl_loads_and_follows_it(tmp_path: Path) -> None:
    with closing(crawl(tmp_path, NOTE)) as world:
        page = decode_page(Held.by(world.store).cur)
        assert page.title == "A note"
        assert [(link.url, link.anchor) for link in page.outlinks] == [
            ("https://a.com/x", "the first"),
            ("https://a.com/y", "the second"),
        ]
        record, found = world.record("https://a.com/page"), world.record("https://a.com/y")
        assert record is not None
        assert found is not None
        assert (record.fingerprint, found.depth) == (7, 1)


@pytest.mark.usefixtures("notes")
def test_an_import_loads_the_same(tmp_path: Path) -> None:
    with closing(crawl(tmp_path, NOTE)) as world:
        assert Held.by(world.store) == imported(NOTE)[0]


def test_verify_reads_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(body_types, "BODY_TYPES", (BodyType(BodyKind.PAGE, recognise_note),))
        with closing(crawl(tmp_path, NOTE)) as world:
            found = verified(world)
            assert (found.pages, found.differences) == (1, 0)
    # Without its reader the record calls for no page: page:cur and doc are too many.
    assert verified(world).differences == 2
