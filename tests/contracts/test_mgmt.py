"""What every control plane promises, whatever it is kept in."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from support.mgmt_engines import START, Engine
from weft.errors import LeaseLost, MgmtError, TransitionRefused
from weft.mgmt.api import Mgmt
from weft.mgmt.relations import DOCUMENTED, RELATIONS
from weft.mgmt.rules.leases import LEAST_REMEMBERED
from weft.mgmt.rules.results import MOST_LOSSES, NOT_KEPT
from weft.mgmt.values import (
    Address,
    BuildChunk,
    BuildQueue,
    Chunk,
    ChunkId,
    ClaimedLink,
    DocId,
    Health,
    Lease,
    LinkKind,
    LinkState,
    NewLink,
    NodeState,
    NodeTold,
    NodeType,
    Reopen,
    RestingHost,
    RestingHosts,
    Result,
    Robots,
    Seed,
    WarcPosition,
)
from weft.model.host import slot_of
from weft.model.original import Original
from weft.model.site import Site, SiteSettings
from weft.model.wait_reason import REASON_MOST

CRAWLER, BUILDER = "10.10.127.100:5000", "10.10.127.101:5000"
KNOWN = Original("<urn:uuid:1>", "http://é/", "2026-02-02T10:00:00.000Z", "A" * 32)


def link(host: str, page: int = 0, **facts: object) -> NewLink:
    return NewLink(f"{host}/{page}", f"https://{host}/{page}", host, **facts)  # type: ignore[arg-type]


def links(hosts: int, each: int = 1) -> list[NewLink]:
    return [link(f"h{host}", page) for page in range(each) for host in range(hosts)]


@pytest.fixture
def crawler(mgmt: Mgmt) -> Lease:
    return mgmt.register(NodeType.CRAWLER, CRAWLER)


@pytest.fixture
def builder(mgmt: Mgmt) -> Lease:
    return mgmt.register(NodeType.INDEX_BUILDER, BUILDER)


def claimed(mgmt: Mgmt, crawler: Lease, limit: int = 5, reject: set[str] | None = None) -> Chunk:
    chunk = mgmt.claim(crawler, limit, reject or set())
    assert chunk is not None
    return chunk


def archived(link: ClaimedLink, ended: int = 7, status: int = 200, file: str = "0001.warc.gz") -> Result:
    position = WarcPosition("10.10.127.100:7070", file, link.doc_id * 1000, 500)
    return Result(
        doc_id=link.doc_id, claim=link.claim, status=status, position=position, started=ended - 5, ended=ended, size=9
    )


def failed(link: ClaimedLink, error: str = "network") -> Result:
    return Result(doc_id=link.doc_id, claim=link.claim, error=error, started=1, ended=2)


def states(mgmt: Mgmt) -> list[object]:
    return [row["state"] for row in mgmt.table("link")]


def crawled_chunk(mgmt: Mgmt, crawler: Lease, builder: Lease, hosts: int = 1) -> BuildChunk:
    """A chunk that was crawled and is in the builder's hands."""
    mgmt.add(links(hosts))
    chunk = claimed(mgmt, crawler, hosts)
    mgmt.report([archived(one) for one in chunk.links])
    (taken,) = mgmt.take_crawled(builder)
    return taken


# links


def test_only_new_links_are_counted_and_a_known_one_stays_as_it_is(mgmt: Mgmt) -> None:
    assert mgmt.add([link("a", 1), link("a", 2), link("a", 1)]) == 2
    assert mgmt.add([link("a", 2, priority=9), link("b", 1)]) == 1
    assert mgmt.add([]) == 0
    assert [row["link"] for row in mgmt.table("link")] == ["https://a/1", "https://a/2", "https://b/1"]
    assert mgmt.counts().links == {"pending": 3, "crawling": 0, "crawled": 0, "error": 0}


def test_a_claimed_link_is_not_claimed_twice(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(3, each=3))
    first, second = claimed(mgmt, crawler), claimed(mgmt, crawler)
    assert (len(first.links), len(second.links)) == (5, 4)
    assert len({one.doc_id for one in first.links + second.links}) == 9
    assert mgmt.claim(crawler) is None
    assert first.id != second.id
    assert mgmt.table("crawler")[1] == {"index": 2, "chunk_id": 2, "c_host": CRAWLER, "c_task": "crawling"}


def test_nothing_waiting_gives_no_chunk(mgmt: Mgmt, crawler: Lease) -> None:
    assert mgmt.claim(crawler) is None
    assert mgmt.table("chunk") == []


def test_a_claim_is_spread_over_hosts(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("big", page) for page in range(50)] + [link("small1"), link("small2"), link("small2", 1)])
    hosts = [one.web_host for one in claimed(mgmt, crawler, 9).links]
    assert sorted(set(hosts)) == ["big", "small1", "small2"]
    assert hosts.count("big") == 6
    assert hosts.count("small2") == 2


def test_hosts_take_turns(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(6, each=2))
    seen = []
    for _ in range(6):
        engine.clock.advance(1)
        seen += [one.web_host for one in claimed(mgmt, crawler, 2).links]
    assert seen[:6] == seen[6:] == [f"h{n}" for n in range(6)]


