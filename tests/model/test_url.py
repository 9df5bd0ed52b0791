from __future__ import annotations

import pickle
import sys
from resource import RUSAGE_SELF, getrusage

import pytest

from support.hard_urls import STRIP
from weft.errors import WeftError
from weft.model.url import (
    LONGEST_INPUT,
    Uri,
    UrlFault,
    UrlRefused,
    UrlRules,
    domain_of,
    identity_of,
    remembered_origin,
    resolve,
    url_of,
    without_userinfo,
)

RULES = UrlRules(STRIP)


@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("http://a.com", "com.a"),
        ("http://a.com/", "com.a"),
        ("https://www.example.com/a?b=1", "com.example.www/a?b=1"),
        ("http://a.com/?q", "com.a/?q"),
        ("http://a.com?q", "com.a/?q"),
        ("http://a.com/?", "com.a/?"),
        ("https://www.Example.com:443/a/../b?utm_source=x&q=1#f", "com.example.www/b?q=1"),
        ("http://user:secret@a.com/x", "com.a/x"),
        ("https://a.com:8443/x", "com.a:8443/x"),
        ("https://a.com:80/x", "com.a/x"),
        ("http://a.com:443/x", "com.a/x"),
        ("http://127.1/x", "127.0.0.1/x"),
        ("http://127.0.0.1:8080", "127.0.0.1:8080"),
        ("http://[2001:DB8::1]:8080/x", "[2001:db8::1]:8080/x"),
        ("http://bücher.de/ü", "de.xn--bcher-kva/%C3%BC"),
        ("http://a.com./x", "com.a/x"),
        ("http://a.com.../x", "com.a/x"),
        ("http://1.2.3.4../x", "1.2.3.4/x"),
        ("http://0x7f.1../x", "127.0.0.1/x"),
        (" \n https://a.com/b\tc ", "com.a/bc"),
        ("http://a..b/", "b..a"),
        ("http://.b/x", "b./x"),
        ("http://a.com//x//", "com.a//x//"),
        ("http://a.com/%2e%2E/b", "com.a/b"),
        ("http://a.com/%7Euser/%c3%a9?q=%c3%a9%2d%26", "com.a/~user/%C3%A9?q=%C3%A9-%26"),
        ("http://a.com/a%2eb/%2e%2e%2e", "com.a/a.b/..."),
        ("http://a.com/%7Euser/100%?q=%7e", "com.a/%7Euser/100%?q=%7e"),
        ("http://a.com/%7e?utm_x=%zz", "com.a/~"),
    ],
)
def test_a_uri_is_the_reversed_host_and_what_is_asked_of_it(url: str, uri: str) -> None:
    assert RULES.identify(url).uri == uri


@pytest.mark.parametrize(
    ("url", "fetched"),
    [
        ("http://A.com", "http://a.com/"),
        ("http://u:p@a.com./x#f", "http://a.com/x"),
        ("https://a.com:80/x", "https://a.com:80/x"),
        ("http://a.com:80/x", "http://a.com/x"),
        ("http://a.com/x?utm_source=1", "http://a.com/x"),
        ("http://a.com/%7Eu?q=%c3%a9", "http://a.com/%7Eu?q=%c3%a9"),
    ],
)
def test_the_url_to_fetch_keeps_scheme_port_and_escapes(url: str, fetched: str) -> None:
    assert RULES.identify(url).url == fetched


def test_all_spellings_of_a_page_are_taken_or_all_are_refused() -> None:
    rules = UrlRules(max_length=40)
    for length, is_taken in ((40, True), (41, False)):
        letters = length - len("https://a.com/")
        for target in ("a" * letters, "%61" * letters):
            for scheme in ("http", "https"):
                url = f"{scheme}://a.com/{target}"
                if is_taken:
                    page = rules.identify(url)
                    assert (page.uri, len(page.url) <= 40) == ("com.a/" + "a" * letters, True)
                else:
                    with pytest.raises(UrlRefused, match="it has 41 characters"):
                        rules.identify(url)


