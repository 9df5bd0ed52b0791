"""Who is turned away from a port when there are too many."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from weft.roles.connection_limit import ConnectionLimit


@dataclass(eq=False)
class Caller:
    name: str
    told: list[str] = field(default_factory=list)

    def turn_away(self, reason: str) -> None:
        self.told.append(reason)


def callers(count: int) -> list[Caller]:
    return [Caller(str(number)) for number in range(count)]


def test_the_oldest_stranger_makes_room():
    limit, some = ConnectionLimit(most=10, most_strangers=3, most_of_peer=3), callers(5)
    for number, one in enumerate(some):
        limit.arrived(one, f"peer{number}")
    assert [bool(one.told) for one in some] == [True, True, False, False, False]
    assert len(limit) == 3


def test_a_peer_with_too_many_strangers_pays_for_itself():
    limit, some, other = ConnectionLimit(most=10, most_strangers=8, most_of_peer=2), callers(4), Caller("other")
    limit.arrived(other, "quiet")
    for one in some:
        limit.arrived(one, "loud")
    assert not other.told
    assert [bool(one.told) for one in some] == [True, True, False, False]


def test_a_trusted_connection_stays():
    limit, first, some = ConnectionLimit(most=3, most_strangers=3, most_of_peer=3), Caller("first"), callers(10)
    limit.arrived(first, "a")
    limit.trusted(first)
    for one in some:
        limit.arrived(one, "a")
    assert not first.told
    assert len(limit) == 3


def test_where_all_are_trusted_a_newcomer_is_turned_away():
    limit, some, late = ConnectionLimit(most=2, most_strangers=2, most_of_peer=2), callers(2), Caller("late")
    for one in some:
        limit.arrived(one, "a")
        limit.trusted(one)
    limit.arrived(late, "a")
    assert late.told
    limit.gone(some[0])
    limit.arrived(again := Caller("again"), "a")
    assert not again.told


def test_strangers_get_one_sentence_a_second_in_the_log(caplog):
    now = [100.0]
    limit, friend, some = ConnectionLimit(clock=lambda: now[0]), Caller("friend"), callers(9)
    limit.arrived(friend, "a")
    limit.trusted(friend)
    for one in some[:5]:
        limit.tell(one, "b", "wrong token")
    limit.tell(friend, "a", "a bad line")
    assert [record.getMessage() for record in caplog.records] == [
        "connection closed peer=b reason=wrong token",
        "connection closed peer=a reason=a bad line",
    ]
    now[0] += 1
    limit.tell(some[5], "c", "no HELLO")
    assert caplog.records[-1].getMessage() == "connection closed peer=c reason=no HELLO (and 4 others before)"
    now[0] += 1
    limit.tell(some[6], "c", "no HELLO")
    assert caplog.records[-1].getMessage() == "connection closed peer=c reason=no HELLO"


@given(st.lists(st.tuples(st.sampled_from(["arrived", "trusted", "gone"]), st.integers(0, 9), st.integers(0, 2))))
def test_the_limits_always_hold(steps):
    limit, some = ConnectionLimit(most=5, most_strangers=3, most_of_peer=2), callers(10)
    inside: set[Caller] = set()
    for call, number, peer in steps:
        one = some[number]
        if call == "arrived" and one not in inside:
            one.told.clear()
            inside.add(one)
            limit.arrived(one, str(peer))
        elif call == "trusted":
            limit.trusted(one)
        elif call == "gone":
            limit.gone(one)
            inside.discard(one)
        inside -= {each for each in inside if each.told}
        assert len(limit) == len(inside) <= 5
