"""Things come out when they are due, in the order of their moments, each once."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from weft.urlserver.schedule import TimerWheel


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))))
def test_everything_comes_once_and_never_early(steps):
    """Each step adds a thing and then looks at a moment."""
    wheel: TimerWheel[tuple[int, int]] = TimerWheel()
    taken = []
    for number, (at, now) in enumerate(steps):
        wheel.add(at, (at, number))
        while (thing := wheel.take(now)) is not None:
            assert thing[0] <= now
            taken.append(thing)
    while (thing := wheel.take(100)) is not None:
        taken.append(thing)
    assert sorted(number for _, number in taken) == list(range(len(steps)))
    assert wheel.next_moment() is None


@given(st.lists(st.integers(0, 20)))
def test_things_come_in_the_order_of_their_moments_and_arrival(moments):
    wheel: TimerWheel[tuple[int, int]] = TimerWheel()
    for number, at in enumerate(moments):
        wheel.add(at, (at, number))
    assert wheel.next_moment() == min(moments, default=None)
    taken: list[Any] = [wheel.take(20) for _ in moments]
    assert taken == sorted(taken)