@pytest.mark.parametrize(
    ("given_url", "stripped"),
    [
        ("http://a.com/?utm_source=x", "http://a.com/"),
        ("http://a.com/?a=1&utm_source=x&b=2", "http://a.com/?a=1&b=2"),
        ("http://a.com/?UTM_Source=x&JSessionID&a", "http://a.com/?a"),
        ("http://a.com/?utm%5fsource=x&%67clid=1", "http://a.com/"),
        ("http://a.com/?utm=1&xgclid=1&gclid2=1", "http://a.com/?utm=1&xgclid=1&gclid2=1"),
        ("http://a.com/?a=utm_source=x&b=gclid", "http://a.com/?a=utm_source=x&b=gclid"),
        ("http://a.com/?", "http://a.com/?"),
        ("http://a.com/?&", "http://a.com/?&"),
        ("http://a.com/?gclid=1&", "http://a.com/"),
        ("http://a.com/?a=1&&gclid=1&b", "http://a.com/?a=1&&b"),
        ("http://a.com/a;jsessionid=1/b", "http://a.com/a/b"),
        ("http://a.com/a;x=1;JSESSIONID=1;y/b;gclid", "http://a.com/a;x=1;y/b"),
        ("http://a.com/a;%6asessionid=1", "http://a.com/a"),
        ("http://a.com/a/..;jsessionid=1/b", "http://a.com/b"),
        ("http://a.com/a/%2e;jsessionid=1/b", "http://a.com/a/b"),
        ("http://a.com/;jsessionid=1?gclid=2", "http://a.com/"),
        ("http://a.com/a;b/c", "http://a.com/a;b/c"),
    ],
)
def test_session_and_tracking_parameters_are_removed(given_url: str, stripped: str) -> None:
    assert RULES.identify(given_url).url == stripped


def test_without_names_nothing_is_stripped() -> None:
    url = "http://a.com/a;jsessionid=1?utm_source=x&="
    assert UrlRules().identify(url).url == url


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("example.com", "https://example.com/"),
        (" example.com/a?b ", "https://example.com/a?b"),
        ("localhost:8080/x", "https://localhost:8080/x"),
        ("localhost:8080", "https://localhost:8080/"),
        ("example.com:", "https://example.com/"),
        ("127.0.0.1:8080?x", "https://127.0.0.1:8080/?x"),
        ("[::1]:8080/x", "https://[::1]:8080/x"),
        ("//example.com/x", "https://example.com/x"),
        ("http://example.com", "http://example.com/"),
        ("HTTP://example.com", "http://example.com/"),
        ("http:example.com", "http://example.com/"),
        ("bücher.de", "https://xn--bcher-kva.de/"),
        ("\ufeffhttp://example.com/", "http://example.com/"),
        ("\u200bhttp://example.com/\u200b", "http://example.com/"),
        ("\u200eexample.com\u2069", "https://example.com/"),
        ("\xa0http://example.com/a\xa0\u2028 ", "http://example.com/a"),
        ("http://example.com/\u200bx", "http://example.com/%E2%80%8Bx"),
    ],
)
def test_what_a_person_types_means_https(typed: str, url: str) -> None:
    assert RULES.identify_typed(typed).url == url


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("mailto:x@y", UrlFault.SCHEME),
        ("javascript:alert(1)", UrlFault.SCHEME),
        ("javascript:1", UrlFault.SCHEME),
        ("java\tscript:1", UrlFault.SCHEME),
        ("TEL:112", UrlFault.SCHEME),
        ("ftp://example.com/", UrlFault.SCHEME),
        ("file:///etc/passwd", UrlFault.SCHEME),
        ("example.com:x", UrlFault.SCHEME),
        ("", UrlFault.UNPARSABLE),
        ("/etc/passwd", UrlFault.UNPARSABLE),
        ("\\\\server\\share", UrlFault.UNPARSABLE),
        ("///x", UrlFault.UNPARSABLE),
        ("two words", UrlFault.UNPARSABLE),
        ("./x", UrlFault.HOST),
    ],
)
def test_what_a_person_types_is_refused_when_it_is_no_web_page(typed: str, reason: UrlFault) -> None:
    with pytest.raises(UrlRefused) as caught:
        RULES.identify_typed(typed)
    assert caught.value.reason is reason