def test_within_a_host_priority_decides_then_age(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a", 1), link("a", 2), link("a", 3, priority=-1), link("a", 4, priority=1)])
    assert [one.url[-1] for one in claimed(mgmt, crawler).links] == ["3", "1", "2", "4"]


def test_rejected_hosts_are_left_out_however_many(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(300))
    reject = {f"h{n}" for n in range(299)}
    chunk = claimed(mgmt, crawler, 5, reject)
    assert [one.web_host for one in chunk.links] == ["h299"]
    assert mgmt.claim(crawler, 5, list(reject)) is None
    engine.clock.advance(1)
    assert len(claimed(mgmt, crawler, 100).links) == 100


def test_a_rejected_host_that_was_passed_goes_to_the_end_of_the_line(
    engine: Engine, mgmt: Mgmt, crawler: Lease
) -> None:
    mgmt.add(links(4, each=2))
    engine.clock.advance(1)
    assert [one.web_host for one in claimed(mgmt, crawler, 1, {"h0", "h3"}).links] == ["h1"]
    engine.clock.advance(1)
    assert [one.web_host for one in claimed(mgmt, crawler, 3).links] == ["h2", "h3", "h0"]


def test_a_deferred_host_waits_for_its_moment(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a"), link("b")])
    mgmt.defer({"a": 5000, "unknown": 5000})
    mgmt.defer({"a": 1000})
    assert [one.web_host for one in claimed(mgmt, crawler).links] == ["b"]
    mgmt.add([link("unknown")])
    engine.clock.advance(4.9)
    assert mgmt.claim(crawler) is None
    engine.clock.advance(0.1)
    assert [one.web_host for one in claimed(mgmt, crawler).links] == ["a", "unknown"]


@pytest.mark.parametrize("status", [503, 0])
def test_a_host_that_asks_us_to_wait_is_not_claimed_before(
    engine: Engine, mgmt: Mgmt, crawler: Lease, status: int
) -> None:
    """Known with the result, whoever dies next."""
    mgmt.add([link("a"), link("a", 1), link("b"), link("b", 1)])
    one, other = claimed(mgmt, crawler, 2).links
    busy = archived(one, status=status) if status else failed(one)
    mgmt.report([msgspec.structs.replace(busy, retry_after=60_000), archived(other)])
    for wait, hosts in ((0.0, ["b"]), (59.9, ["b"]), (0.1, ["a", "b"])):
        engine.clock.advance(wait)
        # Anew, so that what it held is pending again.
        crawler = mgmt.register(NodeType.CRAWLER, crawler.address)
        assert sorted(one.web_host for one in claimed(mgmt, crawler).links) == hosts


def test_nobody_makes_us_wait_for_more_than_a_day(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a"), link("a", 1)])
    mgmt.report([msgspec.structs.replace(archived(claimed(mgmt, crawler, 1).links[0]), retry_after=10**12)])
    assert mgmt.claim(crawler) is None
    engine.clock.advance(86_400)
    crawler = mgmt.register(NodeType.CRAWLER, crawler.address)
    assert claimed(mgmt, crawler).links


def test_every_record_that_a_result_names_is_told_in_pages(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a"), link("b"), link("c"), link("d")])
    one, two, three, four = claimed(mgmt, crawler).links
    mgmt.report([archived(one), failed(two), archived(three, file="0002.warc.gz")])
    told = [(one.doc_id, "0001.warc.gz", one.doc_id * 1000), (three.doc_id, "0002.warc.gz", three.doc_id * 1000)]
    assert mgmt.archived() == sorted(told)
    assert mgmt.archived(limit=1) == sorted(told)[:1]
    assert mgmt.archived(after=sorted(told)[0][0]) == sorted(told)[1:]
    mgmt.report([archived(four)])
    assert len(mgmt.archived()) == 3


def test_hosts_that_rest_for_long_are_told_with_what_waits_for_them(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a"), link("b"), link("b", 1), link("c")])
    mgmt.defer({"a": 60_000, "b": 61_000, "c": 5000, "nothing waits": 99_000})
    assert mgmt.resting_hosts(5000) == RestingHosts(3, [RestingHost("b", 2, 61_000), RestingHost("a", 1, 60_000)])
    assert mgmt.resting_hosts(5000, most=1) == RestingHosts(3, [RestingHost("b", 2, 61_000)])
    engine.clock.advance(55)
    assert mgmt.resting_hosts(5000) == RestingHosts(2, [RestingHost("b", 2, 6000)])
    assert mgmt.resting_hosts(6000) == RestingHosts(0, [])


def test_a_host_rests_for_the_reason_of_the_wait_that_ends_last(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a"), link("b")])
    mgmt.defer({"a": 60_000, "b": 60_000}, {"a": "timeout"})
    mgmt.defer({"a": 50_000}, {"a": "shorter"})
    mgmt.defer({"a": 60_000}, {"a": "as long"})
    told = [RestingHost("a", 1, 60_000, "timeout"), RestingHost("b", 1, 60_000, "")]
    assert mgmt.resting_hosts(0).hosts == told
    assert [row["reason"] for row in mgmt.table("pending_host")] == ["timeout", ""]
    mgmt.defer({"a": 61_000}, {"a": "dns"})
    assert mgmt.resting_hosts(0).hosts[0] == RestingHost("a", 1, 61_000, "dns")
    mgmt.defer({"a": 62_000})
    assert mgmt.resting_hosts(0).hosts[0] == RestingHost("a", 1, 62_000, ""), "nobody knows why it waits now"


def test_a_wait_that_is_over_has_no_reason(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a"), link("a", 1)])
    mgmt.defer({"a": 5000}, {"a": "timeout"})
    engine.clock.advance(5)
    assert mgmt.resting_hosts(-1000).hosts == [RestingHost("a", 2, 0, "")]
    assert mgmt.table("pending_host")[0]["reason"] == ""
    engine.clock.advance(2)
    claimed(mgmt, crawler, 1)
    engine.clock.advance(-4)
    assert mgmt.resting_hosts(0).hosts == [RestingHost("a", 1, 4000, "")], "not the wait of before"


def test_a_host_that_asks_us_to_wait_rests_for_that_reason(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a"), link("a", 1), link("b"), link("b", 1)])
    one, other = claimed(mgmt, crawler, 2).links
    robots = mgmt.open_robots(crawler, {"https://b": "https://b/robots.txt"})["https://b"]
    mgmt.report([replace(archived(one, status=503), retry_after=61_001)])
    mgmt.report([replace(failed(robots, "made up"), retry_after=9_000), archived(other)])
    told = {host.web_host: host.reason for host in mgmt.resting_hosts(0).hosts}
    assert told == {"a": "status 503 Retry-After 62", "b": "robots.txt unknown Retry-After 9"}


def test_of_results_that_come_together_the_longest_wait_has_its_reason(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a", page) for page in range(4)])
    first, second, third = claimed(mgmt, crawler, 3).links
    waits = ((first, 429, 8000), (second, 503, 9000), (third, 502, 9000))
    mgmt.report([replace(archived(one, status=status), retry_after=wait) for one, status, wait in waits])
    assert mgmt.resting_hosts(0).hosts == [RestingHost("a", 1, 9000, "status 503 Retry-After 9")]


def test_a_reason_is_short_and_clean(mgmt: Mgmt) -> None:
    mgmt.add([link("a"), link("b")])
    mgmt.defer({"a": 9000, "b": 9000}, {"a": "x" * 10_000, "b": "a\0b\ud800", "c": "not deferred"})
    assert [host.reason for host in mgmt.resting_hosts(0).hosts] == ["x" * REASON_MOST, "ab?"]


def test_a_learned_rate_is_kept_whatever_else_happens_to_the_host(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.save_rates({"a": 2500, "unknown": 100})
    mgmt.add([link("a")])
    mgmt.defer({"a": 1000})
    engine.clock.advance(1)
    mgmt.report([archived(one) for one in claimed(mgmt, crawler).links])
    assert mgmt.rates(["a", "b", "unknown"]) == {"a": 2500, "unknown": 100}
    mgmt.save_rates({"a": 0, "unknown": 200})
    assert mgmt.rates(["a", "unknown"]) == {"unknown": 200}
    assert [row["rate"] for row in mgmt.table("pending_host")] == [0, 200]


def test_error_statuses_are_counted_while_they_are_the_last_word(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add(links(3))
    statuses = iter((200, 404, 429))
    mgmt.report([archived(one, status=next(statuses)) for one in claimed(mgmt, crawler).links])
    assert mgmt.counts().statuses == {"404": 1, "429": 1}
    (taken,) = mgmt.take_crawled(builder)
    mgmt.built(builder, taken.id, taken.attempt, 1)
    refused = next(one for one in taken.links if one.result.status == 429)
    mgmt.reopen([Reopen(uri=refused.uri, url=refused.url, web_host="h2", after=9)])
    assert mgmt.counts().statuses == {"404": 1}


def test_details_tell_what_a_fetch_needs(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.set_sites([Site(name="example.com", settings=SiteSettings(headers={"X": "1"}, verify=False, depth=3))])
    mgmt.set_sites([Site(name="www.example.com", settings=SiteSettings(verify=True, auth="secret"))])
    mgmt.add([link("www.example.com:8080", etag='"e"', last_modified="yesterday", original=KNOWN), link("z")])
    one, other = claimed(mgmt, crawler).links
    mgmt.report([archived(other)])
    details = mgmt.details([one.doc_id, other.doc_id, 99])  # type: ignore[list-item]
    assert list(details) == [one.doc_id]
    found = details[one.doc_id]
    assert (found.kind, found.url, found.claim) == (LinkKind.PAGE, "https://www.example.com:8080/0", 1)
    assert (found.etag, found.last_modified, found.original) == ('"e"', "yesterday", KNOWN)
    assert found.site == SiteSettings(headers={"X": "1"}, verify=True, auth="secret", depth=3)


def test_details_tell_how_often_a_link_was_lost_until_it_has_a_result(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a")])
    for losses in range(MOST_LOSSES):
        (one,) = claimed(mgmt, crawler).links
        assert mgmt.details([one.doc_id])[one.doc_id].losses == losses
        mgmt.lost(crawler, [(one.doc_id, one.claim)])
    assert mgmt.outcomes([one.doc_id])[one.doc_id].error == "lost"


def test_a_lost_robots_txt_is_opened_again_and_its_losses_are_known(mgmt: Mgmt, crawler: Lease) -> None:
    urls = {"https://a": "https://a/robots.txt"}
    first = mgmt.open_robots(crawler, urls)["https://a"]
    mgmt.lost(crawler, [(first.doc_id, first.claim)])
    again = mgmt.open_robots(crawler, urls)["https://a"]
    assert (again.doc_id, again.claim) == (first.doc_id, first.claim + 1)
    assert mgmt.details([again.doc_id])[again.doc_id].losses == 1
    mgmt.report([archived(again)])
    mgmt.open_robots(crawler, urls)
    assert mgmt.details([again.doc_id])[again.doc_id].losses == 0


def test_a_robots_txt_that_was_lost_three_times_can_still_be_opened(mgmt: Mgmt, crawler: Lease) -> None:
    urls = {"https://a": "https://a/robots.txt"}
    for _ in range(MOST_LOSSES):
        one = mgmt.open_robots(crawler, urls)["https://a"]
        mgmt.lost(crawler, [(one.doc_id, one.claim)])
    assert mgmt.outcomes([one.doc_id])[one.doc_id].error == "lost"
    again = mgmt.open_robots(crawler, urls)["https://a"]
    assert mgmt.details([again.doc_id])[again.doc_id].losses == 0


def test_details_tell_where_the_host_of_a_site_with_credentials_is(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.set_sites([Site(name="a", settings=SiteSettings(auth="me:secret"))])
    mgmt.add([link("a"), link("b")])
    mgmt.save_addresses([Address(name, f"192.0.2.{ord(name)}", f"192.0.2.{ord(name)}", 10**15) for name in "ab"])
    guarded, open_to_all = sorted(claimed(mgmt, crawler).links, key=lambda one: one.web_host)

    def addresses() -> list[str]:
        found = mgmt.details([guarded.doc_id, open_to_all.doc_id])
        return [found[one.doc_id].address for one in (guarded, open_to_all)]

    assert addresses() == ["192.0.2.97", ""]
    mgmt.save_addresses([Address("a", "192.0.2.1", "192.0.2.1", 10**15)])
    assert addresses() == ["192.0.2.1", ""]
    mgmt.save_addresses([Address("a", "", "", 10**15, "unknown_host: gone")])
    assert addresses() == ["", ""]


def test_a_guarded_host_without_an_address_has_none(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.set_sites([Site(name="a", settings=SiteSettings(headers={"X-Key": "secret"}))])
    mgmt.add([link("a")])
    (one,) = claimed(mgmt, crawler).links
    assert mgmt.details([one.doc_id])[one.doc_id].address == ""


# results


def test_results_come_in_any_order_and_any_number_of_times(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(3))
    first, second, third = claimed(mgmt, crawler).links
    assert mgmt.report([archived(third), archived(first)]) == [True, True]
    assert mgmt.table("crawler")[0]["c_task"] == "crawling"
    assert mgmt.report([archived(first), archived(second), archived(third)]) == [True, True, True]
    assert mgmt.table("crawler")[0]["c_task"] == "crawled"
    assert mgmt.counts().chunks["crawled"] == 1
    outcome = mgmt.outcomes([second.doc_id])[second.doc_id]
    assert (outcome.state, outcome.status, outcome.started, outcome.ended) == (LinkState.CRAWLED, 200, 2, 7)


def test_another_result_for_the_same_claim_is_not_taken(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a")])
    (one,) = claimed(mgmt, crawler).links
    other = archived(one, ended=99, file="0002.warc.gz")
    assert mgmt.report([archived(one), other]) == [True, False]
    assert mgmt.report([other, failed(one), archived(one)]) == [False, False, True]
    assert mgmt.outcomes([one.doc_id])[one.doc_id].ended == 7


def test_a_late_result_changes_nothing(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a")])
    (old,) = claimed(mgmt, crawler).links
    mgmt.release(crawler)
    assert mgmt.report([archived(old)]) == [False]
    (new,) = claimed(mgmt, crawler).links
    assert (new.doc_id, new.claim) == (old.doc_id, old.claim + 1)
    assert mgmt.report([archived(old), failed(old)]) == [False, False]
    assert states(mgmt) == ["crawling"]
    assert mgmt.report([archived(new)]) == [True]


def test_a_result_for_an_unknown_link_is_not_taken(mgmt: Mgmt) -> None:
    assert mgmt.report([Result(doc_id=77, claim=1, error="network")]) == [False]  # type: ignore[arg-type]
    assert mgmt.report([]) == []
    assert mgmt.outcomes([77]) == {}  # type: ignore[list-item]


def test_what_is_known_of_pages_is_told_by_uri(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a"), link("b")])
    mgmt.open_robots(crawler, {"https://c": "https://c/robots.txt"})
    one = claimed(mgmt, crawler, 1)
    mgmt.report([archived(one.links[0], status=404)])
    facts = mgmt.known(["a/0", "b/0", "https://c", "nowhere"])
    assert {uri: (fact.doc_id, fact.url, fact.state, fact.status, fact.chunk) for uri, fact in facts.items()} == {
        "a/0": (1, "https://a/0", LinkState.CRAWLED, 404, one.id),
        "b/0": (2, "https://b/0", LinkState.PENDING, 0, None),
    }


def test_an_error_puts_another_link_into_the_same_chunk(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(6))
    chunk = claimed(mgmt, crawler, 5)
    bad = chunk.links[1]
    assert mgmt.report([failed(bad)]) == [True]
    outcome = mgmt.outcomes([bad.doc_id])[bad.doc_id]
    assert (outcome.state, outcome.error) == (LinkState.ERROR, "network")
    assert outcome.replacement == ClaimedLink(6, "https://h5/0", "h5", 1)  # type: ignore[arg-type]
    assert mgmt.table("link")[5] == {"index": 6, "link": "https://h5/0", "chunk_id": chunk.id, "state": "crawling"}
    mgmt.add(links(9))
    assert mgmt.report([failed(bad)]) == [True]
    assert mgmt.outcomes([bad.doc_id])[bad.doc_id] == outcome
    assert states(mgmt)[6:] == ["pending"] * 3, "the same report twice picks nothing more"


def test_the_replacement_is_of_another_host_if_the_error_is_the_hosts(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a", page) for page in range(4)] + [link("b", page) for page in range(4)])
    first, second = claimed(mgmt, crawler, 2).links
    mgmt.report([failed(first, "network"), failed(second, "robots")])
    outcomes = mgmt.outcomes([first.doc_id, second.doc_id])
    replacements = [outcomes[one.doc_id].replacement for one in (first, second)]
    assert [(one.web_host, one.url) for one in replacements if one] == [("b", "https://b/1"), ("b", "https://b/2")]


def test_without_another_host_a_failed_host_is_not_asked_again(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a", page) for page in range(4)])
    (one,) = claimed(mgmt, crawler, 1).links
    mgmt.report([failed(one, "timeout")])
    assert mgmt.outcomes([one.doc_id])[one.doc_id].replacement is None
    mgmt.add([link("b")])
    mgmt.report([failed(one, "timeout")])
    assert mgmt.outcomes([one.doc_id])[one.doc_id].replacement is None, "the answer does not change"


@pytest.mark.parametrize("state", [NodeState.PAUSED, NodeState.DRAINING])
@pytest.mark.parametrize("is_asked", [True, False])
def test_a_crawler_that_pauses_or_drains_gets_no_more_links(
    mgmt: Mgmt, crawler: Lease, state: NodeState, is_asked: bool
) -> None:
    mgmt.add(links(3))
    (one,) = claimed(mgmt, crawler, 1).links
    if is_asked:
        mgmt.ask(crawler.node, state)
        assert mgmt.heartbeat(crawler) is state
    else:
        mgmt.tell(crawler, state)
    mgmt.report([failed(one)])
    assert mgmt.outcomes([one.doc_id])[one.doc_id].replacement is None
    assert mgmt.claim(crawler) is None
    mgmt.ask(crawler.node, NodeState.ONLINE)
    mgmt.tell(crawler, NodeState.ONLINE)
    assert len(claimed(mgmt, crawler).links) == 2


def test_a_result_without_record_and_class_is_an_unknown_error(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a")])
    (one,) = claimed(mgmt, crawler).links
    mgmt.report([Result(doc_id=one.doc_id, claim=one.claim)])
    assert mgmt.counts().errors == {"unknown": 1}


def test_what_a_server_sends_cannot_spoil_the_database(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add([link("a")])
    (one,) = claimed(mgmt, crawler).links
    result = archived(one)
    odd = Result(
        doc_id=one.doc_id,
        claim=one.claim,
        status=200,
        position=result.position,
        etag='"\0\ud800é"',
        last_modified="x" * 5000,
        location="/a\0b",
        content_type="text/html; \0" + "y" * 5000,
    )
    assert mgmt.report([odd]) == [True]
    assert mgmt.report([odd]) == [True]
    kept = mgmt.take_crawled(builder)[0].links[0].result
    assert (kept.etag, kept.last_modified, kept.location) == ('"?é"', "", "/ab")
    assert len(kept.content_type) == 2048


def test_done_without_a_result_is_a_loss_and_the_third_an_error(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a")])
    for _ in range(2):
        (one,) = claimed(mgmt, crawler).links
        mgmt.lost(crawler, [(one.doc_id, one.claim)])
        mgmt.lost(crawler, [(one.doc_id, one.claim)])
        assert states(mgmt) == ["pending"]
    (one,) = claimed(mgmt, crawler).links
    mgmt.lost(crawler, [(one.doc_id, one.claim)])
    assert mgmt.outcomes([one.doc_id])[one.doc_id].error == "lost"
    assert mgmt.counts().errors == {"lost": 1}


def test_who_lost_a_link_for_good_learns_its_replacement(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a")])
    (one,) = claimed(mgmt, crawler).links
    assert mgmt.lost(crawler, [(one.doc_id, one.claim)]) == [], "it is pending again"
    assert mgmt.lost(crawler, [(one.doc_id, one.claim)]) == []
    mgmt.release(crawler, [claimed(mgmt, crawler).links[0].doc_id])
    mgmt.lost(crawler, [(one.doc_id, one.claim)])
    (one,) = claimed(mgmt, crawler).links
    mgmt.lost(crawler, [(one.doc_id, one.claim)])
    (one,) = claimed(mgmt, crawler).links
    mgmt.add([link("b")])
    outcomes = mgmt.lost(crawler, [(one.doc_id, one.claim)])
    assert outcomes == list(mgmt.outcomes([one.doc_id]).values())
    (instead,) = [outcome.replacement for outcome in outcomes if outcome.replacement]
    assert (outcomes[0].error, instead.web_host) == ("lost", "b")
    assert mgmt.details([instead.doc_id]), "it is being crawled, in the place of the lost one"
    assert mgmt.lost(crawler, [(one.doc_id, one.claim)]) == outcomes, "the answer to the first call may be lost"
    assert mgmt.report([archived(instead)]) == [True]
    assert mgmt.counts().links == {"pending": 0, "crawling": 0, "crawled": 1, "error": 1}


def test_who_loses_a_link_that_failed_meanwhile_learns_its_replacement(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a"), link("b")])
    (one,) = claimed(mgmt, crawler, 1).links
    mgmt.report([failed(one, "timeout")])
    (outcome,) = mgmt.lost(crawler, [(one.doc_id, one.claim), (DocId(99), 1)])
    assert (outcome.error, outcome.replacement.web_host) == ("timeout", "b")


def test_a_loss_of_an_older_claim_or_a_foreign_link_is_none(mgmt: Mgmt, crawler: Lease) -> None:
    other = mgmt.register(NodeType.CRAWLER, "other:1")
    mgmt.add([link("a")])
    (one,) = claimed(mgmt, crawler).links
    mgmt.lost(crawler, [(one.doc_id, one.claim - 1)])
    mgmt.lost(other, [(one.doc_id, one.claim)])
    assert mgmt.release(other, [one.doc_id]) == 0
    assert states(mgmt) == ["crawling"]


def test_releases_are_no_losses(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("a")])
    for _ in range(5):
        (one,) = claimed(mgmt, crawler).links
        assert mgmt.release(crawler, [one.doc_id, one.doc_id]) == 1
        assert mgmt.release(crawler, [one.doc_id]) == 0
    (one,) = claimed(mgmt, crawler).links
    mgmt.lost(crawler, [(one.doc_id, one.claim)])
    assert states(mgmt) == ["pending"], "this is the first loss"
    assert mgmt.table("link")[0]["chunk_id"] is None


def test_release_gives_back_all_that_nobody_reported(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(4))
    chunk = claimed(mgmt, crawler)
    mgmt.report([archived(chunk.links[0])])
    assert mgmt.release(crawler) == 3
    assert mgmt.counts().links == {"pending": 3, "crawling": 0, "crawled": 1, "error": 0}
    assert mgmt.counts().chunks["crawled"] == 1


def test_release_keeps_what_the_crawler_knows_of(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(5))
    held = claimed(mgmt, crawler).links
    assert mgmt.release(crawler, None, {one.doc_id for one in held[:2]}) == 3
    assert mgmt.release(crawler, [one.doc_id for one in held], {held[0].doc_id}) == 1
    assert mgmt.counts().links["crawling"] == 1
    assert mgmt.outcomes([held[0].doc_id])[held[0].doc_id].state is LinkState.CRAWLING


def test_a_chunk_that_loses_all_its_links_is_not_built(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add(links(2))
    claimed(mgmt, crawler)
    mgmt.release(crawler)
    assert mgmt.take_crawled(builder) == []
    assert mgmt.counts().chunks["empty"] == 1


def test_refusals_of_the_url_server_are_errors_with_replacements(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(4))
    one, two = claimed(mgmt, crawler, 2).links
    outcomes = mgmt.refuse(crawler, [failed(two, "private_address"), failed(one, "robots")])
    assert [outcome.error for outcome in outcomes] == ["private_address", "robots"]
    assert [outcome.replacement.web_host for outcome in outcomes if outcome.replacement] == ["h2", "h3"]
    assert mgmt.refuse(crawler, [failed(two, "private_address")]) == outcomes[:1]
    other = mgmt.register(NodeType.CRAWLER, "other:1")
    held = outcomes[0].replacement
    assert held is not None
    assert [outcome.state for outcome in mgmt.refuse(other, [failed(held)])] == ["crawling"], "not its own to refuse"
    with pytest.raises(MgmtError, match="link 99: no such link"):
        mgmt.refuse(crawler, [Result(doc_id=99, claim=1, error="robots")])  # type: ignore[arg-type]


def test_finished_links_move_on_while_their_chunk_goes_on(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add(links(6))
    first, second = claimed(mgmt, crawler, 3), claimed(mgmt, crawler, 3)
    assert mgmt.seal_finished(crawler) == 0
    mgmt.report([archived(first.links[0]), failed(second.links[1]), *map(archived, first.links[1:2])])
    assert mgmt.seal_finished(crawler) == 3
    assert mgmt.seal_finished(crawler) == 0
    (chunk,) = mgmt.take_crawled(builder)
    assert {one.doc_id for one in chunk.links} == {first.links[0].doc_id, first.links[1].doc_id, second.links[1].doc_id}
    assert chunk.id not in (first.id, second.id)
    mgmt.report([archived(first.links[2])])
    assert [one.id for one in mgmt.take_crawled(builder)] == [first.id]


# opening again


def test_a_link_is_reopened_once_its_chunk_is_built_and_nothing_newer_is_known(
    mgmt: Mgmt, crawler: Lease, builder: Lease
) -> None:
    taken = crawled_chunk(mgmt, crawler, builder)
    again = Reopen(uri="h0/0", url="http://h0:81/0", web_host="h0:81", after=7, etag="e", original=KNOWN, priority=4)
    assert mgmt.reopen([again]) == [False], "not built yet"
    assert mgmt.built(builder, taken.id, taken.attempt, 1)
    early = Reopen(uri="h0/0", url="https://h0/0", web_host="h0", after=6)
    assert mgmt.reopen([early]) == [False], "a newer result is known"
    assert mgmt.reopen([again, early]) == [True, True]
    assert mgmt.reopen([again]) == [True], "pending already"
    (one,) = claimed(mgmt, crawler).links
    assert (one.url, one.web_host, one.claim) == ("http://h0:81/0", "h0:81", 2)
    found = mgmt.details([one.doc_id])[one.doc_id]
    assert (found.etag, found.original) == ("e", KNOWN)
    assert mgmt.reopen([again]) == [False], "being crawled"
    assert mgmt.outcomes([one.doc_id])[one.doc_id].status == 0, "what is shown is this claim's"


def test_reopening_an_unknown_link_makes_it_known(mgmt: Mgmt, crawler: Lease) -> None:
    wanted = Reopen(uri="new/1", url="https://new/1", web_host="new", after=0)
    assert mgmt.reopen([wanted, wanted]) == [True, True]
    assert mgmt.counts().links["pending"] == 1
    assert [one.url for one in claimed(mgmt, crawler).links] == ["https://new/1"]


def test_an_error_that_is_reopened_is_no_error_any_more(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add([link("a")])
    mgmt.report([failed(one) for one in claimed(mgmt, crawler).links])
    (taken,) = mgmt.take_crawled(builder)
    assert [(one.state, one.result.error) for one in taken.links] == [(LinkState.ERROR, "network")]
    mgmt.built(builder, taken.id, taken.attempt, 1)
    assert mgmt.reopen([Reopen(uri="a/0", url="https://a/0", web_host="a", after=2)]) == [True]
    assert mgmt.counts().errors == {}


# web hosts


def test_a_robots_link_is_opened_outside_chunks_and_never_claimed(mgmt: Mgmt, crawler: Lease) -> None:
    opened = mgmt.open_robots(
        crawler, {"https://a.com": "https://a.com/robots.txt", "http://b:81": "http://b:81/robots.txt"}
    )
    one = opened["https://a.com"]
    assert (one.url, one.web_host, one.claim) == ("https://a.com/robots.txt", "a.com", 1)
    assert opened["http://b:81"].web_host == "b:81"
    assert mgmt.open_robots(crawler, {"https://a.com": "https://a.com/robots.txt"}) == {"https://a.com": one}
    assert mgmt.details([one.doc_id])[one.doc_id].kind is LinkKind.ROBOTS
    assert mgmt.release(crawler) == 2
    assert mgmt.claim(crawler) is None
    assert sum(mgmt.counts().links.values()) == 0
    assert mgmt.table("chunk") == []


def test_a_reported_robots_txt_is_kept_for_all(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    one = mgmt.open_robots(crawler, {"https://a.com": "https://a.com/robots.txt"})["https://a.com"]
    moved = Result(
        doc_id=one.doc_id, claim=1, status=301, position=archived(one).position, location="https://b.com/robots.txt"
    )
    assert mgmt.report([moved]) == [True]
    assert mgmt.robots(["https://a.com"])["https://a.com"].expires <= engine.clock.now()
    hop = mgmt.open_robots(crawler, {"https://a.com": "https://b.com/robots.txt"})["https://a.com"]
    assert (hop.doc_id, hop.claim, hop.web_host) == (one.doc_id, 2, "b.com")
    body = b"User-agent: *\nDisallow: /\0\xff"
    answer = Result(doc_id=hop.doc_id, claim=2, status=200, position=archived(hop).position, body=body)
    assert mgmt.report([answer]) == [True]
    assert mgmt.report([answer]) == [True]
    found = mgmt.robots(["https://a.com", "https://c.com"])
    now = engine.clock.now()
    assert found == {
        "https://a.com": Robots(origin="https://a.com", status=200, body=body, fetched=now, expires=now + 86_400_000)
    }


def test_a_failed_robots_txt_is_told_too(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([link("b")])
    one = mgmt.open_robots(crawler, {"https://a.com": "https://a.com/robots.txt"})["https://a.com"]
    assert mgmt.report([failed(one)]) == [True]
    assert mgmt.outcomes([one.doc_id])[one.doc_id].replacement is None
    found = mgmt.robots(["https://a.com"])["https://a.com"]
    assert (found.status, found.expires) == (0, engine.clock.now())
    mgmt.save_robots([Robots(origin="https://a.com", status=0, fetched=1, expires=2)])
    assert mgmt.robots(["https://a.com"])["https://a.com"].expires == 2


def test_a_robots_link_that_another_crawler_fetches_is_left_to_it(mgmt: Mgmt, crawler: Lease) -> None:
    other = mgmt.register(NodeType.CRAWLER, "other:1")
    mgmt.open_robots(crawler, {"https://a.com": "https://a.com/robots.txt"})
    assert mgmt.open_robots(other, {"https://a.com": "https://a.com/robots.txt"}) == {}
    mgmt.tell(crawler, NodeState.OFFLINE)
    assert mgmt.open_robots(other, {"https://a.com": "https://a.com/robots.txt"})["https://a.com"].claim == 2


def test_addresses_are_kept_for_all(mgmt: Mgmt) -> None:
    known = Address("a", "1.2.3.4", "1.2.3.4", 99)
    bad = Address("b", "", "", 5, "no such host")
    mgmt.save_addresses([known, bad])
    assert mgmt.addresses(["a", "b", "c"]) == {"a": known, "b": bad}
    mgmt.save_addresses([Address("a", "1.2.3.5", "1.2.3.5", 100)])
    assert mgmt.addresses(["a"])["a"].ip == "1.2.3.5"


def test_parts_of_the_addresses_have_one_owner_and_move_only_when_given_up(mgmt: Mgmt, crawler: Lease) -> None:
    assert mgmt.own_slots(crawler) == frozenset(range(256))
    other = mgmt.register(NodeType.CRAWLER, "other:1")
    assert mgmt.own_slots(other) == frozenset()
    kept = mgmt.own_slots(crawler)
    assert len(kept) == 128
    assert mgmt.own_slots(other) == frozenset(), "the first may still be asking there"
    assert mgmt.own_slots(crawler) == kept
    assert mgmt.own_slots(other) == frozenset(range(256)) - kept
    mgmt.tell(crawler, NodeState.OFFLINE)
    assert mgmt.own_slots(other) == frozenset(range(256))


def test_links_of_a_known_address_go_to_its_owner_alone(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    other = mgmt.register(NodeType.CRAWLER, "other:1")
    for _ in range(3):
        mine, theirs = mgmt.own_slots(crawler), mgmt.own_slots(other)
    assert len(mine) == len(theirs) == 128
    mgmt.add(links(40))
    addresses = [f"10.0.0.{n}" for n in range(30)]
    mgmt.save_addresses([Address(f"h{n}", ip, ip, 10**15) for n, ip in enumerate(addresses)])
    chunk = claimed(mgmt, other, 100)
    unknown = {f"h{n}" for n in range(30, 40)}
    foreign = {f"h{n}" for n, ip in enumerate(addresses) if slot_of(ip) in theirs}
    assert {one.web_host for one in chunk.links} == foreign | unknown
    assert len(claimed(mgmt, crawler, 100).links) == 40 - len(chunk.links)


# what people want now


def seed(host: str = "h0", scheme: str = "https", **more: bool) -> Seed:
    return Seed(f"{host}/0", f"{scheme}://{host}/0", host, **more)


def test_a_seed_is_wanted_until_it_was_fetched(mgmt: Mgmt) -> None:
    assert mgmt.want([seed(), seed("h1", any_scheme=True)]) == 2
    first, second = mgmt.wishes()
    assert (first.uri, first.url, first.any_scheme, first.hops) == ("h0/0", "https://h0/0", False, 0)
    assert second.any_scheme
    assert mgmt.wishes(after="h0/0") == [second]
    assert mgmt.wishes(limit=1) == [first]
    mgmt.settle_wishes([first], instead=[replace(second, url="http://h1/0", any_scheme=False)])
    assert [wish.url for wish in mgmt.wishes()] == ["http://h1/0"]


def test_a_seed_that_was_named_again_meanwhile_stays_wanted(engine: Engine, mgmt: Mgmt) -> None:
    mgmt.want([seed()])
    first = mgmt.wishes()
    engine.clock.advance(1)
    assert mgmt.want([seed(), seed()]) == 0
    mgmt.settle_wishes(first)
    assert len(mgmt.wishes()) == 1


def test_a_seed_that_waits_is_fetched_by_the_url_that_was_named_last(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.want([seed()])
    mgmt.want([seed(scheme="http")])
    assert [link.url for link in claimed(mgmt, crawler, 5).links] == ["http://h0/0"]


def test_a_seed_ends_the_wait_of_its_host(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.want([seed()])
    mgmt.defer({"h0": 60_000})
    assert mgmt.claim(crawler) is None
    mgmt.want([seed()])
    assert len(claimed(mgmt, crawler, 5).links) == 1


def test_a_seed_does_not_end_a_wait_that_its_server_asked_for(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.want([seed()])
    mgmt.add([NewLink("h0/1", "https://h0/1", "h0")])
    chunk = claimed(mgmt, crawler, 1)
    mgmt.report([replace(archived(chunk.links[0], status=503), retry_after=20_000)])
    mgmt.defer({"h0": 60_000}, {"h0": "timeout"})
    assert mgmt.resting_hosts(0).hosts == [RestingHost("h0", 1, 60_000, "timeout")]
    mgmt.want([seed()])
    assert mgmt.resting_hosts(0).hosts == [RestingHost("h0", 1, 20_000, "status 503 Retry-After 20")]
    engine.clock.advance(19)
    assert mgmt.claim(crawler) is None
    engine.clock.advance(2)
    assert len(claimed(mgmt, crawler, 5).links) == 1, "the longer wait is over, because nobody asked for it"


def test_when_only_the_wish_of_its_server_remains_a_host_rests_for_that(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([NewLink("h0/1", "https://h0/1", "h0")])
    chunk = claimed(mgmt, crawler, 1)
    mgmt.want([seed()])
    mgmt.defer({"h0": 20_000}, {"h0": "timeout"})
    mgmt.report([replace(archived(chunk.links[0], status=503), retry_after=20_000)])
    assert mgmt.resting_hosts(0).hosts[0].reason == "timeout"
    mgmt.want([seed()])
    assert mgmt.resting_hosts(0).hosts == [RestingHost("h0", 1, 20_000, "status 503 Retry-After 20")]


def test_a_link_that_is_reopened_at_once_ends_the_wait_of_its_host(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add([NewLink("h0/0", "https://h0/0", "h0")])
    mgmt.defer({"h0": 60_000})
    mgmt.reopen([Reopen(uri="h0/0", url="https://h0/0", web_host="h0", after=0, at_once=True)])
    assert len(claimed(mgmt, crawler, 5).links) == 1


def test_a_robots_txt_that_could_not_be_fetched_is_forgotten_with_a_seed(mgmt: Mgmt) -> None:
    good = Robots(origin="https://h1", status=404, fetched=5, expires=99)
    bad = Robots(origin="https://h0", status=0, fetched=5, expires=99, error="connect", settings="x")
    mgmt.save_robots([good, bad])
    mgmt.want([seed(), seed("h1")])
    assert mgmt.robots(["https://h0", "https://h1"]) == {"https://h0": replace(bad, expires=5), "https://h1": good}


def test_a_site_that_is_there_is_not_added_again(mgmt: Mgmt) -> None:
    mgmt.set_sites([Site(name="a.com", scope="domains")])
    mgmt.add_sites([Site(name="a.com"), Site(name="www.a.com", led_from="https://a.com/")])
    assert {(site.name, site.scope, site.led_from) for site in mgmt.sites()} == {
        ("a.com", "domains", ""),
        ("www.a.com", "hosts", "https://a.com/"),
    }


# building and serving


def test_a_builder_gets_chunks_with_where_their_records_are(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add(links(7))
    chunks = [claimed(mgmt, crawler, 1) for _ in range(7)]
    results = [archived(one, status=404) for chunk in chunks for one in chunk.links]
    mgmt.report(results)
    taken = mgmt.take_crawled(builder)
    assert [chunk.id for chunk in taken] == [chunk.id for chunk in chunks[:5]]
    assert [one.result for chunk in taken for one in chunk.links] == results[:5]
    assert (taken[0].links[0].uri, taken[0].links[0].url, taken[0].attempt) == ("h0/0", "https://h0/0", 1)
    assert len(mgmt.take_crawled(builder, 10)) == 2
    assert mgmt.take_crawled(builder) == []
    assert mgmt.table("index_builder")[0] == {"index": 1, "chunk_id": 1, "ib_host": BUILDER, "ib_task": "building"}


def every_field(link: ClaimedLink) -> Result:
    """A result with a value of its own in every field that is kept."""
    values: dict[str, object] = {"doc_id": link.doc_id, "claim": link.claim}
    for number, field in enumerate(msgspec.structs.fields(Result), 100):
        if field.name not in values and field.name not in NOT_KEPT:
            values[field.name] = OF_TYPE[field.type](number)
    return msgspec.convert(values, Result)


OF_TYPE = {
    int: lambda number: number,
    str: lambda number: f"text {number}",
    WarcPosition | None: lambda number: WarcPosition(f"node {number}", f"file {number}", number, number + 1),
}
"""A value for a field of this type; a new type of field needs one too."""


def test_every_field_of_a_result_reaches_builder_url_server_and_people(
    engine: Engine, mgmt: Mgmt, crawler: Lease, builder: Lease
) -> None:
    mgmt.add(links(1))
    (one,) = claimed(mgmt, crawler).links
    result = every_field(one)
    assert mgmt.report([result]) == [True]
    ((built,),) = [chunk.links for chunk in engine.another().take_crawled(builder)]
    for field in msgspec.structs.fields(Result):
        if field.name not in NOT_KEPT:
            assert getattr(built.result, field.name) == getattr(result, field.name) != field.default, field.name
    assert built.result == result
    for repeated in (mgmt.outcomes([one.doc_id])[one.doc_id], mgmt.known(["h0/0"])["h0/0"]):
        shared = set(repeated.__struct_fields__).intersection(Result.__struct_fields__)
        assert {"status", "error", "location", "ended"} <= shared
        for name in shared:
            assert getattr(repeated, name) == getattr(result, name), name
    assert mgmt.report([result]) == [True]
    assert mgmt.report([msgspec.structs.replace(result, size=0)]) == [False]


def test_built_is_said_by_the_attempt_that_has_the_chunk(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    taken = crawled_chunk(mgmt, crawler, builder)
    other = mgmt.register(NodeType.INDEX_BUILDER, "other:1")
    assert not mgmt.built(other, taken.id, taken.attempt, 1)
    assert not mgmt.built(builder, taken.id, taken.attempt + 1, 1)
    assert not mgmt.built(builder, taken.id + 1, taken.attempt, 1)  # type: ignore[arg-type]
    assert mgmt.built(builder, taken.id, taken.attempt, 1)
    assert mgmt.built(builder, taken.id, taken.attempt, 1)
    assert not mgmt.build_failed(builder, taken.id, taken.attempt, "too late")
    assert mgmt.counts().chunks["built"] == 1


def test_chunks_that_a_builder_may_get_are_unbuilt(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add(links(3))
    chunks = [claimed(mgmt, crawler, 1) for _ in range(3)]
    unknown = ChunkId(99)
    every = [*(chunk.id for chunk in chunks), unknown]
    assert mgmt.unbuilt(every) == set(every[:3])
    for chunk in chunks[:2]:
        mgmt.report([archived(chunk.links[0])])
    first, second = mgmt.take_crawled(builder)
    assert mgmt.built(builder, first.id, first.attempt, 1)
    assert mgmt.build_failed(builder, second.id, second.attempt, "it is broken")
    assert mgmt.unbuilt(every) == {second.id, chunks[2].id}
    assert mgmt.unbuilt([]) == set()


def test_a_failed_chunk_is_offered_again_and_left_after_three_times(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    taken = crawled_chunk(mgmt, crawler, builder)
    for attempt in (1, 2, 3):
        assert mgmt.build_failed(builder, taken.id, attempt, "the parser fell over")
        assert mgmt.build_failed(builder, taken.id, attempt, "the parser fell over"), "told twice, counted once"
        offered = mgmt.take_crawled(builder)
        assert [chunk.attempt for chunk in offered] == ([] if attempt == 3 else [attempt + 1])
    assert mgmt.counts().chunks["error"] == 1
    assert mgmt.retry([taken.id + 5]) == 0  # type: ignore[list-item]
    assert mgmt.retry() == 1
    assert mgmt.retry() == 0
    (again,) = mgmt.take_crawled(builder)
    assert mgmt.built(builder, again.id, again.attempt, 1)


def test_a_chunk_whose_builders_die_is_given_alone_and_then_left(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add(links(2))
    poison, other = claimed(mgmt, crawler, 1), claimed(mgmt, crawler, 1)
    mgmt.report([archived(one) for chunk in (poison, other) for one in chunk.links])
    sizes = []
    for _ in range(6):
        sizes.append([chunk.id for chunk in mgmt.take_crawled(builder)])
        builder = mgmt.register(NodeType.INDEX_BUILDER, BUILDER)
    assert sizes == [[1, 2]] * 3 + [[1]] * 3
    assert mgmt.counts().chunks["error"] == 1
    assert [chunk.id for chunk in mgmt.take_crawled(builder)] == [2]
    assert mgmt.retry([poison.id]) == 1


def test_a_builder_that_leaves_gives_its_chunks_back_without_blame(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    taken = crawled_chunk(mgmt, crawler, builder)
    for attempt in range(1, 9):
        mgmt.tell(builder, NodeState.OFFLINE)
        builder = mgmt.register(NodeType.INDEX_BUILDER, BUILDER)
        assert [(chunk.id, chunk.attempt) for chunk in mgmt.take_crawled(builder)] == [(taken.id, attempt + 1)]


# nodes


def test_health_follows_how_late_a_sign_of_life_is(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    seen = []
    for seconds in (0, 20, 0.001, 24.999, 0.001):
        engine.clock.advance(seconds)
        seen.append(mgmt.nodes()[0].health)
    assert seen == [Health.HEALTHY, Health.HEALTHY, Health.PROBATION, Health.PROBATION, Health.FAILURE]
    mgmt.heartbeat(crawler)
    assert mgmt.nodes()[0].health is Health.HEALTHY, "nobody has taken its work meanwhile"


def test_the_work_of_a_silent_crawler_is_offered_again(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    other = mgmt.register(NodeType.CRAWLER, "other:1")
    mgmt.add(links(3))
    chunk = claimed(mgmt, crawler)
    mgmt.report([archived(chunk.links[0])])
    for _ in range(4):
        engine.clock.advance(11)
        mgmt.heartbeat(other)
        assert mgmt.claim(other) is None
    engine.clock.advance(2)
    mgmt.heartbeat(other)
    assert mgmt.counts().links == {"pending": 2, "crawling": 0, "crawled": 1, "error": 0}
    assert mgmt.counts().chunks["crawled"] == 1, "what was finished goes on"
    again = claimed(mgmt, other)
    assert [one.claim for one in again.links] == [2, 2]
    assert (mgmt.nodes()[0].state, mgmt.nodes()[0].health) == (NodeState.OFFLINE, Health.FAILURE)


def test_the_work_of_a_silent_builder_is_offered_again(
    engine: Engine, mgmt: Mgmt, crawler: Lease, builder: Lease
) -> None:
    taken = crawled_chunk(mgmt, crawler, builder)
    engine.clock.advance(46)
    other = mgmt.register(NodeType.INDEX_BUILDER, "other:1")
    assert [(chunk.id, chunk.attempt) for chunk in mgmt.take_crawled(other)] == [(taken.id, 2)]
    with pytest.raises(LeaseLost):
        mgmt.built(builder, taken.id, taken.attempt, 1)


def test_every_call_of_a_zombie_is_refused_and_changes_nothing(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(3))
    (one,) = claimed(mgmt, crawler, 1).links
    engine.clock.advance(46)
    assert mgmt.reap() == 1
    assert mgmt.reap() == 0
    before = [mgmt.table(relation) for relation in RELATIONS]
    for call in (
        lambda: mgmt.claim(crawler),
        lambda: mgmt.lost(crawler, [(one.doc_id, one.claim)]),
        lambda: mgmt.refuse(crawler, [failed(one)]),
        lambda: mgmt.release(crawler),
        lambda: mgmt.seal_finished(crawler),
        lambda: mgmt.open_robots(crawler, {"https://a": "https://a/robots.txt"}),
        lambda: mgmt.own_slots(crawler),
        lambda: mgmt.take_crawled(crawler),
        lambda: mgmt.built(crawler, 1, 1, 1),  # type: ignore[arg-type]
        lambda: mgmt.build_failed(crawler, 1, 1, ""),  # type: ignore[arg-type]
        lambda: mgmt.own_shards(crawler, 16),
        lambda: mgmt.acknowledge(crawler, 1),
        lambda: mgmt.heartbeat(crawler),
        lambda: mgmt.tell(crawler, NodeState.ONLINE),
    ):
        with pytest.raises(LeaseLost, match=r"node 10\.10\.127\.100:5000: its lease \(epoch 1\) has expired"):
            call()
    mgmt.tell(crawler, NodeState.OFFLINE)  # it may always go
    assert mgmt.report([archived(one)]) == [False]
    assert [mgmt.table(relation) for relation in RELATIONS] == before


def test_registering_again_ends_the_last_epoch(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(2))
    claimed(mgmt, crawler)
    again = mgmt.register(NodeType.CRAWLER, CRAWLER)
    assert again.node == crawler.node
    assert again.epoch > crawler.epoch
    assert mgmt.counts().links["pending"] == 2
    with pytest.raises(LeaseLost):
        mgmt.heartbeat(crawler)
    assert len(claimed(mgmt, again).links) == 2
    assert [row["host"] for row in mgmt.table("host")] == [CRAWLER]


def test_a_node_that_was_away_itself_takes_nobody_for_dead(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    other = mgmt.register(NodeType.CRAWLER, "other:1")
    mgmt.add(links(2))
    claimed(mgmt, crawler)
    engine.clock.advance(100)  # the database was down, or the machine asleep
    mgmt.heartbeat(other)
    assert mgmt.counts().links["crawling"] == 2
    mgmt.heartbeat(crawler)
    engine.clock.advance(10)
    mgmt.heartbeat(other)
    assert mgmt.counts().links["crawling"] == 2


def test_a_node_that_leaves_gives_everything_back(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(2))
    claimed(mgmt, crawler)
    mgmt.tell(crawler, NodeState.OFFLINE)
    mgmt.tell(crawler, NodeState.OFFLINE)
    assert mgmt.counts().links["pending"] == 2
    assert (mgmt.nodes()[0].state, mgmt.nodes()[0].health) == (NodeState.OFFLINE, Health.HEALTHY)


def test_a_pause_outlives_a_restart_and_a_drain_does_not(mgmt: Mgmt, crawler: Lease) -> None:
    for asked, after in ((NodeState.PAUSED, NodeState.PAUSED), (NodeState.DRAINING, NodeState.ONLINE)):
        mgmt.ask(crawler.node, asked)
        crawler = mgmt.register(NodeType.CRAWLER, CRAWLER)
        assert mgmt.heartbeat(crawler) is after


def test_nodes_that_are_gone_for_long_are_forgotten(engine: Engine, mgmt: Mgmt) -> None:
    """With every run of weft its processes have other ports."""
    for run in range(1, 6):
        for type_ in (NodeType.CRAWLER, NodeType.SPIDER, NodeType.INDEX_SERVER, NodeType.WEB_APP):
            lease = mgmt.register(type_, f"{type_.value}:{run}")
            if run % 2:  # the others are killed
                mgmt.tell(lease, NodeState.OFFLINE)
        engine.clock.advance(LEAST_REMEMBERED + 1)
    last = mgmt.register(NodeType.CRAWLER, "new:1")
    assert {node.address for node in mgmt.nodes()} <= {"new:1", "Index Server:5", "Web App:5"}
    numbers = [node.id for node in mgmt.nodes()]
    mgmt.tell(last, NodeState.OFFLINE)
    engine.clock.advance(LEAST_REMEMBERED + 1)
    newer = mgmt.register(NodeType.CRAWLER, "newer:1")
    assert newer.node > max(numbers), "a process that was taken for dead must not pass for another one"
    with pytest.raises(LeaseLost):
        mgmt.heartbeat(last)


def test_a_node_that_is_gone_is_kept_while_it_matters(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(1))
    chunk = claimed(mgmt, crawler, 1)
    mgmt.report([archived(chunk.links[0])])
    paused = mgmt.register(NodeType.SPIDER, "paused:1")
    mgmt.ask(paused.node, NodeState.PAUSED)
    for lease in (crawler, paused):
        mgmt.tell(lease, NodeState.OFFLINE)
    engine.clock.advance(LEAST_REMEMBERED)
    mgmt.tell(mgmt.register(NodeType.SPIDER, "lately:1"), NodeState.OFFLINE)
    engine.clock.advance(100)
    new = mgmt.register(NodeType.CRAWLER, "new:1")
    assert [node.address for node in mgmt.nodes()] == [CRAWLER, "paused:1", "lately:1", "new:1"]
    assert mgmt.heartbeat(mgmt.register(NodeType.SPIDER, "paused:1")) is NodeState.PAUSED
    assert mgmt.heartbeat(new) is NodeState.ONLINE


def test_nobody_can_be_asked_to_be_offline_or_without_being_there(mgmt: Mgmt, crawler: Lease) -> None:
    with pytest.raises(TransitionRefused, match="ask it to drain"):
        mgmt.ask(crawler.node, NodeState.OFFLINE)
    with pytest.raises(MgmtError, match="node 9: no such node"):
        mgmt.ask(9, NodeState.PAUSED)  # type: ignore[arg-type]
    assert mgmt.nodes()[0].state is NodeState.ONLINE


def test_nodes_tell_what_they_hold(engine: Engine, mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add(links(3))
    chunk = claimed(mgmt, crawler, 1)
    mgmt.report([archived(chunk.links[0])])
    mgmt.take_crawled(builder)
    claimed(mgmt, crawler, 2)
    engine.clock.advance(3)
    assert [(node.type, node.holds, node.seen) for node in mgmt.nodes()] == [
        (NodeType.CRAWLER, 2, 3000),
        (NodeType.INDEX_BUILDER, 1, 3000),
    ]
    mgmt.heartbeat(builder)
    assert mgmt.counts().oldest_lease == 3000


# looking on


def test_sites_are_remembered_by_name(mgmt: Mgmt) -> None:
    settings = SiteSettings(depth=3, include=("/docs/",), headers={"A": "é"})
    site = Site(name="b.com", scope="domains", seeds=["https://b.com/"], settings=settings)
    mgmt.set_sites([site])
    assert mgmt.table("site")[0]["settings"] == {"depth": 3, "include": ["/docs/"], "headers": "***"}
    mgmt.set_sites([Site(name="a.com", is_excluded=True)])
    assert mgmt.sites() == [Site(name="a.com", is_excluded=True), site]
    mgmt.set_sites([Site(name="b.com")])
    assert mgmt.sites()[1] == Site(name="b.com")
    assert mgmt.table("site")[0]["is_excluded"] is True


def test_tables_are_read_in_pages(mgmt: Mgmt) -> None:
    mgmt.add(links(5))
    assert [row["index"] for row in mgmt.table("link", after=1, limit=2)] == [2, 3]
    assert [row["web_host"] for row in mgmt.table("pending_host", after=3)] == ["h3", "h4"]
    assert [row["index"] for row in mgmt.table("pending_host", after=3)] == [4, 5]
    assert all(list(row) == list(RELATIONS["link"]) for row in mgmt.table("link"))
    with pytest.raises(MgmtError, match="there is no relation 'links'; expected one of: link, chunk"):
        mgmt.table("links")
    assert DOCUMENTED == ("link", "chunk", "host", "crawler", "index_builder", "index_server")


def test_another_process_sees_the_same(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(4))
    claimed(mgmt, crawler, 2)
    other = engine.another()
    assert [other.table(relation) for relation in RELATIONS] == [mgmt.table(relation) for relation in RELATIONS]
    assert other.counts() == mgmt.counts()
    assert len(claimed(other, crawler).links) == 2


def test_what_waits_for_builders_is_told_while_one_is_online(mgmt: Mgmt, crawler: Lease) -> None:
    mgmt.add(links(6))
    first, second = claimed(mgmt, crawler, 3), claimed(mgmt, crawler, 3)
    mgmt.report([archived(one, ended=10 + n) for n, one in enumerate(first.links)])
    mgmt.report([archived(second.links[0], ended=99)])
    assert mgmt.build_queue() == BuildQueue(), "nobody builds"
    builder = mgmt.register(NodeType.INDEX_BUILDER, BUILDER)
    mgmt.tell(builder, NodeState.ONLINE)
    assert mgmt.build_queue() == BuildQueue(4, START - 12)
    (taken,) = mgmt.take_crawled(builder)
    assert mgmt.build_queue() == BuildQueue(1, 0), "finished, but its chunk is not"
    assert mgmt.seal_finished(crawler) == 1
    assert mgmt.build_queue() == BuildQueue(1, START - 99)
    mgmt.build_failed(builder, taken.id, taken.attempt, "no")
    assert mgmt.build_queue() == BuildQueue(4, START - 12)
    mgmt.tell(builder, NodeState.PAUSED)
    assert mgmt.build_queue() == BuildQueue()


def test_domains_of_which_builders_have_too_much_are_told_while_they_say_so(mgmt: Mgmt) -> None:
    builder = mgmt.register(NodeType.INDEX_BUILDER, BUILDER)
    mgmt.tell(builder, NodeState.ONLINE)
    mgmt.heartbeat(builder, NodeTold(figures={"crowding": ["b.com", "a.com"], "pages": 7}))
    assert mgmt.build_queue().crowding == ["a.com", "b.com"]
    mgmt.heartbeat(builder, NodeTold(figures={"crowding": [], "pages": 8}))
    assert mgmt.build_queue().crowding == []
    mgmt.heartbeat(builder, NodeTold(figures={"pages": 9}))
    assert mgmt.build_queue().crowding == [], "a builder of an older weft"


def test_what_waits_while_something_heavy_is_loaded_does_not_count_as_waiting(
    mgmt: Mgmt, engine: Engine, crawler: Lease
) -> None:
    clock = engine.clock
    builder = mgmt.register(NodeType.INDEX_BUILDER, BUILDER)
    mgmt.tell(builder, NodeState.ONLINE)
    mgmt.add(links(1))
    (link,) = claimed(mgmt, crawler, 1).links
    mgmt.report([archived(link, ended=START)])
    clock.advance(3)
    mgmt.heartbeat(builder, NodeTold(figures={"heavy_for": 2000}))
    clock.advance(30)
    assert mgmt.build_queue().waited == 0
    mgmt.heartbeat(builder, NodeTold(figures={"heavy_for": 30_000}))
    assert mgmt.build_queue().waited == 3000, "before that they did not keep up"
    clock.advance(40)
    assert mgmt.build_queue().waited == 73_000 - 60_000, "not for ever: it may have died of it"
    mgmt.heartbeat(builder, NodeTold(figures={"heavy_for": 0}))
    assert mgmt.build_queue().waited == 73_000
