"""Content types by the names that people use, by header and by suffix."""

from __future__ import annotations

import pytest

from weft.model.content_type import TYPE_NAMES, is_type_wanted, is_wanted, suffix_type, types_problem


@pytest.mark.parametrize(
    ("types", "content_type", "wanted"),
    [
        (["pdf"], "application/pdf", True),
        (["pdf"], "Application/PDF ; qs=0.001", True),
        (["pdf"], "image/png", False),
        (["image"], "image/png", True),
        (["image/png"], "image/png", True),
        (["image/png"], "image/gif", False),
        (["image/*"], "image/gif", True),
        ([], "text/html; charset=utf-8", True),
        (["pdf"], "text/html, text/html; charset=utf-8", True),
        (["pdf"], "application/xhtml+xml", True),
        (["pdf"], "application/rss+xml", True),
        (["pdf"], "", True),
        (["pdf"], "nonsense", False),
    ],
)
def test_html_and_what_names_pages_is_always_wanted_other_types_if_they_are_listed(
    types: list[str], content_type: str, wanted: bool
) -> None:
    assert is_wanted(types, content_type, "https://a.test/x") == wanted


@pytest.mark.parametrize(
    ("url", "media_type"),
    [
        ("https://a.test/x.pdf", "application/pdf"),
        ("https://a.test/X.JPG?size=3", "image/jpeg"),
        ("https://a.test/page", ""),
        ("https://a.test/page?file=x.pdf", ""),
        ("https://a.test/index.php", ""),
        ("https://a.test/v1.2/", ""),
        ("https://a.zip/", ""),
        ("https://a.zip", ""),
        ("https://a.test/sitemap.xml", ""),
        ("https://a.test/sitemap.xml.gz", ""),
        ("https://a.test/data.tar.gz", "application/gzip"),
        ("https://a.test/pdf", ""),
    ],
)
def test_only_the_suffix_of_the_last_part_of_the_path_tells_a_type(url: str, media_type: str) -> None:
    assert suffix_type(url) == media_type


def test_a_header_that_says_nothing_leaves_it_to_the_suffix() -> None:
    assert is_wanted(["pdf"], "application/octet-stream", "https://a.test/x.pdf")
    assert not is_wanted(["pdf"], "application/octet-stream", "https://a.test/x.zip")
    assert is_wanted(["pdf"], "application/octet-stream", "https://a.test/download")
    assert is_wanted(["pdf"], "application/x-gzip", "https://a.test/sitemap.xml.gz")


def test_every_name_can_be_used_and_others_are_explained() -> None:
    assert types_problem(list(TYPE_NAMES)) == ""
    assert "expected one of html, pdf" in types_problem(["htm"])
    assert "no type" in types_problem(["*/*"])
    for name, patterns in TYPE_NAMES.items():
        assert is_type_wanted([name], patterns[0].replace("*", "x"))