@pytest.mark.parametrize(
    ("text", "reason", "sentence"),
    [
        (
            "example.com",
            UrlFault.UNPARSABLE,
            "URL 'example.com' refused: it does not parse; expected a whole URL such as https://example.com/",
        ),
        (
            "mailto:x@y",
            UrlFault.SCHEME,
            "URL 'mailto:x@y' refused: its scheme is mailto; expected http or https",
        ),
        (
            "w\ns://x/\x1b",
            UrlFault.SCHEME,
            "URL 'w\\ns://x/\\x1b' refused: its scheme is ws; expected http or https",
        ),
        (
            "http://a.0x4..",
            UrlFault.HOST,
            "URL 'http://a.0x4..' refused: 'http://a.0x4..' has no host once trailing dots are dropped; "
            "expected a name or an IP address",
        ),
        (
            "http://me:secret@%2A.example.com/",
            UrlFault.HOST,
            "URL 'http://%2A.example.com/' refused: 'http://*.example.com' has '*' in its host; "
            "expected letters, digits, -, _ and dots there",
        ),
        (
            "http://a/" + "b" * 3_000,
            UrlFault.TOO_LONG,
            f"URL 'http://a/{'b' * 111}'… (3009 characters) refused: it has 3010 characters with https; "
            "expected at most 2048",
        ),
        (
            "c" * 70_000,
            UrlFault.TOO_LONG,
            f"URL '{'c' * 120}'… (70000 characters) refused: it has 70000 characters with its base; "
            "expected at most 65536",
        ),
    ],
)
def test_a_refusal_has_a_reason_and_a_sentence(text: str, reason: UrlFault, sentence: str) -> None:
    with pytest.raises(WeftError) as caught:
        RULES.identify(text)
    assert isinstance(caught.value, UrlRefused)
    assert (caught.value.reason, str(caught.value)) == (reason, sentence)


@pytest.mark.parametrize(
    "text",
    ["http://", "http://a b/", "http://a:65536/", "http://[::1/", "http://1.2.3.256/", "http://a%00b/", "/x", "?"],
)
def test_what_the_url_standard_rejects_is_unparsable(text: str) -> None:
    with pytest.raises(UrlRefused) as caught:
        RULES.identify(text)
    assert caught.value.reason is UrlFault.UNPARSABLE


@pytest.mark.parametrize("odd", [*"!\"$&'()*+,;=`{}~", "\uff0a", "%2a", "%7E"])
def test_a_host_has_only_characters_that_hosts_have(odd: str) -> None:
    for host in (odd, f"a{odd}b.com", f"www.{odd}:8080"):
        for read in (RULES.identify, RULES.identify_typed, lambda text: RULES.join("https://a.com/", text)):
            with pytest.raises(UrlRefused) as caught:
                read(f"http://{host}/")
            assert caught.value.reason is UrlFault.HOST


@pytest.mark.parametrize(
    "host", ["a_b.com", "_dmarc.a.com", "-a-.com", "xn--9ca.com", "1a.com", "[2001:db8::1]:81", "1.2.3.4"]
)
def test_hosts_keep_their_underscores_hyphens_and_addresses(host: str) -> None:
    assert RULES.identify(f"https://{host}/").url == f"https://{host}/"


def test_a_url_of_an_odd_host_in_a_home_of_before_can_still_be_read() -> None:
    page = identity_of("http://a,b.com/x")
    assert (page.uri, page.domain) == ("com.a,b/x", "a,b.com")
    assert (url_of(page.uri, "http"), domain_of(page.uri)) == (page.url, page.domain)


@pytest.mark.parametrize("text", ["http://.", "http://..:80/", "http://%2e/"])
def test_a_host_of_dots_is_no_host(text: str) -> None:
    with pytest.raises(UrlRefused) as caught:
        RULES.identify(text)
    assert caught.value.reason is UrlFault.HOST


def test_the_limit_of_length_holds_for_the_cleaned_url() -> None:
    rules = UrlRules(STRIP, max_length=30)
    assert len(rules.identify("https://a.com/" + "x" * 16).url) == 30
    assert len(rules.identify("https://a.com/" + "x" * 16 + "?utm_a=long&utm_b=longer#and longer").url) == 30
    with pytest.raises(UrlRefused):
        rules.identify("https://a.com/" + "x" * 17)
    with pytest.raises(UrlRefused):
        rules.identify("https://a.com/" + "ü" * 6)


