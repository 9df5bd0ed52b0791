"""Links as they are written: which elements make one, with what words, marked how."""

import pytest
from hypothesis import given

from support.html_pieces import link_anchors, pages
from weft.config.sections import LimitsSettings
from weft.html import FoundLink, parse_page


def links(page: str, **limits: int) -> list[FoundLink]:
    return parse_page(page.encode(), limits=LimitsSettings(**limits)).links


def anchor(page: str) -> str:
    return links(page)[0].anchor


@given(pages)
def test_links_and_their_words_are_what_a_walk_over_all_nodes_finds(page):
    found = parse_page(page.encode(), "text/html; charset=utf-8").links
    assert [(link.href, link.anchor) for link in found] == link_anchors(page)


def test_a_link_has_href_words_and_rel():
    assert links('<a href="/a?b=1&amp;c=2" rel="NoFollow  ugc">Some <b>wo</b>rds</a>') == [
        FoundLink("/a?b=1&c=2", "Some words", "nofollow ugc")
    ]


def test_white_space_around_an_href_is_gone():
    assert links('<a href="\n /x y\t">z</a>')[0].href == "/x y"


def test_links_come_in_the_order_of_the_page():
    page = "<a href=1>x</a><map><area href=2 alt='a  picture'></map><a href=3>y</a>"
    assert links(page) == [FoundLink("1", "x"), FoundLink("2", "a picture"), FoundLink("3", "y")]


def test_frames_are_links():
    assert links("<frameset><frame src=menu title='The menu'><frame></frameset>") == [FoundLink("menu", "The menu")]


@pytest.mark.parametrize(
    "page",
    [
        "<a name=x>no href</a>",
        "<svg><a xlink:href=x>drawn</a></svg>",
        "<template><a href=x>raw material</a></template>",
        "<!-- <a href=x>comment</a> -->",
        "<script>'<a href=x>program</a>'</script>",
        "<textarea><a href=x>typed</a></textarea>",
        "<iframe src=x></iframe><img src=x><form action=x></form><link href=x>",
    ],
)
def test_what_is_no_link(page):
    assert links(page) == []


@pytest.mark.parametrize(
    "page",
    [
        "<noscript><a href=x>words</a></noscript>",
        "<div hidden><a href=x>words</a></div>",
        "<a href=x hidden>words</a>",
        "<object><a href=x>words</a></object>",
        "<svg><a href=x>words</a></svg>",
        "<div><template shadowrootmode=open><a href=x>words</a></template></div>",
        "<p><a href=x>words",
    ],
)
def test_links_count_where_they_are_not_seen(page):
    assert links(page) == [FoundLink("x", "words")]


def test_links_after_a_template_count():
    assert links("<template><p>x</template><a href=y>z</a>") == [FoundLink("y", "z")]


def test_links_count_at_any_depth():
    """The parser nests 512 levels; what is deeper stands side by side, so a link there has lost its words."""
    assert links("<div>" * 500 + "<a href=x>deep</a>") == [FoundLink("x", "deep")]
    page = parse_page(b"<div>" * 100_000 + b"<a href=x>deep</a>")
    assert ([link.href for link in page.links], page.text) == (["x"], "deep")


def test_an_empty_href_is_a_link_to_the_page_itself():
    assert links("<a href>x</a>") == [FoundLink("", "x")]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<a href=x><img alt='a  picture'></a>", "a picture"),
        ("<a href=x><img><img alt=second></a>", "second"),
        ("<a href=x><img alt=picture>words</a>", "words"),
        ("<a href=x><h3>Title</h3><p>and more</p>end</a>", "Title and more end"),
        ("<a href=x>one<br>two</a>", "one two"),
        ("<a href=x>wo<!-- -->rd<i>s</i></a>", "words"),
        ("<a href=x>seen<span hidden>not</span><style>not</style></a>", "seen"),
        ("<a href=x></a>", ""),
        ("<a href=x>out<table><td><a href=y>in</a></table>side</a>", "out"),
        ("<a href=x>one<svg><title>icon</title></svg>two</a>", "one two"),
        ("<p>a<a href=x> b </a>c", "b"),
    ],
)
def test_anchor_words(page, expected):
    assert anchor(page) == expected


def test_an_unclosed_link_ends_where_the_next_begins():
    assert links("<a href=1>one<a href=2>two") == [FoundLink("1", "one"), FoundLink("2", "two")]


def test_an_anchor_is_cut_at_its_limit():
    assert links("<a href=x>some long words</a>", anchor_chars=6) == [FoundLink("x", "some l")]


def test_an_href_that_no_url_can_have_is_cut_so_that_it_is_refused():
    href = links("<a href=" + "x" * 100_000 + ">y</a>")[0].href
    assert len(href) == 65_537
