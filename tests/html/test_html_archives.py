"""Pages of published archives: the same links as another parser finds."""

import pytest
from fastwarc import ArchiveIterator, WarcRecordType
from selectolax.lexbor import LexborHTMLParser

from support.suites import suite_file
from weft.html import parse_page
from weft.html.page_links import ASCII_SPACE

ARCHIVES = ["iana.warc.gz", "cc-whirlwind/whirlwind.warc.gz", "warcio/example.warc.gz"]


def html_bodies(name):
    with suite_file(f"warc/{name}").open("rb") as file:
        for record in ArchiveIterator(file, record_types=WarcRecordType.response, auto_decode="content"):
            body = record.reader.read()
            if body and record.http_content_type == "text/html":
                yield body


@pytest.mark.parametrize("name", ARCHIVES)
def test_links_are_those_of_another_parser(name):
    bodies = list(html_bodies(name))
    assert bodies
    for body in bodies:
        other = LexborHTMLParser(body.decode("utf-8", "replace"))
        hrefs = [(node.attributes["href"] or "").strip(ASCII_SPACE) for node in other.css("a[href], area[href]")]
        page = parse_page(body, "text/html; charset=utf-8")
        assert [link.href for link in page.links] == hrefs
        assert page.title
        assert page.fingerprint
