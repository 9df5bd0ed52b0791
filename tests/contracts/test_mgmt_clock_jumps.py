"""A clock that is set ahead or back: no control plane lets work wait for longer than the wait itself."""

from __future__ import annotations

import pytest

from support.mgmt_engines import Engine
from weft.errors import LeaseLost
from weft.mgmt.api import Mgmt
from weft.mgmt.values import Address, Health, Lease, NewLink, NodeState, NodeType, RestingHost, Result, Robots

HOUR, DAY = 3_600, 86_400
JUMPS = [HOUR, DAY, 25 * HOUR]


@pytest.fixture
def crawler(mgmt: Mgmt) -> Lease:
    return mgmt.register(NodeType.CRAWLER, "10.10.127.100:5000")


def add(mgmt: Mgmt, *hosts: str, page: int = 0) -> None:
    mgmt.add([NewLink(f"{host}/{page}", f"https://{host}/{page}", host) for host in hosts])


def hosts_claimed(mgmt: Mgmt, crawler: Lease, limit: int = 5) -> list[str]:
    chunk = mgmt.claim(crawler, limit)
    return sorted(link.web_host for link in chunk.links) if chunk else []


def jump(engine: Engine, seconds: float) -> None:
    engine.clock.advance(seconds)


@pytest.mark.parametrize("seconds", JUMPS)
def test_links_that_were_used_while_the_clock_was_ahead_can_be_claimed_when_it_is_back(
    engine: Engine, mgmt: Mgmt, crawler: Lease, seconds: int
) -> None:
    add(mgmt, "a", "b")
    jump(engine, seconds)
    mgmt.heartbeat(crawler)
    add(mgmt, "c")
    assert hosts_claimed(mgmt, crawler) == ["a", "b", "c"]
    mgmt.release(crawler)
    jump(engine, -seconds)
    assert hosts_claimed(mgmt, crawler) == ["a", "b", "c"]


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_host_that_rests_while_the_clock_goes_back_rests_as_long_as_it_was_told(
    engine: Engine, mgmt: Mgmt, crawler: Lease, seconds: int
) -> None:
    add(mgmt, "a", "b")
    jump(engine, seconds)
    mgmt.heartbeat(crawler)
    mgmt.defer({"a": 60_000}, {"a": "timeout"})
    jump(engine, -seconds)
    assert hosts_claimed(mgmt, crawler) == ["b"]
    assert mgmt.resting_hosts(0).hosts == [RestingHost("a", 1, 60_000, "timeout")]
    engine.clock.advance(59)
    assert hosts_claimed(mgmt, crawler) == []
    engine.clock.advance(1)
    assert hosts_claimed(mgmt, crawler) == ["a"]


