"""The visible text: words stay whole, blocks stay apart, what is not seen is not there."""

import pytest
from hypothesis import given

from support.html_pieces import pages, visible_lines
from weft.config.sections import LimitsSettings
from weft.html import parse_page


def text(page: str) -> str:
    return parse_page(page.encode(), "text/html; charset=utf-8").text


@given(pages)
def test_the_text_is_what_a_walk_over_all_nodes_finds(page):
    assert text(page).split("\n") == (visible_lines(page) or [""])


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>one<p>two", "one\ntwo"),
        ("<p>wo<b>rd</b>s", "words"),
        ("one<br>two", "one\ntwo"),
        ("<table><caption>c</caption><tr><td>a<td>b</table>", "c\na\nb"),
        ("<a href=x><div>card</div></a>after", "card\nafter"),
        ("Price: <!-- -->12<!-- --> Euro", "Price: 12 Euro"),
        ("<p> spaced \n\t out </p>", "spaced out"),
        ("<pre>as  it\n is</pre>", "as it is"),
        ("no&nbsp;&nbsp;break", "no break"),
        ("Donau&shy;dampf", "Donaudampf"),
        ("<p>&nbsp;</p><p>x", "x"),
        ("seen<script>not</script><style>not</style><template>not</template>", "seen"),
        ("seen<noscript>not</noscript><iframe>not</iframe><svg><text>not</text></svg>", "seen"),
        ("Sort by<select><option>not</select>Show", "Sort by\nShow"),
        ("<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>", "E=mc2"),
        ("<p>seen<title>not</title>", "seen"),
        ("<title>not</title>seen<select><option>not</select><textarea>not</textarea>", "seen"),
        ("<div hidden>not <b>this</b></div>seen", "seen"),
        ('<div hidden="until-found">seen</div>', "seen"),
        ("<body hidden>seen", "seen"),
        ("<div><template shadowrootmode=open><p>seen</p></template></div>", "seen"),
        ("<div><template shadowrootmode=open>wo<b>rd</b>s  apart</template></div>", "words apart"),
        ("<custom-part>one</custom-part>two", "one\ntwo"),
        ("fu\0ll", "full"),
        ("<frameset><frame src=x></frameset>", ""),
        ("", ""),
    ],
)
def test_seen_and_unseen(page, expected):
    assert text(page) == expected


def test_the_text_is_cut_at_its_limit():
    page = parse_page(b"<p>" + b"word " * 100, limits=LimitsSettings(text_chars=20))
    assert page.text == "word word word word"
    assert page.cut == ["text"]


def test_a_text_below_the_limit_is_whole():
    assert parse_page(b"<p>word", limits=LimitsSettings(text_chars=4)).cut == []
