"""A link in a queue is one bytes object, and comes out as it went in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.mgmt.values import ClaimedLink, DocId
from weft.urlserver import packed_link

hosts = st.sampled_from(["a.com", "a.com:8080", "[2001:db8::1]", "[::1]:81", "xn--bcher-kva.example"])
paths = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(st.sampled_from(["http", "https"]), hosts, hosts, paths, st.integers(0, 2**63 - 1), st.integers(0, 2**32 - 1))
def test_a_link_comes_out_as_it_went_in(scheme, host, web_host, path, doc_id, claim):
    """Also where the URL is not of the host that it is queued for."""
    link = ClaimedLink(DocId(doc_id), f"{scheme}://{host}/{path}", web_host, claim)
    waiting = packed_link.pack(link)
    assert packed_link.unpack(waiting, web_host) == link
    assert packed_link.doc_id_of(waiting) == doc_id
    assert packed_link.claim_of(waiting) == claim
    assert packed_link.is_https(waiting) == (scheme == "https")


def test_a_host_is_not_found_in_a_longer_one():
    link = ClaimedLink(DocId(1), "https://a.com.evil/x", "a.com", 1)
    assert packed_link.url_of(packed_link.pack(link), "a.com") == "https://a.com.evil/x"


@given(st.integers(0, 20), st.integers(0, 20))
def test_timeouts_and_losses_are_counted_apart(timeouts, losses):
    link = packed_link.pack(ClaimedLink(DocId(1), "https://a.com/", "a.com", 1), is_robots=True)
    for _ in range(timeouts):
        link = packed_link.with_timeout(link)
    for _ in range(losses):
        link = packed_link.with_loss(link)
    assert (packed_link.timeouts_of(link), packed_link.losses_of(link)) == (timeouts, losses)
    assert packed_link.is_robots(link)
    assert packed_link.url_of(link, "a.com") == "https://a.com/"


def test_a_link_takes_little_more_than_its_path():
    link = ClaimedLink(DocId(10**9), "https://www.example.com/section/page0001.html", "www.example.com", 3)
    assert len(packed_link.pack(link)) == 15 + len("/section/page0001.html")
