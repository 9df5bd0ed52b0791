"""Traps: each kind is told with its figures, and real URLs are hardly ever taken for one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest
from fastwarc import ArchiveIterator, WarcRecordType
from fastwarc.warc import HeaderMap
from hypothesis import given
from hypothesis import strategies as st

from support.suites import suite_file
from weft.clock import ManualClock
from weft.config.sections import DispatcherSettings, LimitsSettings
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.link_records import LinkRecord, decode_record
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.dispatcher.traps import trap, trap_after
from weft.dispatcher.traps.shape import judged, repeated_run
from weft.intake.record_heads import ArchiveRecord
from weft.intake.response_records import RecordReader
from weft.intake.skip_reasons import PageRefused
from weft.intake.wat_records import read_wat
from weft.linkindex.loaded import LoadedPage
from weft.model.domain import reversed_domain
from weft.model.refusal import Refusal, RefusalKind
from weft.model.site import Site
from weft.model.url import UrlRules
from weft.reading.http_reader import HttpReader
from weft.reading.settings import IMPORT, ReadingSettings
from weft.store.api import Batch
from weft.store.memory import MemoryStore
from weft.store.tables import Table

SETTINGS = DispatcherSettings()
RULES = UrlRules()
NOW = 1_770_000_000_000
"""In February 2026."""
LIMITS = LimitsSettings()
RESPONSES = RecordReader(HttpReader(ReadingSettings((), 2048, LIMITS, 10 << 20, "weft"), IMPORT), 0)
SHARE = 0.001
"""Of real URLs that may be refused."""


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/" + "x" * 1024, "trap: long path, 1025 characters with its query, over 1024"),
        ("/" + "/".join(map(str, range(21))), "trap: deep path, 21 parts, over 20"),
        ("/a/b/a/c/a/d/a", "trap: repeated part, 'a' stands 4 times in the path, over 3"),
        ("/x/a/b/a/b/a/b/y", "trap: repeated run, 'a/b' stands 3 times in a row, over 2"),
        ("/en/a/b/c/a/b/c/a/b/c", "trap: repeated run, 'a/b/c' stands 3 times in a row, over 2"),
        ("/?" + "&".join(f"p{n}=1" for n in range(13)), "trap: many parameters, 13 parameters, over 12"),
        ("/?a=1&b=2&a=1&a=1&a=1", "trap: repeated parameter, 'a=1' stands 4 times, over 3"),
        ("/login?to=%25252525Flogin", "trap: URL within a URL, percent-encoded 5 times, over 3"),
        ("/login?to=%252525Flogin", "trap: URL within a URL, percent-encoded 4 times, over 3"),
    ],
)
def test_a_url_alone_shows_the_trap(target: str, reason: str) -> None:
    assert trap(target, SETTINGS) == Refusal.read(reason)


@pytest.mark.parametrize(
    "target",
    [
        "/", "", "/a/b/a/b", "/a/a/a", "/tiles/0/0/0/0/0.png", "/?f=1&f=2&f=3&f=4&f=5", "/?to=%25252Fa",
        "/2026/01/2026/01/x", "/?a=1&a=1&a=1", "/" + "/".join("abcdefghijklmnopqrst"),
    ],
)  # fmt: skip
def test_what_is_odd_and_not_endless_is_none(target: str) -> None:
    assert trap(target, SETTINGS) is None


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("/calendar/2028/02/", "/calendar/2028/03/", "trap: endless calendar, 2028-03 is over 2 years ahead"),
        ("/cal?d=2031-12-31", "/cal?d=2032-01-01", "trap: endless calendar, 2032-01 is over 2 years ahead"),
        ("/cal?year=2030&month=12", "/cal?year=2031&month=1", "trap: endless calendar, 2031-01 is over 2 years ahead"),
        ("/cal?m=12&x=&y=2030", "/cal?m=1&x=&y=2031", "trap: endless calendar, 2031-01 is over 2 years ahead"),
        ("/cal/20301231", "/cal/20310101", "trap: endless calendar, 2031-01 is over 2 years ahead"),
        ("/calendar/1996/02/", "/calendar/1996/01/", "trap: endless calendar, 1996-01 is over 30 years back"),
        ("?a&b&c&d&e&f=1", "?a&b&c&d&e&f=1&f=2", "trap: growing query, 7 parameters one after another, over 6"),
        (
            "/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "/(S(ait3py55t21z5v55vlm25s55))/b.aspx",
            "trap: changing session, a new session id in the path after 4 hops, over 3",
        ),
        (
            "/x/sid-0123456789abcdef/a", "/x/sid-0123456789abcde0/b",
            "trap: changing session, a new session id in the path after 4 hops, over 3",
        ),
    ],
)  # fmt: skip
def test_a_step_shows_the_trap(source: str, target: str, reason: str) -> None:
    assert trap_after(source, target, 4, NOW, SETTINGS) == Refusal.read(reason)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("/calendar/2028/01/", "/calendar/2028/02/"),  # not yet too far
        ("/calendar/2040/02/", "/calendar/2040/01/"),  # back from the future
        ("/calendar/1980/01/", "/calendar/1980/02/"),  # towards now
        ("/archive", "/1851/09/18/"),  # an old paper, found in its list of years
        ("/1851/09/17/a-fire", "/1851/09/16/the-harvest"),  # articles, not the days of a calendar
        ("/item/20501", "/item/20502"),
        ("?a&b", "?a&b&c"),
        ("?a&b&c&d&e&f", "?a&b&c&d&e&g&h&i"),  # another query, not a longer one
        ("/x?a&b&c&d&e&f", "/y?a&b&c&d&e&f&f=1"),
        ("/x?a&b&c&d&e&f", "/x?a&b&c&d&e&f&page=2"),  # a name once more is what has no end
        ("/(S(lit3py55t21z5v55vlm25s55))/a", "/(S(lit3py55t21z5v55vlm25s55))/b"),  # the same session
        ("/a", "/(S(lit3py55t21z5v55vlm25s55))/b"),
        ("/s/abcdefghijklmnopqrst/a", "/s/bcdefghijklmnopqrstu/a"),  # words
    ],
)
def test_a_step_that_ends_somewhere_is_none(source: str, target: str) -> None:
    assert trap_after(source, target, 4, NOW, SETTINGS) is None


def test_a_session_may_change_on_the_first_hops() -> None:
    step = "/(S(lit3py55t21z5v55vlm25s55))/a", "/(S(ait3py55t21z5v55vlm25s55))/a"
    assert trap_after(*step, 3, NOW, SETTINGS) is None
    assert trap_after(*step, 1, NOW, replace(SETTINGS, session_hops=0))


@given(
    st.lists(st.sampled_from(["a", "b", "1", "%252541"]), max_size=9).map("/".join),
    st.sampled_from(["", "?", "?a=1&a=1"]),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 9),
)
def test_plain_urls_are_let_through_rightly(path: str, query: str, repeated: int, runs: int, parts: int) -> None:
    settings = replace(
        SETTINGS, repeated_segments=repeated, repeated_runs=runs, path_segments=parts, path_chars=12, encoded_times=1
    )
    assert trap("/" + path + query, settings) == judged("/" + path + query, settings)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.integers(1, 3))
def test_a_run_that_follows_itself_is_found_wherever_it_is(parts: list[str], most: int) -> None:
    runs = (
        parts[at : at + length] * (most + 1) == parts[at : at + length * (most + 1)]
        for length in range(2, len(parts) + 1)
        for at in range(len(parts) - length * (most + 1) + 1)
    )
    assert bool(repeated_run(parts, most)) == any(runs)


@given(st.text(), st.text(), st.integers(0, 20))
def test_any_text_has_a_kind_or_none(source: str, target: str, depth: int) -> None:
    for refusal in (trap(target, SETTINGS), trap_after(source, target, depth, NOW, SETTINGS)):
        assert refusal is None or refusal.kind.startswith("trap: ")


def offered(store: MemoryStore, discovery: Discovery, links: Iterable[tuple[str, str]]) -> int:
    """Discover links, each with the page that names it, in a round of their own."""
    found = []
    for source, url in links:
        page = RULES.identify(url)
        found.append(DiscoveredLink(reversed_domain(page.domain).encode(), page.uri.encode(), page.url, 4, source))
    round_ = LinkRound(store, 1)
    scope = Scope([Site(name="*", scope="any")], discovery._settings)
    added = discovery.offer(round_, scope, found, ManualClock(NOW).now())
    store.write(Batch(round_.cells()), store.last_seq + 1)
    return added


def record_of(store: MemoryStore, uri: bytes) -> LinkRecord:
    return next(decode_record(cell.value) for cell in store.scan_rows(Table.LINKS, b"l:") if cell.qualifier == uri)


def test_a_trap_is_counted_by_its_kind_and_its_record_tells_the_figures() -> None:
    store, discovery = MemoryStore(), Discovery(SETTINGS)
    calendar = [("com.a/calendar/2030/01/", "https://a.com/calendar/2030/02/")]
    offered(store, discovery, [*calendar, ("com.a", "https://a.com/a/b/a/b/a/b"), ("com.a", "https://a.com/x")])
    assert discovery.refused == {"trap: endless calendar": 1, "trap: repeated run": 1}
    assert record_of(store, b"com.a/calendar/2030/02/").reason.endswith("2030-02 is over 2 years ahead")
    assert record_of(store, b"com.a/x").reason == ""


def test_a_step_from_another_host_is_none() -> None:
    store, discovery = MemoryStore(), Discovery(SETTINGS)
    offered(store, discovery, [("com.b/calendar/2030/01/", "https://a.com/calendar/2030/02/")])
    assert not discovery.refused


def test_a_host_has_so_many_links_and_others_theirs() -> None:
    store, discovery = MemoryStore(), Discovery(replace(SETTINGS, host_links=3))
    endless = [("com.a", f"https://a.com/{n}") for n in range(5)]
    assert offered(store, discovery, endless) == 3
    assert offered(store, discovery, [("com.a", "https://a.com/more"), ("com.a", "https://www.a.com/")]) == 1
    assert offered(store, discovery, endless) == 0
    assert discovery.refused[RefusalKind.LINKS_OF_A_HOST] == 3


def test_a_domain_has_so_many_hosts_and_those_go_on() -> None:
    store, discovery = MemoryStore(), Discovery(replace(SETTINGS, domain_hosts=2))
    assert offered(store, discovery, [("com.a", f"https://n{n}.a.com/") for n in range(4)]) == 2
    assert offered(store, discovery, [("com.a", "https://n1.a.com/x"), ("com.a", "https://n9.a.com/")]) == 1
    assert offered(store, discovery, [("com.a", "https://n9.b.com/")]) == 1
    assert discovery.refused[RefusalKind.HOSTS_OF_A_DOMAIN] == 3


Step = tuple[str, str]
"""The uri of a page, and the uri that it names."""


def graph_steps() -> Iterator[Step]:
    lines = suite_file("linkgraphs/hollins.dat").read_text().split("\n")
    nodes, edges = map(int, lines[0].split()[:2])
    uris = [RULES.identify(line.split()[1]).uri for line in lines[1 : nodes + 1]]
    for line in lines[nodes + 1 : nodes + 1 + edges]:
        source, target = map(int, line.split())
        yield uris[source - 1], uris[target - 1]


def archive_steps() -> Iterator[Step]:
    for name in ("iana.warc.gz", "cc-whirlwind/whirlwind.warc.gz", "warcio/example.warc.gz", "webindex/wat-18.warc"):
        with suite_file(f"warc/{name}").open("rb") as file:
            for found in ArchiveIterator(file, record_types=WarcRecordType.response | WarcRecordType.metadata):
                page = _page_of(found.record_type, found.headers, found.reader.read())
                if page is not None:
                    yield from ((page.uri.decode(), target.decode()) for target in page.outlinks.targets)


def _page_of(kind: WarcRecordType, headers: HeaderMap, body: bytes) -> LoadedPage | None:
    is_wat = kind == WarcRecordType.metadata
    record = ArchiveRecord(
        "metadata" if is_wat else "response", headers["WARC-Target-URI"], headers["WARC-Date"], "", False, body
    )
    try:
        page = read_wat(RESPONSES, record) if is_wat else RESPONSES.read(record)
    except PageRefused:
        return None
    return page if isinstance(page, LoadedPage) else None


def refused_of(steps: Iterable[Step]) -> tuple[set[str], dict[str, Refusal]]:
    """All uris, and those that are refused."""
    uris: set[str] = set()
    refused = {}
    for source, uri in steps:
        uris.add(uri)
        host, source_host = uri.partition("/")[0], source.partition("/")[0]
        reason = trap(uri[len(host) :], SETTINGS)
        if not reason and host == source_host:
            reason = trap_after(source[len(host) :], uri[len(host) :], 4, NOW, SETTINGS)
        if reason:
            refused[uri] = reason
    return uris, refused


@pytest.mark.parametrize(("steps", "least"), [(graph_steps, 5000), (archive_steps, 250)])
def test_real_urls_are_hardly_ever_refused(steps: Callable[[], Iterator[Step]], least: int) -> None:
    uris, refused = refused_of(steps())
    assert len(uris) > least
    assert len(refused) <= SHARE * len(uris), Counter(refused.values())