def test_a_wait_that_was_set_before_the_jump_is_kept(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    add(mgmt, "a")
    mgmt.defer({"a": 600_000})
    jump(engine, 300)
    mgmt.heartbeat(crawler)
    jump(engine, -300)
    mgmt.heartbeat(crawler)
    engine.clock.advance(599)
    assert hosts_claimed(mgmt, crawler) == []
    engine.clock.advance(1)
    assert hosts_claimed(mgmt, crawler) == ["a"]


def test_small_steps_back_cut_nothing(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    add(mgmt, "a")
    engine.clock.advance(10)
    mgmt.defer({"a": 1_000})
    jump(engine, -4)
    assert hosts_claimed(mgmt, crawler) == []
    assert mgmt.counts().clock_jump is None
    engine.clock.advance(5)
    assert hosts_claimed(mgmt, crawler) == ["a"]


@pytest.mark.parametrize("seconds", JUMPS)
def test_robots_and_addresses_expire_after_their_own_time(
    engine: Engine, mgmt: Mgmt, crawler: Lease, seconds: int
) -> None:
    jump(engine, seconds)
    now = engine.clock.now()
    mgmt.save_robots([Robots(origin="https://a", status=0, fetched=now, expires=now + 60_000)])
    mgmt.save_addresses([Address("a", "", "", now + 30_000, "dns: none")])
    jump(engine, -seconds)
    mgmt.heartbeat(crawler)
    now = engine.clock.now()
    assert mgmt.robots(["https://a"])["https://a"].expires == now + 60_000
    assert mgmt.robots(["https://a"])["https://a"].fetched == now
    assert mgmt.addresses(["a"])["a"].expires == now + 30_000


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_dead_nodes_lease_does_not_outlast_a_clock_that_goes_back(
    engine: Engine, mgmt: Mgmt, crawler: Lease, seconds: int
) -> None:
    jump(engine, seconds)
    dead = mgmt.register(NodeType.CRAWLER, "10.10.127.109:5000")
    add(mgmt, "a")
    assert hosts_claimed(mgmt, dead) == ["a"]
    jump(engine, -seconds)
    other = mgmt.register(NodeType.CRAWLER, "10.10.127.110:5000")
    for _ in range(4):
        engine.clock.advance(15)
        mgmt.heartbeat(other)
    assert hosts_claimed(mgmt, other) == ["a"]
    with pytest.raises(LeaseLost):
        mgmt.heartbeat(dead)


@pytest.mark.parametrize("seconds", [*JUMPS, -HOUR, -DAY])
def test_a_living_node_survives_a_jump_in_either_direction(
    engine: Engine, mgmt: Mgmt, crawler: Lease, seconds: int
) -> None:
    other = mgmt.register(NodeType.INDEX_BUILDER, "10.10.127.101:5000")
    engine.clock.advance(2 * DAY)
    mgmt.heartbeat(crawler)
    mgmt.heartbeat(other)
    jump(engine, seconds)
    mgmt.heartbeat(crawler)
    mgmt.heartbeat(other)
    engine.clock.advance(15)
    mgmt.heartbeat(crawler)
    mgmt.heartbeat(other)
    assert {node.health for node in mgmt.nodes()} == {Health.HEALTHY}
    assert {node.state for node in mgmt.nodes()} == {NodeState.ONLINE}


def test_a_jump_is_told_before_and_after_somebody_dealt_with_it(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    engine.clock.advance(2 * DAY)
    mgmt.heartbeat(crawler)
    assert mgmt.counts().clock_jump is None
    jump(engine, -DAY)
    told = mgmt.counts().clock_jump
    assert told is not None
    assert (told.by, told.at) == (DAY * 1000, None)
    assert all(node.seen >= 0 for node in mgmt.nodes())
    mgmt.heartbeat(crawler)
    told = mgmt.counts().clock_jump
    assert told is not None
    assert (told.by, told.at) == (DAY * 1000, engine.clock.now())
    engine.clock.advance(DAY)
    assert mgmt.counts().clock_jump is None


def test_a_call_that_fails_does_not_hide_a_jump(engine: Engine, mgmt: Mgmt, crawler: Lease) -> None:
    engine.clock.advance(2 * DAY)
    mgmt.heartbeat(crawler)
    jump(engine, -DAY)
    with pytest.raises(LeaseLost):
        mgmt.heartbeat(Lease(crawler.node, crawler.address, crawler.epoch + 1))
    add(mgmt, "a")
    assert hosts_claimed(mgmt, crawler) == ["a"]


def test_a_server_that_asks_us_to_wait_while_the_clock_is_ahead_is_obeyed(
    engine: Engine, mgmt: Mgmt, crawler: Lease
) -> None:
    add(mgmt, "a", page=1)
    add(mgmt, "a", page=2)
    jump(engine, DAY)
    chunk = mgmt.claim(crawler, 1)
    assert chunk is not None
    (link,) = chunk.links
    mgmt.report([Result(doc_id=link.doc_id, claim=link.claim, error="busy", retry_after=30_000)])
    jump(engine, -DAY)
    assert hosts_claimed(mgmt, crawler) == []
    engine.clock.advance(30)
    assert hosts_claimed(mgmt, crawler) == ["a"]
