"""One question to many shards: who is asked, when others are asked too, and what is left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from weft.errors import WeftError
from weft.search import fan_out
from weft.search.fan_out import FanOut
from weft.search.server_connection import Call, ServerSilent
from weft.search.server_messages import Asked, CorrectShards
from weft.search.shard_sources import Source


class Asking(NamedTuple):
    shards: tuple[int, ...]
    seconds: float


class FakeSource:
    """Answers with its name, after a while, for the shards that it has."""

    def __init__(self, name: str, has: Sequence[int] = (0, 1, 2, 3), takes: float = 0.0, hedge_after: float = 0.05):
        self.name, self.has, self.takes, self.hedge_after = name, has, takes, hedge_after
        self.begins_after = 0.0
        self.error: WeftError | None = None
        self.asked: list[Asking] = []
        self.failures = self.losses = self.aborted = 0

    def ask(self, asked: Asked, seconds: float, call: Call) -> Sequence[object]:
        self.asked.append(Asking(tuple(asked.shards), seconds))
        until = time.monotonic() + self.takes
        while time.monotonic() < until:
            if call.is_aborted:
                self.aborted += 1
                raise ServerSilent("aborted")
            time.sleep(0.005)
        if self.error:
            raise self.error
        return [self.name if number in self.has else None for number in asked.shards]

    def failed(self) -> None:
        self.failures += 1

    def lost(self) -> None:
        self.losses += 1


def run(
    sources: Sequence[Source],
    shards: Sequence[int] = (0, 1, 2, 3),
    deadline: float = 5.0,
    look: Callable[[], bool] = lambda: False,
) -> dict[int, object]:
    asked = CorrectShards(shards=list(shards), count=4, word="word")
    return FanOut(asked, lambda number: sources, deadline).run(look)


def test_shards_of_one_source_are_one_request() -> None:
    one, other = FakeSource("one"), FakeSource("other")
    assert run([one, other]) == dict.fromkeys(range(4), "one")
    assert [asking.shards for asking in one.asked] == [(0, 1, 2, 3)]
    assert not other.asked


def test_what_the_first_has_not_is_asked_of_the_next() -> None:
    one, other = FakeSource("one", has=[0, 2]), FakeSource("other")
    assert run([one, other]) == {0: "one", 1: "other", 2: "one", 3: "other"}
    assert [asking.shards for asking in other.asked] == [(1, 3)]
    assert one.failures == 0


def test_one_that_fails_is_replaced_at_once() -> None:
    one, other = FakeSource("one", hedge_after=10), FakeSource("other")
    one.error = ServerSilent("refused")
    began = time.monotonic()
    assert run([one, other]) == dict.fromkeys(range(4), "other")
    assert time.monotonic() - began < 1
    assert one.failures == 1


def test_one_that_is_slow_is_hedged_and_let_go() -> None:
    slow, other = FakeSource("slow", takes=10), FakeSource("other")
    began = time.monotonic()
    assert run([slow, other]) == dict.fromkeys(range(4), "other")
    assert 0.04 < time.monotonic() - began < 2
    assert (slow.failures, slow.losses, other.losses) == (0, 1, 0)
    time.sleep(0.1)
    assert slow.aborted == 1


def test_one_that_is_a_little_slow_may_still_be_first() -> None:
    slow, other = FakeSource("slow", takes=0.15), FakeSource("other", takes=1)
    assert run([slow, other]) == dict.fromkeys(range(4), "slow")
    assert (slow.losses, other.losses) == (0, 0)
    assert other.asked


def test_one_that_is_spared_is_asked_after_its_time() -> None:
    slow, local = FakeSource("slow", takes=10), FakeSource("local")
    local.begins_after = 0.2
    began = time.monotonic()
    assert run([slow, local]) == dict.fromkeys(range(4), "local")
    assert 0.2 <= time.monotonic() - began < 2


def test_one_that_is_spared_is_asked_at_once_if_there_is_nobody_else() -> None:
    broken, local = FakeSource("broken"), FakeSource("local")
    broken.error, local.begins_after = ServerSilent("refused"), 3.0
    began = time.monotonic()
    assert run([broken, local]) == dict.fromkeys(range(4), "local")
    assert time.monotonic() - began < 1


def test_after_the_deadline_what_is_missing_is_left_out() -> None:
    one, slow = FakeSource("one", has=[0]), FakeSource("slow", takes=10)
    began = time.monotonic()
    assert run([one, slow], deadline=0.3) == {0: "one"}
    assert time.monotonic() - began < 1
    assert slow.asked[0].seconds < 0.3


def test_those_that_failed_are_looked_up_and_asked_again_for_a_while() -> None:
    one = FakeSource("one")
    one.error = ServerSilent("refused")
    looks: list[int] = []

    def look() -> bool:
        looks.append(1)
        if len(looks) == 2:
            one.error = None
        return True

    assert run([one], look=look) == dict.fromkeys(range(4), "one")
    assert len(looks) == 2


def test_a_shard_that_nobody_has_is_not_waited_for_long() -> None:
    one = FakeSource("one", has=[0])
    began = time.monotonic()
    assert run([one], look=lambda: True) == {0: "one"}
    assert time.monotonic() - began < fan_out.RETRY_SECONDS + 2
    assert all(asking.shards == (1, 2, 3) for asking in one.asked[1:])


def test_an_error_that_nobody_thought_of_is_like_any_other() -> None:
    one, other = FakeSource("one"), FakeSource("other")
    one.error = ZeroDivisionError("odd")  # type: ignore[assignment]
    assert run([one, other]) == dict.fromkeys(range(4), "other")
