"""The keys made by joining bytes are the keys that the store would make."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.linkindex import keys
from weft.store.encoding import cell_key, split_key
from weft.store.tables import Table, ranked

uris = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=20).map(str.encode)
counts = st.integers(0, 70_000) | st.integers(0, 2**70)
FLUO, QUERY, DOMAINS = Table.FLUO.byte, Table.QUERY.byte, Table.DOMAINS.byte


@given(uris, uris, counts)
def test_every_key_is_where_the_tables_say(uri: bytes, domain: bytes, count: int) -> None:
    row = b"p:" + uri
    base = b"%02x" % keys.base_of(domain)
    for made, expected in {
        keys.page_cur(uri): (FLUO, row, b"page", b"cur"),
        keys.page_version(uri): (FLUO, row, b"page", b"version"),
        keys.page_gone(uri): (FLUO, row, b"page", b"gone"),
        keys.page_since(uri): (FLUO, row, b"page", b"since"),
        keys.uri_info(domain, uri): (FLUO, b"um:" + base + b":" + uri, b"info", b""),
        keys.domain_info(domain): (FLUO, b"dm:" + base + b":" + domain, b"info", b""),
        keys.totals(keys.base_of(domain)): (FLUO, b"tm:" + base, b"info", b""),
        keys.query_cur(uri): (QUERY, row, b"page", b"cur"),
        keys.incount(uri): (QUERY, row, b"page", b"incount"),
        keys.score(uri): (QUERY, row, b"page", b"score"),
        keys.inlink(uri, domain): (QUERY, row, b"inlinks", domain),
        keys.rank(domain, count, uri): (QUERY, b"d:" + domain, b"rank", ranked(count, uri)),
        keys.pagecount(domain): (QUERY, b"d:" + domain, b"domain", b"pagecount"),
        keys.total(count, uri): (QUERY, b"t:" + ranked(count, uri), b"", b""),
        keys.by_pages(count, domain): (DOMAINS, b"p:" + ranked(count, domain), b"", b""),
        keys.by_references(count, domain): (DOMAINS, b"r:" + ranked(count, domain), b"", b""),
        keys.doc(uri): (Table.DOCS.byte, b"x:" + uri, b"doc", b""),
        keys.doc_changed(uri): (Table.DOCS.byte, b"x:" + uri, b"doc", b"changed"),
    }.items():
        assert made == cell_key(*expected)
        assert split_key(made) == expected


@given(uris, uris)
def test_columns_name_the_same_cells(uri: bytes, domain: bytes) -> None:
    assert cell_key(FLUO, *keys.page_column(uri, b"cur")) == keys.page_cur(uri)
    assert cell_key(FLUO, *keys.uri_info_column(domain, uri)) == keys.uri_info(domain, uri)
    assert cell_key(FLUO, *keys.domain_info_column(domain)) == keys.domain_info(domain)
    assert cell_key(Table.DOCS.byte, *keys.doc_column(uri)) == keys.doc(uri)
    assert cell_key(Table.DOCS.byte, *keys.doc_changed_column(uri)) == keys.doc_changed(uri)
    assert [cell_key(FLUO, *column) for column in keys.totals_columns()] == [keys.totals(n) for n in range(64)]