def test_http_and_https_forms_of_a_uri_are_both_short_enough_or_both_too_long() -> None:
    rules = UrlRules(max_length=30)
    assert len(rules.identify("http://a.com/" + "x" * 16).url) == 29
    with pytest.raises(UrlRefused):
        rules.identify("http://a.com/" + "x" * 17)


def test_input_of_any_size_is_judged_before_it_is_parsed() -> None:
    with pytest.raises(UrlRefused) as caught:
        RULES.join("https://a.com/", "#" + "x" * LONGEST_INPUT)
    assert caught.value.reason is UrlFault.TOO_LONG


@pytest.mark.parametrize("text", ["http://a.com/\ud800", "http://a.com/?q=\udfff\ud800#\ud800", "http://\ud800.com/"])
def test_a_lone_surrogate_is_read_as_the_replacement_character(text: str) -> None:
    replaced = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    assert resolve(text) == resolve(replaced)


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert resolve("http://a.com/\ud83d\ude00") == "http://a.com/%F0%9F%98%80"


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("com.a", "https://a.com/"),
        ("com.a/?q", "https://a.com/?q"),
        ("com.a:8080", "https://a.com:8080/"),
        ("com.example.www/a?b=1", "https://www.example.com/a?b=1"),
        ("127.0.0.1:81/x", "https://127.0.0.1:81/x"),
        ("[::1]/x", "https://[::1]/x"),
        ("b..a", "https://a..b/"),
    ],
)
def test_a_uri_leads_back_to_a_url(uri: Uri, url: str) -> None:
    assert url_of(uri) == url
    assert url_of(uri, "http") == url.replace("https:", "http:")


@pytest.mark.parametrize("text", ["", "/x", ":80", "https://a.com/", "com.a?x", "com.a:x"])
def test_what_is_no_uri_leads_nowhere(text: Uri) -> None:
    with pytest.raises(UrlRefused, match="not a uri"):
        url_of(text)
    with pytest.raises(UrlRefused, match="not a uri"):
        domain_of(text)


def test_parsing_leaves_nothing_behind() -> None:
    url = "http://a.com/" + "x" * 4_000
    before = getrusage(RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        resolve(url, url)
    grown = getrusage(RUSAGE_SELF).ru_maxrss - before
    assert grown * (1 if sys.platform == "darwin" else 1024) < 40_000_000


def test_memory_of_hosts_is_bounded() -> None:
    assert remembered_origin.cache_parameters()["maxsize"]
    long_host = "http://" + "a" * 400 + ".com/"
    before = remembered_origin.cache_info().currsize
    assert RULES.identify(long_host).domain
    assert remembered_origin.cache_info().currsize == before


def test_rules_can_be_sent_to_another_process() -> None:
    copy = pickle.loads(pickle.dumps(RULES))
    assert copy.identify("http://a.com/?utm_a=1") == RULES.identify("http://a.com/")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://user:secret@a.com/x", "https://a.com/x"),
        ("HTTP:user:sec@ret@a.com", "HTTP:a.com"),
        (" https:\\\\u:p@a.com\\x@y", " https:\\\\a.com\\x@y"),
        ("//u:p@a.com?q=@", "//a.com?q=@"),
        ("ftp://u:p@[bad", "ftp://[bad"),
        ("https://a.com/@user", "https://a.com/@user"),
        ("https://a.com?x=u:p@b", "https://a.com?x=u:p@b"),
        ("/path/u:p@x", "/path/u:p@x"),
        ("mailto:someone@a.com", "mailto:someone@a.com"),
        ("", ""),
    ],
)
def test_a_url_is_shown_without_user_and_password(given: str, shown: str) -> None:
    assert without_userinfo(given) == shown


def test_a_refusal_does_not_repeat_a_password() -> None:
    for text in ("ftp://user:secret@a.com/", "http://user:secret@a.com:99999/", "http://user:secret@.../"):
        with pytest.raises(UrlRefused) as refused:
            RULES.identify_typed(text)
        assert "secret" not in str(refused.value)
        assert "secret" not in refused.value.why
