"""URLs and links as a hostile or careless page writes them."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

STRIP = ("jsessionid", "phpsessid", "utm_*", "gclid")

# The laws are cheap to try, and the odd case is rare.
many = settings(max_examples=8 * settings().max_examples)


def one_of(words: str, *more: str) -> st.SearchStrategy[str]:
    """One of the words, or of what cannot be written as a word here; `-` stands for nothing at all."""
    return st.sampled_from([*("" if word == "-" else word for word in words.split()), *more])


_schemes = one_of("http:// https:// HTTP:// hTTps:// http: https:/ http:\\\\ https:///", " https://", "ht\ntps://")
_other_schemes = one_of("ftp:// javascript: mailto: data: ws:// file:/// foo: tel:", "java\tscript:")
_userinfo = one_of("- - - - u@ u:p@ a@b@ :@ %40@")
_ports = one_of("- - - - : :80 :443 :8080 :0080 :0 :65535 :65536 :x")

_labels = one_of(
    "a b www example com co uk jp kobe ck github io localhost EXAMPLE - - "
    "xn--bcher-kva XN--BCHER-KVA xn-- xn--a bücher BÜCHER faß 食狮 公司 ｅｘ 😀 。 "
    "_x a_b -a a- a--b * ! ' ~ 0 1 4 09 256 0x4 0xz 1e3 a|b %41 %2e %zz %C3%BC",
    *("a" * 64, "\u00ad", "\u200d", "a\tb", "a b", "\ud800"),
)
_names = st.builds(
    "{}{}".format, st.lists(_labels, min_size=1, max_size=5).map(".".join), one_of("- - - . .. ... %2e 。")
)
_addresses = one_of(
    "127.0.0.1 127.1 0x7f.1 0177.0.0.1 2130706433 1.2.3.4. 1.2.3.4.. 1.2.3.256 1.2.3.4.5 0 0x １.２.３.４ "
    "[::1] [2001:DB8::1] [::ffff:1.2.3.4] [1:2:3:4:5:6:7:8] [::1 [::1%25e]"
)
hosts = st.one_of(_names, _names, _addresses)

_segments = one_of(
    "a b index.html - - . .. ... %2e %2E%2e .%2e .a a. %2ea .well-known "
    "; a;x a;jsessionid=1 ..;jsessionid=1 .;JSESSIONID %2e;jsessionid=1 ;utm_a=1;b a;gclid=..;c %61;%6Asessionid=2 "
    "..;x a:b a@b ~ ' \" < ^ ` { | [x] \\ ..\\ & = + é 日本 😀 %41 %zz % %20 "
    "%7e %7E %c3%a9 %C3%A9 %2525 %25%34%31 %2f %3b",
    *("a b", "a\tb", "a\nb", "\0", "\x7f", "\x85", "\ud800", "\udc00x"),
)
paths = st.lists(_segments, max_size=5).map("/".join)
_parameters = one_of(
    "a=1 a - = q=%20 utm_source=x UTM_x utm_= utm xutm_a=1 jsessionid=1 JsessionID gclid= gclidx=1 a;utm_x=1 "
    "utm%5Fsource=1 %75tm_a %zz=1 a=? u=http://x/.. é ' a=# %c3%a9=%7e %26 %2d% a=%2D",
    *("q=x y", "\ud800"),
)
queries = st.one_of(st.just(""), st.lists(_parameters, max_size=4).map(lambda some: "?" + "&".join(some)))
_fragments = one_of("- - - # #f #é?/", "#a b", "#\ud800")
_around = one_of("- - - -", " ", "\n", "\0", "\t ")

after_scheme = st.builds("{}{}{}/{}{}{}".format, _userinfo, hosts, _ports, paths, queries, _fragments)
urls = st.builds("{}{}{}{}".format, _around, _schemes, after_scheme, _around)

_relative = st.builds("{}{}{}{}{}".format, _around, one_of("- - / // ./ ../ ../../"), paths, queries, _fragments)
_foreign = st.builds("{}{}".format, _other_schemes, after_scheme)
_plain_pieces = one_of(
    "a b.html / / / // ./ ../ . .. %2e %2E %20 %7e %c3%A9 % : @ ? & = # + "
    "http: https: https:// a.com A.com. utm_a=1 gclid 1 0x4 :80 jsessionid=1"
)
plain_hrefs = st.lists(_plain_pieces, max_size=7).map("".join)
# Few characters in all orders: what the parser treats specially, and the letters of a scheme and of `%2e`.
_soup = st.text(alphabet="htps:/.?#%2eE&=;@1-\\[", max_size=24)
hrefs = st.one_of(_relative, plain_hrefs, urls, _soup, _foreign, st.text(max_size=12))

_hosts_of_pages = one_of("a.com www.example.co.uk example.org. 127.0.0.1 [::1] bücher.de a.com:8080 a.com:443")
_paths_of_pages = one_of("- a a/b/ a//b .x/y a%20b/c x/..;jsessionid=1 a?b=1 a/b?gclid=1&c a/?")
page_urls = st.builds("{}{}/{}".format, one_of("http:// https://"), _hosts_of_pages, st.one_of(_paths_of_pages, paths))
bases = st.one_of(page_urls, page_urls, urls, one_of("about:blank mailto:x@y - file:///a/b nothing"))
