"""A page with too many links is cut by its content alone: which links count, and that some do not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.config.sections import LimitsSettings
from weft.linkindex.loaded import LoadedPage, load_joined
from weft.linkindex.records import Doc, decode_address, decode_page
from weft.model.links import join_links
from weft.model.url import UrlRules

RULES = UrlRules()
PAGE = RULES.identify("https://a.com/page")
OWN = len(PAGE.uri)


def loaded(links: list[tuple[str, str]], url: str = "https://a.com/page", **limits: int) -> LoadedPage:
    joined = join_links(RULES, url, [href for href, _ in links])
    anchors, rels = [anchor for _, anchor in links], [""] * len(links)
    return load_joined(RULES.identify(url), 1, joined, anchors, rels, Doc(), LimitsSettings(**limits))


def targets(page: LoadedPage) -> list[str]:
    return [target.decode() for target in page.outlinks.targets]


def test_links_to_one_page_count_once_however_many_there_are() -> None:
    page = loaded([("/b", "first")] * 5000 + [("/c", "")], page_targets=2)
    assert targets(page) == ["com.a/b", "com.a/c"]
    assert decode_page(page.cur).left_out == 0
    assert b"left_out" not in page.cur


def test_the_first_targets_count_and_the_number_of_the_others_is_kept() -> None:
    page = loaded([("/b", ""), ("/c", ""), ("/b", ""), ("/d", ""), ("/e", "")], page_targets=2)
    assert targets(page) == ["com.a/b", "com.a/c"]
    assert (decode_page(page.cur).outlinkcount, decode_page(page.cur).left_out) == (2, 2)
    assert decode_address(page.cur).left_out == 2


def test_urls_anchors_and_the_pages_own_uri_count_by_their_bytes() -> None:
    links = [(f"https://b.com/{n}", "é" * 10) for n in range(10)]
    cost = OWN + len("https://b.com/0") + 20
    assert len(targets(loaded(links, page_link_bytes=3 * cost))) == 3
    assert len(targets(loaded(links, page_link_bytes=3 * cost - 1))) == 2
    assert len(targets(loaded(links, page_link_bytes=10 * cost))) == 10


def test_a_page_with_a_long_address_may_name_fewer_pages() -> None:
    links = [(f"https://b.com/{n}", "") for n in range(1000)]
    short, long = (loaded(links, "https://a.com/" + "x" * size, page_link_bytes=50_000) for size in (1, 1000))
    assert len(targets(long)) < len(targets(short)) / 10


@given(
    st.lists(st.tuples(st.sampled_from(["/a", "/b#x", "https://c.com/", "mailto:x", "/d?e=é"]), st.text(max_size=4))),
    st.integers(0, 4),
    st.integers(0, 200),
)
def test_what_is_kept_is_how_the_uncut_page_begins(links: list[tuple[str, str]], count: int, size: int) -> None:
    whole, cut = loaded(links), loaded(links, page_targets=count, page_link_bytes=size)
    kept = targets(cut)
    assert kept == targets(whole)[: len(kept)]
    assert len(kept) <= count
    assert decode_page(cut.cur).left_out == len(targets(whole)) - len(kept)
    costs = [OWN + len(link.url) + len(link.anchor.encode()) for link in decode_page(whole.cur).outlinks]
    assert sum(costs[: len(kept)]) <= size
    assert len(kept) == min(count, len(costs)) or sum(costs[: len(kept) + 1]) > size
