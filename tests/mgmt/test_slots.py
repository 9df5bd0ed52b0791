"""How slots are divided among nodes: evenly, by one owner at a time, and with as few moves as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from weft.mgmt.rules.slots import Slot, divide, fair_quota
from weft.mgmt.values import NodeId

nodes = st.integers(1, 6).map(NodeId)
counts = st.integers(0, 20)
steps = st.sampled_from(["call", "call", "call", "join", "drain", "leave"])


class Pool:
    """Slots, the nodes that share them, and those that leave but still have some."""

    def __init__(self, count: int, sharers: Collection[NodeId] = ()) -> None:
        self.count, self.slots = count, [Slot()] * count
        self.sharers, self.draining = set(sharers), set[NodeId]()
        self.answers: dict[NodeId, frozenset[int]] = {}
        self.moves = 0
        """Slots that nodes had to give up."""

    def call(self, me: NodeId) -> None:
        division = divide(self.slots, self.count, me, sorted(self.sharers))
        for number in division.given_up:
            assert self.slots[number].owner == me
            self.slots[number] = self.slots[number].given_up()
        for number in division.taken:
            assert self.slots[number].owner is None, "a slot is taken from nobody"
            self.slots[number] = self.slots[number]._replace(owner=me)
        for number in division.leaving:
            assert self.slots[number].owner == me
            self.slots[number] = self.slots[number]._replace(is_leaving=True)
        self.moves += len(division.leaving)
        self.answers[me] = division.owned
        for other, owned in self.answers.items():
            assert other == me or not owned & division.owned, "two nodes own a slot"

    def leave(self, me: NodeId) -> None:
        self.slots = [slot.given_up() if slot.owner == me else slot for slot in self.slots]
        self.answers.pop(me, None)
        self.sharers.discard(me)
        self.draining.discard(me)

    def settle(self) -> None:
        for _ in range(4):
            for node in sorted(self.sharers | self.draining):
                self.call(node)
        self.moves, moves = 0, self.moves
        for node in sorted(self.sharers | self.draining):
            self.call(node)
        assert self.moves == 0, "nothing moves once it is even"
        self.moves = moves
        self.check_even()

    def check_even(self) -> None:
        owned = Counter(slot.owner for slot in self.slots)
        assert not self.sharers or owned[None] == 0
        sizes = [owned[node] for node in self.sharers]
        assert not sizes or max(sizes) - min(sizes) <= 1
        assert not any(slot.is_leaving for slot in self.slots)


@given(
    counts, st.lists(st.tuples(st.sampled_from(["call", "call", "call", "join", "drain", "leave"]), nodes), max_size=60)
)
def test_slots_have_one_owner_at_any_time_and_end_up_even(count: int, history: list[tuple[str, NodeId]]) -> None:
    pool = Pool(count)
    for step, node in history:
        if step == "join":
            pool.sharers.add(node)
            pool.draining.discard(node)
        elif step == "leave":
            pool.leave(node)
        elif step == "drain" and node in pool.sharers:
            pool.sharers.discard(node)
            pool.draining.add(node)
        elif step == "call" and node in pool.sharers | pool.draining:
            pool.call(node)
    pool.settle()


@given(counts, st.sets(nodes, min_size=1), nodes)
def test_one_that_joins_gets_its_share_and_nothing_else_moves(count: int, there: set[NodeId], new: NodeId) -> None:
    there.discard(new)
    pool = Pool(count, there)
    pool.settle()
    pool.moves = 0
    pool.sharers.add(new)
    pool.settle()
    assert pool.moves <= count // len(pool.sharers)


@given(counts, st.sets(nodes, min_size=2), st.data())
def test_what_one_leaves_is_taken_by_the_others_and_nothing_else_moves(
    count: int, there: set[NodeId], data: st.DataObject
) -> None:
    pool = Pool(count, there)
    pool.settle()
    pool.moves = 0
    gone = data.draw(st.sampled_from(sorted(there)))
    kept = {node: owned for node, owned in pool.answers.items() if node != gone}
    pool.leave(gone)
    pool.settle()
    assert pool.moves == 0
    assert all(owned <= pool.answers[node] for node, owned in kept.items())


@given(counts, st.sets(nodes, min_size=2), st.data())
def test_one_that_comes_back_gets_what_it_had(count: int, there: set[NodeId], data: st.DataObject) -> None:
    pool = Pool(count, there)
    pool.settle()
    before = dict(pool.answers)
    away = data.draw(st.sampled_from(sorted(there)))
    for others_noticed in (False, True):
        pool.leave(away)
        if others_noticed:
            pool.settle()
        pool.sharers.add(away)
        if not others_noticed:
            pool.call(away)
        pool.settle()
        most = ceil(count / len(there))
        for node, owned in before.items():
            assert len(owned - pool.answers[node]) <= (0 if not others_noticed else most - count // len(there)), node


def test_one_that_drains_keeps_what_it_has_and_takes_nothing() -> None:
    first, second, third = NodeId(1), NodeId(2), NodeId(3)
    pool = Pool(8, [first, second])
    pool.settle()
    kept = pool.answers[first]
    pool.sharers.discard(first)
    pool.draining.add(first)
    pool.sharers.add(third)
    pool.settle()
    assert pool.answers[first] == kept
    assert [len(pool.answers[node]) for node in (second, third)] == [2, 2]
    pool.leave(first)
    pool.settle()
    assert [len(pool.answers[node]) for node in (second, third)] == [4, 4]


def test_slots_above_the_count_are_given_up_at_once() -> None:
    me = NodeId(1)
    owned = [Slot(me)] * 6
    assert divide(owned, 4, me, [me]).given_up == [4, 5]
    assert divide(owned, 0, me, [me]).owned == frozenset()


def test_whoever_has_one_more_keeps_it() -> None:
    first, second, third = NodeId(1), NodeId(2), NodeId(3)
    assert [fair_quota({first: 0, second: 3, third: 2}, node, 5) for node in (first, second, third)] == [1, 2, 2]
