"""Golden results of the rules that stored data was made by. Where one changes, its version must be raised as well."""

from __future__ import annotations

import pytest

from weft.html.fingerprint import fingerprint_and_simhash
from weft.model.url import UrlRules
from weft.model.versions import FINGERPRINTS, URI_RULES

URIS = {
    "http://www.Example.com:80/a/../b?q=1#f": "com.example.www/b?q=1",
    "https://a.com:8443/%7euser/%c3%a9?x=%2d%26": "com.a:8443/~user/%C3%A9?x=-%26",
    "https://a.com/100%?q=%7e": "com.a/100%?q=%7e",
    "http://b\u00fccher.de./\u00fc?\u00fc='": "de.xn--bcher-kva/%C3%BC?%C3%BC=%27",
    "http://0x7f.1/;x?": "127.0.0.1/;x?",
}
FOX = "The quick brown fox jumps over the lazy dog, again and again, until the evening of 3 May 2026 at 12:30. "
TEXTS = {
    (FOX * 3, "Fox 2026"): (13472049236267324083, 2661927057857316526),
    (
        "\u00dcn\u00efc\u00f6d\u00e9 w\u00f6rds, \u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8 and 1,234 numbers; "
        "ten more words are here to be read by all.",
        "",
    ): (8289573233708778236, 9235775853517627337),
}


def test_uris_are_made_by_version_2_of_the_rules() -> None:
    assert URI_RULES == 2
    assert {url: UrlRules().identify(url).uri for url in URIS} == URIS


@pytest.mark.parametrize(("page", "numbers"), TEXTS.items())
def test_fingerprints_are_made_by_version_1_of_the_rules(page: tuple[str, str], numbers: tuple[int, int]) -> None:
    assert FINGERPRINTS == 1
    text, title = page
    assert fingerprint_and_simhash(text, [title] if title else []) == numbers
