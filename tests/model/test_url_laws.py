"""What holds for every URL, however it is written."""

from __future__ import annotations

import re
from itertools import groupby
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from support.hard_urls import STRIP, after_scheme, hrefs, many, urls
from weft.model.url import PageUrl, Uri, UrlFault, UrlRefused, UrlRules, domain_of, identity_of, url_of

RULES = UrlRules(STRIP)


def accepted(text: str) -> PageUrl:
    try:
        return RULES.identify(text)
    except UrlRefused:
        assume(False)
        raise


def outcome(text: str) -> Uri | UrlFault:
    try:
        return RULES.identify(text).uri
    except UrlRefused as refusal:
        return refusal.reason


@many
@given(urls)
def test_cleaning_twice_changes_nothing(url: str) -> None:
    page = accepted(url)
    assert RULES.identify(page.url) == page


@many
@given(urls, st.sampled_from(["http", "https"]))
def test_a_uri_is_the_uri_of_the_url_it_leads_to(url: str, scheme: str) -> None:
    page = accepted(url)
    assert RULES.identify(url_of(page.uri, scheme)).uri == page.uri


@many
@given(urls, st.randoms())
def test_however_a_url_is_escaped_it_names_one_page(url: str, random: Random) -> None:
    page = accepted(url)
    slash = page.url.index("/", len("https://"))
    target = page.url[slash:]
    assume(not re.search("%(?![0-9A-Fa-f]{2})", target))
    other = respelt(target, random)
    assert RULES.identify(page.url[:slash] + other).uri == page.uri
    assert identity_of(page.url[:slash] + other).uri == page.uri


def respelt(target: str, random: Random) -> str:
    """The same target with other escapes: digits in any case, unreserved characters escaped or not."""
    pieces = re.findall("%[0-9A-Fa-f]{2}|.", target, re.DOTALL)
    return "".join(random.choice(spellings(piece)) for piece in pieces)


def spellings(piece: str) -> list[str]:
    code = int(piece[1:], 16) if len(piece) == 3 else ord(piece)
    is_free = chr(code).isascii() and (chr(code).isalnum() or chr(code) in "-._~")
    # Dots are for the parser alone: it reads an escaped one as a dot, and a segment of dots climbs.
    if not is_free or chr(code) == ".":
        return [piece] if len(piece) == 1 else [piece.upper(), piece.lower()]
    return [chr(code), f"%{code:02x}", f"%{code:02X}"]


@many
@given(after_scheme)
def test_http_and_https_have_one_uri(rest: str) -> None:
    assert outcome("http://" + rest) == outcome("https://" + rest)


@many
@given(urls)
def test_the_domain_is_a_function_of_the_uri(url: str) -> None:
    page = accepted(url)
    assert domain_of(page.uri) == page.domain


@given(st.lists(urls, max_size=30))
def test_sorted_by_domain_and_uri_each_domain_is_in_one_place(texts: list[str]) -> None:
    uris = [uri for uri in map(outcome, texts) if not isinstance(uri, UrlFault)]
    ordered = sorted(uris, key=lambda uri: (domain_of(uri), uri))
    domains = [domain for domain, _ in groupby(ordered, key=domain_of)]
    assert len(domains) == len(set(domains))


@many
@given(urls)
def test_a_fetched_url_is_ascii_without_fragment_userinfo_and_trailing_dot(url: str) -> None:
    page = accepted(url)
    host = page.url.split("/")[2]
    assert page.url.isascii()
    assert page.url.startswith(("http://", "https://"))
    assert "#" not in page.url
    assert "@" not in host
    assert not host.partition(":")[0].endswith(".")
    assert re.fullmatch(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?", host)


@many
@given(hrefs)
def test_any_text_is_identified_or_refused_with_a_printable_sentence(text: str) -> None:
    for identify in (RULES.identify, RULES.identify_typed):
        try:
            sentence = identify(text).url
        except UrlRefused as refusal:
            sentence = str(refusal)
        assert sentence.isprintable()
