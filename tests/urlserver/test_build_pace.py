"""URLs are sent no faster than builders take what comes back, and never not at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.frontier_driving import Driven
from weft.mgmt.values import BuildQueue
from weft.urlserver.build_pace import LEAST, LONGEST, BuildPace
from weft.urlserver.in_flight import InFlight, SpiderId

looks = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 20_000), st.integers(0, 200)), max_size=60)


@given(looks)
def test_once_nothing_waits_some_may_be_sent(history: list[tuple[int, int, int]]) -> None:
    pace = BuildPace()
    for links, waited, in_flight in history:
        room = pace.room(BuildQueue(links, waited), in_flight)
        assert room <= max(0, pace.links - links)
    assert pace.room(BuildQueue(), 0) >= LEAST


def test_while_chunks_wait_too_long_no_more_is_sent_than_builders_take_in_that_time() -> None:
    pace = BuildPace()
    assert pace.room(BuildQueue(3000, 10 * LONGEST), 10) == 0
    assert pace.links == 300


def test_the_limit_stays_near_what_is_in_use() -> None:
    pace = BuildPace()
    for _ in range(100):
        pace.room(BuildQueue(50), 50)
    assert pace.links == 125 + LEAST


def simulated(builds: int, fetches: int, steps: int) -> int:
    """The longest time in milliseconds that a chunk waits, if every look is 250 ms, with links a second."""
    pace, queue, in_flight, longest, now = BuildPace(), [], 0, 0, 1_000_000
    for _ in range(steps):
        now += 250
        queue += [now] * in_flight
        del queue[: builds // 4]
        waited = now - queue[0] if queue else 0
        longest = max(longest, waited)
        in_flight = min(fetches // 4, pace.room(BuildQueue(len(queue), waited), 0))
    return longest


def test_a_slow_builder_is_not_drowned_and_a_fast_one_is_kept_busy() -> None:
    assert simulated(builds=200, fetches=4000, steps=400) <= 5 * LONGEST
    assert simulated(builds=2000, fetches=1000, steps=400) == 0


def test_only_so_many_are_sent_until_more_are_allowed() -> None:
    in_flight = InFlight(1000, 10, 1)
    in_flight.connect(SpiderId(0))
    assert in_flight.has_room
    in_flight.allow(0)
    assert not in_flight.has_room
    in_flight.allow()
    assert in_flight.has_room


def test_nothing_is_sent_to_a_domain_of_which_builders_have_too_much() -> None:
    driven = Driven(req_host_per_sec=10.0)
    for name, ip in (("www.heavy.com", "192.0.2.1"), ("a.com", "192.0.2.2")):
        driven.host(name, ip=ip)
    driven.frontier.in_flight.hold(["heavy.com"])
    assert {fetch.url.split("/")[2] for fetch in driven.after(1)} == {"a.com"}
    driven.frontier.in_flight.hold([])
    assert {fetch.url.split("/")[2] for fetch in driven.after(1)} == {"www.heavy.com"}
