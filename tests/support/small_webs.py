"""Small webs written as pages alone, without their derived cells, and what those cells are by the plainest means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from hypothesis import strategies as st

from weft.linkindex import keys
from weft.linkindex.loaded import LoadedPage, RawLink, load_page, outlinks_of
from weft.linkindex.records import Doc, DomainInfo, Totals, UriInfo, decode_page
from weft.model.domain import reversed_domain
from weft.model.url import Uri, UrlRules, domain_of
from weft.store.api import Batch, Store

RULES = UrlRules()

Cells = dict[bytes, bytes]


def page(url: str, *links: str | tuple[str, str]) -> LoadedPage:
    """A page that links there; each link a URL, or a URL and its anchor text."""
    raw = [RawLink(*(link if isinstance(link, tuple) else (link, "text"))) for link in links]
    return load_page(RULES, RULES.identify(url), 1, raw, Doc())


SAMPLE = (
    page("http://a.com/page1", ("http://c.com", "c"), ("http://b.com", "b")),
    page("http://b.com", ("http://c.com/page1", "one"), ("https://c.com", "see c")),
    page("http://d.com", ("http://c.com", "")),
)


def put_pages(store: Store, pages: Iterable[LoadedPage], seq: int = 1) -> None:
    batch = Batch()
    batch.add({keys.page_cur(page.uri): page.cur for page in pages})
    store.write(batch, seq)


def domain_name(uri: bytes) -> bytes:
    return reversed_domain(domain_of(Uri(uri.decode()))).encode()


def naive_cells(pages: Iterable[LoadedPage], *, external: bool = False) -> Cells:
    """Every derived cell, from dicts over everything."""
    curs = {page.uri: page.cur for page in pages}
    inlinks: defaultdict[bytes, dict[bytes, tuple[bytes, bool]]] = defaultdict(dict)
    for source, cur in curs.items():
        for target, domain, anchor, plain in zip(*outlinks_of(decode_page(cur))[:4], strict=True):
            if not external or domain != domain_name(source):
                inlinks[target].setdefault(source, (anchor, plain))
    infos = {
        uri: UriInfo(len(inlinks[uri]), sum(plain for _, plain in inlinks[uri].values()), int(uri in curs))
        for uri in {*curs, *inlinks}
    }
    cells: Cells = {}
    for uri, info in infos.items():
        cells |= _uri_cells(uri, info)
        cells |= {keys.inlink(uri, source): anchor for source, (anchor, _) in inlinks[uri].items()}
    cells |= {keys.query_cur(uri): cur for uri, cur in curs.items()}
    return cells | _domain_cells(infos)


def _uri_cells(uri: bytes, info: UriInfo) -> Cells:
    number, domain = b"%d" % info.references, domain_name(uri)
    return {
        keys.uri_info(domain, uri): b"%d %d %d" % info,
        keys.incount(uri): number,
        keys.score(uri): b"%d" % (info.references + info.docs),
        keys.rank(domain, info.references, uri): number,
        keys.total(info.references, uri): number,
    }


def _domain_cells(infos: dict[bytes, UriInfo]) -> Cells:
    cells: Cells = {}
    of_bases: defaultdict[int, list[DomainInfo]] = defaultdict(list)
    for domain in {domain_name(uri) for uri in infos}:
        known = [info.references for uri, info in infos.items() if domain_name(uri) == domain]
        info = DomainInfo(len(known), sum(known))
        of_bases[keys.base_of(domain)].append(info)
        places = (
            keys.domain_info(domain),
            keys.by_pages(info.pages, domain),
            keys.by_references(info.references, domain),
        )
        cells |= dict.fromkeys(places, b"%d %d" % info)
        cells[keys.pagecount(domain)] = b"%d" % info.pages
    for base, found in of_bases.items():
        totals = Totals(len(found), sum(info.pages for info in found), sum(info.references for info in found))
        cells[keys.totals(base)] = b"%d %d %d" % totals
    return cells


_HOSTS = ["a.com", "www.a.com", "a-b.com", "a.com:8080", "b.co.uk", "c.b.co.uk", "1.2.3.4", "[::1]", "localhost"]
_urls = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(_HOSTS),
    st.sampled_from(["", "1", "1/2", "1?x=y"]),
)
_anchors = st.sampled_from(["", "text", "größer", "a\0b"])


def _unique(pages: list[LoadedPage]) -> list[LoadedPage]:
    return list({page.uri: page for page in pages}.values())


webs = st.lists(
    st.builds(lambda url, links: page(url, *links), _urls, st.lists(st.tuples(_urls, _anchors), max_size=8)),
    max_size=12,
).map(_unique)
"""Any small web: sites under one domain, ports, addresses, links to oneself, both schemes, odd anchors."""
