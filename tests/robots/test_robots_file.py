"""How a robots.txt is read: bytes, lines, groups."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.robots.file import parse
from weft.robots.lines import LIMIT, lines_of
from weft.robots.rules import Decision

SIMPLE = "User-agent: *\nDisallow: /private\n"


def decide(body: str | bytes, target: str, agent: str = "weft") -> Decision:
    return parse(body if isinstance(body, bytes) else body.encode()).rules_for(agent).decide(target)


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n", "\n\n", "\r\r\n"])
def test_lines_end_in_any_way(ending: str) -> None:
    assert not decide(SIMPLE.replace("\n", ending), "/private").allowed


def test_a_file_need_not_end_with_a_line_end() -> None:
    assert not decide(SIMPLE.rstrip(), "/private").allowed


@pytest.mark.parametrize(
    "body",
    [
        codecs.BOM_UTF8 + SIMPLE.encode(),
        codecs.BOM_UTF16_LE + SIMPLE.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + SIMPLE.encode("utf-16-be"),
        SIMPLE.encode("utf-16-le"),
        SIMPLE.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + SIMPLE.encode("utf-32-le"),
        SIMPLE.replace("private", "pri\0vate").encode(),
        b"\0\0\0" + SIMPLE.encode() + b"\0" * 100,
    ],
)
def test_marks_and_zero_bytes_do_not_hide_rules(body: bytes) -> None:
    assert not decide(body, "/private").allowed
    assert decide(body, "/public").allowed


@pytest.mark.parametrize(
    ("line", "is_rule"),
    [
        ("Disallow /", True),
        ("disallow\t/ # all", True),
        ("Disallow / /", False),
        ("Disallow", False),
        ("Dis allow: /", False),
    ],
)
def test_without_a_colon_a_line_of_two_words_is_a_rule(line: str, is_rule: bool) -> None:
    assert decide(f"User-agent: *\n{line}\n", "/").allowed != is_rule


def test_the_deciding_line_is_told_with_its_number() -> None:
    body = "# of a.com\r\nUser-agent: *\r\n\r\n  DISALLOW :\t/a  # not a\r\nAllow: /a/b\r\n"
    assert decide(body, "/a/c") == Decision(False, 4, "DISALLOW : /a  # not a")
    assert decide(body, "/a/b") == Decision(True, 5, "Allow: /a/b")
    assert decide(body, "/") == Decision(True)


def test_the_text_of_a_line_is_short_and_printable() -> None:
    text = decide(b"User-agent: *\nDisallow: /\x1b[31m" + b"a" * 1000, "/\x1b[31m" + "a" * 1000).line_text
    assert len(text) == 201
    assert text.isprintable()


@pytest.mark.parametrize("path", ["/robots.txt", "/robots.txt?x=1"])
def test_robots_txt_itself_is_always_allowed(path: str) -> None:
    assert decide("User-agent: *\nDisallow: /\nDisallow: /robots.txt", path) == Decision(True)
    assert not decide("User-agent: *\nDisallow: /", "/robots.txt.bak").allowed


def test_rules_before_any_agent_are_for_nobody() -> None:
    assert decide("Disallow: /\nUser-agent: weft\nAllow: /a", "/b").allowed


def test_groups_of_one_agent_are_one() -> None:
    body = "User-agent: weft\nDisallow: /a\n\nUser-agent: other\nDisallow: /\n\nUser-agent: WEFT\nDisallow: /b\n"
    assert not decide(body, "/a").allowed
    assert not decide(body, "/b").allowed
    assert decide(body, "/c").allowed


def test_groups_for_everybody_are_one_and_count_only_for_agents_without_their_own() -> None:
    body = "User-agent: *\nDisallow: /a\nUser-agent: weft\nUser-agent: other\nUser-agent: *\nDisallow: /b\n"
    assert not decide(body, "/a", "third").allowed
    assert not decide(body, "/b", "third").allowed
    assert decide(body, "/a").allowed
    assert not decide(body, "/b").allowed


def test_an_agent_that_is_named_without_rules_may_fetch_everything() -> None:
    assert decide("User-agent: *\nDisallow: /\nUser-agent: weft", "/").allowed


@pytest.mark.parametrize("name", ["weft", "Weft", "WEFT/1.0", "weft *", "weft 2", "weft;x"])
def test_an_agent_is_known_by_its_token_in_any_case(name: str) -> None:
    assert not decide(f"User-agent: {name}\nDisallow: /", "/").allowed


@pytest.mark.parametrize("name", ["weft2", "weft-images", "aweft", "we", "", "*weft", "/weft", "wéft"])
def test_an_agent_is_not_known_by_part_of_a_token(name: str) -> None:
    assert decide(f"User-agent: {name}\nDisallow: /", "/").allowed


def test_a_line_for_an_unreadable_agent_still_begins_a_group() -> None:
    body = "User-agent: weft\nDisallow: /a\nUser-agent: (none)\nDisallow: /b\n"
    assert not decide(body, "/a").allowed
    assert decide(body, "/b").allowed
    assert decide(body, "/b", "").allowed


@pytest.mark.parametrize(
    "line", ["Sitemap: /s", "Crawl-delay: 1", "Host: a.com", "nonsense", "# note", "", "Noindex: /"]
)
def test_other_lines_do_not_end_the_list_of_agents(line: str) -> None:
    assert not decide(f"User-agent: weft\n{line}\nUser-agent: other\nDisallow: /", "/").allowed


@pytest.mark.parametrize("line", ["Disallow:", "Allow:", "Disallow: #", "Disallow: /x"])
def test_rules_end_the_list_of_agents_even_if_they_are_empty(line: str) -> None:
    assert decide(f"User-agent: weft\n{line}\nUser-agent: other\nDisallow: /", "/").allowed


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5), ("0.5", 0.5), (".5", 0.5), ("5.", 5), ("0", 0), ("10 # seconds", 10), ("10s", 10),
        ("", None), ("-1", None), ("soon", None), ("nan", None), ("inf", None), ("1e9", 1), ("9" * 1000, 999_999_999),
    ],
)  # fmt: skip
def test_delays_are_numbers_of_seconds(value: str, seconds: float | None) -> None:
    assert parse(f"User-agent: *\nCrawl-delay: {value}".encode()).rules_for("weft").crawl_delay == seconds


def test_a_delay_is_for_the_agents_named_right_before_it() -> None:
    file = parse(
        b"User-agent: a\nUser-agent: b\nCrawl-delay: 1\nUser-agent: c\nCrawl-delay: 2\nUser-agent: *\nAllow: /"
    )
    assert [file.rules_for(agent).crawl_delay for agent in "abcd"] == [1, 1, 2, None]


def test_the_longest_of_several_delays_counts() -> None:
    file = parse(b"User-agent: *\nCrawl-delay: 5\nCrawl-delay: 2\nAllow: /\nUser-agent: *\nCrawl-delay: 3")
    assert file.rules_for("weft").crawl_delay == 5


def test_a_delay_for_everybody_is_not_inherited() -> None:
    file = parse(b"User-agent: *\nCrawl-delay: 5\nDisallow:\nUser-agent: weft\nDisallow: /a")
    assert file.rules_for("weft").crawl_delay is None


def test_sitemaps_are_for_all_and_stand_anywhere() -> None:
    body = b"Sitemap: https://a.com/1.xml\nUser-agent: *\nSITEMAP:/2.xml\nDisallow: /\nsite-map: https://a.com/\xc3\xa4\nsitemap:"
    assert parse(body).sitemaps == ("https://a.com/1.xml", "/2.xml", "https://a.com/ä")


def filled(size: int) -> bytes:
    """A comment that makes the next line begin at byte `size`."""
    return b"#" * (size - 1) + b"\n"


def test_only_the_first_500_kib_are_read() -> None:
    rule = b"User-agent: *\nDisallow: /\n"
    assert not decide(filled(LIMIT - len(rule)) + rule, "/").allowed
    assert decide(filled(LIMIT) + rule, "/").allowed
    assert not parse(filled(LIMIT) + rule, limit=LIMIT + 100).rules_for("weft").decide("/").allowed


def test_a_line_that_the_limit_cuts_is_not_read() -> None:
    rule = b"User-agent: *\nDisallow: /a"
    before = filled(LIMIT - len(rule)) + rule
    assert decide(before + b"b" * 100, "/ab").allowed
    assert not decide(before, "/ab").allowed
    assert not decide(before + b"\nAllow: /ab", "/ab").allowed


@given(st.binary(max_size=400), st.integers(0, 400))
def test_nothing_cannot_be_read(body: bytes, limit: int) -> None:
    file = parse(body, limit)
    for line in lines_of(body, limit):
        assert line.number <= body.count(b"\n") + body.count(b"\r") + 1
    file.rules_for("weft").decide("/x?y")


@given(
    st.lists(
        st.sampled_from(
            ["User-agent: weft", "User-agent: *", "User-agent: b", "Disallow: /a", "Allow: /a/b", "Disallow:",
             "Sitemap: /s", "Crawl-delay: 2", "nonsense", "\ufeff", "Disallow: *", "Allow: /$"]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_line_ends_and_comments_change_nothing(lines: list[str]) -> None:
    plain = parse("\n".join(lines).encode())
    other = parse("".join(f"  {line} # note\r\n\r\n" for line in lines).encode())
    assert plain.sitemaps == other.sitemaps
    for agent in ("weft", "b", "c"):
        assert plain.rules_for(agent).crawl_delay == other.rules_for(agent).crawl_delay
        for target in ("/", "/a", "/a/b", "/c"):
            assert plain.rules_for(agent).decide(target).allowed == other.rules_for(agent).decide(target).allowed


def decides(body: bytes, agent: str = "weft") -> tuple[bool, bool]:
    """Whether /private/x and /open are allowed."""
    rules = parse(body).rules_for(agent)
    return rules.decide("/private/x").allowed, rules.decide("/open").allowed


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("Disallow /wiki/Talk:Main", "/wiki/Talk:Main"),
        ("Disallow\t/wiki/Talk:Main\t", "/wiki/Talk:Main/x"),
        ("dissalow /a:b:c", "/a:b:c"),
        ("Disallow\u00a0/wiki/Talk:Main", "/wiki/Talk:Main"),
        ("Disallow\u00a0/x\u00a0y", "/x%C2%A0y"),
    ],
)
def test_a_forgotten_colon_is_repaired_also_where_the_value_has_one(line: str, target: str) -> None:
    rules = parse(f"User-agent: *\n{line}\n".encode()).rules_for("weft")
    assert not rules.decide(target).allowed
    assert rules.decide("/other").allowed


def test_a_sitemap_and_an_agent_may_lack_their_colon_too() -> None:
    file = parse(b"User-agent weft:\nDisallow /\nSitemap https://a.com/map.xml\n")
    assert file.sitemaps == ("https://a.com/map.xml",)
    assert not file.rules_for("weft").decide("/x").allowed
    assert file.rules_for("other").decide("/x").allowed


@pytest.mark.parametrize(
    "line", ["Disallow for bots: /private/", "Disallow /private/ x: y", "Note Disallow: /private/"]
)
def test_a_sentence_with_a_colon_is_no_rule(line: str) -> None:
    assert decides(f"User-agent: *\n{line}\n".encode()) == (True, True)


SPACES = "\u00a0\u1680\u2003\u2009\u202f\u205f\u3000\u200b\u2060\ufeff\u0085\u2028"


@pytest.mark.parametrize("space", SPACES, ids=[f"U+{ord(space):04X}" for space in SPACES])
@pytest.mark.parametrize(
    "pattern", ["{0}User-agent{0}:{0}*{0}\n{0}Disallow{0}:{0}/private/{0}\n{0}{0}Allow:{0}/open{0}"]
)
def test_unicode_spaces_around_names_and_values_are_white_space(pattern: str, space: str) -> None:
    assert decides(pattern.format(space).encode()) == (False, True)
    assert decides(f"User{space}agent: *\nDisallow: /private/".encode())[0] is False


def test_a_no_break_space_of_a_legacy_encoding_is_white_space_and_the_end_of_a_letter_is_not() -> None:
    assert decides(b"User-agent:\xa0*\xa0\nDisallow:\xa0/private/\xa0\n") == (False, True)
    rules = parse("User-agent: *\nDisallow: /à\n".encode()).rules_for("weft")
    assert not rules.decide("/%C3%A0").allowed
    assert rules.decide("/%C3").allowed


def test_spaces_within_a_value_belong_to_it() -> None:
    rules = parse("User-agent: *\nDisallow: /a\u00a0b\n".encode()).rules_for("weft")
    assert not rules.decide("/a%C2%A0b").allowed
    assert rules.decide("/a").allowed


@pytest.mark.parametrize(
    "mark",
    [
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\xef\xbb\xbf",
        b"\xef\xbb",
        b"\xef",
        b"\xbb\xbf",
        b"\xef\x11\xbf",
        "\ufffd\ufffd".encode(),
        "ï»¿".encode(),
        "∩╗┐".encode(),
        "ÿþ".encode(),
        b"\xff\xfe",
        b"\xfe\xff",
        b"???",
        b"\x00\x1a ",
    ],
)
def test_a_broken_byte_order_mark_does_not_lose_the_first_group(mark: bytes) -> None:
    assert decides(mark + b"User-agent: *\nDisallow: /private/\n") == (False, True)
    assert decides(b"\n\n" + mark + b"User-agent: *\nDisallow: /private/\n") == (False, True)


def test_a_mark_within_a_file_joined_from_others_does_not_lose_a_group() -> None:
    body = b"User-agent: other\nDisallow: /\n" + b"\xef\xbb\xbfUser-agent: *\nDisallow: /private/\n"
    assert decides(body) == (False, True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_real_marks_and_wide_files_are_read_as_before(encoding: str) -> None:
    assert decides("User-agent: *\r\nDisallow: /private/\r\n".encode(encoding)) == (False, True)


def test_what_a_person_put_out_of_force_in_the_first_line_stays_so() -> None:
    assert decides(b"//User-agent: *\nDisallow: /private/\n") == (True, True)
    assert decides(b"#User-agent: *\nDisallow: /private/\n") == (True, True)
