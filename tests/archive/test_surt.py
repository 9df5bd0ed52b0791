"""Keys as replay tools compute them for the URL that somebody asks for."""

from __future__ import annotations

import pytest

from weft.archive.surt import surt


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.com/", "com,example)/"),
        ("https://example.com/", "com,example)/"),
        ("http://www.example.com/", "com,example)/"),
        ("http://www12.example.com/", "com,example)/"),
        ("http://www2example.com/", "com,www2example)/"),
        ("http://www.www.example.com/", "com,example,www)/"),
        ("http://a.b.example.co.uk/", "uk,co,example,b,a)/"),
        ("http://example.com:80/", "com,example)/"),
        ("http://example.com:8080/", "com,example:8080)/"),
        ("https://example.com:443/", "com,example)/"),
        ("https://example.com:80/", "com,example:80)/"),
        ("http://192.0.2.7/info/", "7,2,0,192)/info"),
        ("http://[2001:db8::1]/", "2001:db8::1)/"),
        ("http://user:pass@example.com/", "com,example)/"),
        ("http://example.com/Goo/", "com,example)/goo"),
        ("http://example.com/goo/?", "com,example)/goo"),
        ("http://example.com/goo/?b&a", "com,example)/goo?a&b"),
        ("http://example.com/goo?a=2&b&a=1", "com,example)/goo?a=1&a=2&b"),
        ("http://example.com/goo?X=Y&a", "com,example)/goo?a&x=y"),
        ("http://example.com/x?a=1&", "com,example)/x?&a=1"),
        ("http://example.com/a//b///c", "com,example)/a/b/c"),
        ("http://example.com/a/%2e%2E/b", "com,example)/b"),
        ("http://example.com/%7Euser/%41", "com,example)/~user/a"),
        ("http://example.com/%25%32%35", "com,example)/%25"),
        ("http://example.com/a%20b", "com,example)/a%20b"),
        ("http://example.com/%C3%A9t%C3%A9", "com,example)/%c3%a9t%c3%a9"),
        ("http://example.com/ab%23cd", "com,example)/ab%23cd"),
        ("http://example.com/x?u=http%3A//b.com/&t=a%20b", "com,example)/x?t=a%20b&u=http://b.com/"),
        ("http://example.com/x?r?s", "com,example)/x?r?s"),
        ("http://example.com/x#frag", "com,example)/x"),
        (
            "http://example.com/i.php?PHPSESSID=0123456789abcdefghijklemopqrstuv&action=profile;u=4221",
            "com,example)/i.php?action=profile;u=4221",
        ),
        ("http://example.com/?jsessionid=0123456789abcdefghijklemopqrstuv", "com,example)/"),
        ("http://example.com/?one=two&jsessionid=0123456789abcdefghijklemopqrstuv&x=y", "com,example)/?one=two&x=y"),
        ("http://example.com/?jsessionid=0123456789abcdefghijklemopqrstuv0", None),
        ("http://example.com/?sid=9682993c8daa2c5497996114facdc805&x=y", "com,example)/?x=y"),
        ("http://example.com/?aspsessionidABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&x=y", "com,example)/?x=y"),
        ("http://example.com/?CFID=1169580&CFTOKEN=48630702&d=1", "com,example)/?d=1"),
        ("http://example.com/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx", "com,example)/mileg.aspx"),
        ("http://example.com/(4hqa0555fwsecu455xqckv45)/mileg.aspx?page=s", "com,example)/mileg.aspx?page=s"),
        ("http://example.com/photos/36050182@N05/", "com,example)/photos/36050182@n05"),
    ],
)
def test_a_key_is_what_replay_tools_look_for(url, key):
    expected = key if key is not None else "com,example)/?" + url.partition("?")[2]
    assert surt(url) == expected
