"""Which rule decides: against a plain reading of RFC 9309."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.robots.encoding import canonical_pattern, canonical_target
from weft.robots.file import parse
from weft.robots.rules import RobotsRule, Rules

LETTERS = "ab/"


def rules_of(*lines: str) -> Rules:
    return parse("\n".join(["User-agent: *", *lines]).encode()).rules_for("weft")


@pytest.mark.parametrize(
    ("path", "target", "matches"),
    [
        ("/a", "/a", True), ("/a", "/ab", True), ("/a", "/A", False), ("/a$", "/a", True), ("/a$", "/ab", False),
        ("/a$b", "/a$b", True), ("/a$b", "/a%24b", True), ("/a%24", "/a$x", True), ("/a%24", "/a", False),
        ("/*.php", "/x.php5", True), ("/*.php$", "/x.php5", False), ("/*.php$", "/a.php/b.php", True),
        ("/a*b*c", "/a-b-c", True), ("/a*b*c", "/a-c-b", False), ("/a*a$", "/a", False), ("/a*a$", "/aa", True),
        ("*", "/", True), ("*$", "/x", True), ("/*$", "/", True), ("/**/b", "/a/b", True), ("/$*", "/$", True),
        ("/*ab*ba", "/aba", False), ("/*ab*ba", "/abba", True), ("/*ab*b$", "/ab", False), ("/a*b*b*b", "/abab", False),
        ("/a%2A", "/a*", True), ("/a%2A", "/a%2ab", True), ("/a%2A", "/ab", False), ("a", "/a", False),
        ("/ä", "/%C3%A4", True), ("/%c3%a4", "/ä", True), ("/%61", "/a", True), ("/a", "/%61", True),
        ("/a b", "/a%20b", True), ("/a%20b", "/a b", True), ("/%7ea", "/~a", True), ("/a|b", "/a%7Cb", True),
        ("/a%2Fb", "/a/b", False), ("/a/b", "/a%2Fb", False), ("/a%2fb", "/a%2Fb", True), ("/a%3Fb", "/a?b", False),
        ("/a%26b", "/a&b", False), ("/a?b=%2B", "/a?b=+", False), ("/100%", "/100%", True), ("/a%zz", "/a%zz", True),
        ("/x?q='a'", "/x?q=%27a%27", True), ("/a(b),c", "/a%28b%29%2Cc", True), ("/x:y@z", "/x%3Ay%40z", True),
        # The examples of RFC 9309, 2.2.2: path, encoded path and path to match are one.
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz", True),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", True),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar", True),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84", True), ("/foo/bar/%E3%83%84", "/foo/bar/ツ", True),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", True), ("/foo/bar/baz", "/foo/bar/%62%61%7A", True),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", True),
        ("/path/foo-%24", "/path/foo-$", True),
        ("/*/x", "/?to=%2Fx", True), ("/*%2Fx", "/?to=%2Fx", True), ("/*%2Fx", "/?to=/x", False),
    ],
)  # fmt: skip
def test_paths_match_as_rfc_9309_says(path: str, target: str, matches: bool) -> None:
    assert rules_of("Disallow: " + path).decide(target).allowed != matches


@pytest.mark.parametrize(
    ("lines", "target", "line"),
    [
        (["Allow: /a", "Disallow: /a"], "/a", 2),
        (["Disallow: /a", "Allow: /a"], "/a", 3),
        (["Disallow: /a", "Disallow: /a"], "/a", 2),
        (["Allow: /%61", "Disallow: /a"], "/a", 2),
        (["Disallow: /a/", "Allow: /a/b", "Disallow: /a/b/c"], "/a/b/d", 3),
        (["Disallow: /a/", "Allow: /a/b", "Disallow: /a/b/c"], "/a/b/c", 4),
        (["Disallow: /*c", "Allow: /a"], "/abc", 2),
        (["Disallow: /*c", "Allow: /ab"], "/abc", 3),
        (["Disallow: /*c", "Allow: /abc$"], "/abc", 3),
        (["Disallow: /*b*", "Allow: /*c$"], "/abc", 3),
        (["Disallow: /", "Allow: /$"], "/", 3),
        (["Disallow: /", "Allow: /$"], "/a", 2),
        (["Disallow: /a", "Allow: /b"], "/c", None),
        (["Disallow: /*b", "Disallow: /a*"], "/ab", 2),
        (["Disallow: /a*", "Disallow: /*b"], "/ab", 2),
        (["Disallow: /*a", "Disallow: /*b"], "/ab", 2),
        (["Disallow: /*b", "Disallow: /*a"], "/ab", 2),
        (["Disallow: /a:b", "Allow: /*/cc"], "/a:b/cc", 3),
        (["Disallow: /a%3Ab", "Allow: /*/cc"], "/a:b/cc", 3),
    ],
)
def test_the_longest_path_decides_and_allow_wins_a_tie(lines: list[str], target: str, line: int | None) -> None:
    assert rules_of(*lines).decide(target).line_number == line


@pytest.mark.parametrize("target", ["", "/"])
def test_a_url_without_a_path_is_the_root(target: str) -> None:
    assert rules_of("Disallow: /$").decide(target).line_number == 2


def plainly(rules: list[RobotsRule], target: str) -> bool:
    """What RFC 9309 says, by trying every rule with a regular expression."""
    best = (-1, True)
    for rule in rules:
        is_anchored = rule.path.endswith(b"$")
        pieces = rule.path.removesuffix(b"$").split(b"*")
        expression = b".*".join(map(re.escape, pieces)) + (b"$" if is_anchored else b"")
        if rule.path and re.match(expression, canonical_target(target)):
            best = max(best, (len(rule.path), rule.is_allow))
    return best[1]


PATHS = st.text(alphabet=LETTERS + "*$%", max_size=8).map(lambda path: "/" + path) | st.text(
    alphabet="ab*/", max_size=6
)
TARGETS = st.text(alphabet=LETTERS + "*$", max_size=12).map(lambda path: "/" + path)


def compiled(pairs: list[tuple[bool, str]]) -> tuple[list[RobotsRule], Rules]:
    rules = [
        RobotsRule(is_allow, canonical_pattern(path.encode()), number, path)
        for number, (is_allow, path) in enumerate(pairs, 1)
        if path
    ]
    return rules, Rules(rules)


def check_plain_reading(pairs: list[tuple[bool, str]], targets: list[str]) -> None:
    rules, compiled_rules = compiled(pairs)
    for target in targets:
        decision = compiled_rules.decide(target)
        assert decision.allowed == plainly(rules, target)
        if decision.line_number:
            assert rules[[rule.number for rule in rules].index(decision.line_number)].is_allow == decision.allowed


@settings(max_examples=max(300, settings.default.max_examples))
@given(st.lists(st.tuples(st.booleans(), PATHS), max_size=12), st.lists(TARGETS, min_size=1, max_size=5))
def test_decisions_are_those_of_a_plain_reading(pairs: list[tuple[bool, str]], targets: list[str]) -> None:
    check_plain_reading(pairs, targets)


PIECES = st.lists(st.text(alphabet="ab/", max_size=10), min_size=2, max_size=5)
STARRED = st.builds(lambda pieces, ending: "/" + "*".join(pieces) + ending, PIECES, st.sampled_from(["", "$"]))
MANY = st.lists(st.tuples(st.booleans(), STARRED | PATHS), min_size=30, max_size=80)
LONG = st.text(alphabet=LETTERS, max_size=40).map(lambda path: "/" + path)


@settings(max_examples=max(200, settings.default.max_examples))
@given(MANY, st.lists(LONG | TARGETS, min_size=1, max_size=5))
def test_decisions_by_many_rules_with_stars_are_those_of_a_plain_reading(
    pairs: list[tuple[bool, str]], targets: list[str]
) -> None:
    check_plain_reading(pairs, targets)


@given(st.lists(st.tuples(st.booleans(), PATHS), max_size=8), TARGETS, st.randoms(use_true_random=False))
def test_the_order_of_rules_does_not_matter(pairs: list[tuple[bool, str]], target: str, source: Any) -> None:
    rules = [RobotsRule(is_allow, canonical_pattern(path.encode()), 1, path) for is_allow, path in pairs if path]
    before = Rules(rules).decide(target).allowed
    source.shuffle(rules)
    assert Rules(rules).decide(target).allowed == before


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_path_matches_itself_and_all_that_begins_with_it(path: str, rest: str) -> None:
    value = ("/" + path).encode(errors="replace").replace(b"*", b"%2A").replace(b"$", b"%24")
    rules = Rules([RobotsRule(False, canonical_pattern(value), 1, "")])
    assert not rules.decide("/" + path).allowed or path == "robots.txt"
    assert not rules.decide("/" + path + "x" + rest).allowed


@given(st.binary(max_size=40))
def test_spelling_anew_changes_nothing(value: bytes) -> None:
    once = canonical_pattern(value)
    assert canonical_pattern(once) == once
