"""Equal files are read once, and the rules of large ones cannot fill the memory."""

from __future__ import annotations

import gc

import pytest

from weft.robots.rules import Rules
from weft.robots.rules_cache import WORTHWHILE, RulesCache, TooManyRules


def body(number: int, rules: int = 400) -> bytes:
    return f"User-agent: *\nDisallow: /{number}/\n".encode() + b"".join(
        b"Disallow: /x%d\n" % each for each in range(rules)
    )


def test_hosts_with_the_same_file_share_its_rules() -> None:
    cache = RulesCache("weft", 512_000)
    first = cache.rules_of(body(1))
    assert first.size >= WORTHWHILE
    assert cache.rules_of(body(1)) is first
    assert cache.rules_of(body(2)) is not first
    assert cache.parsed == 2
    assert not first.decide("/1/").allowed


def test_shared_rules_stay_shared_however_many_others_are_read() -> None:
    cache = RulesCache("weft", 512_000, recent=0)
    first = cache.rules_of(body(1))
    cache.rules_of(body(2))
    assert cache.rules_of(body(1)) is first


def test_what_no_host_needs_is_kept_up_to_a_size() -> None:
    size = RulesCache("weft", 512_000).rules_of(body(1)).size
    cache = RulesCache("weft", 512_000, recent=2 * size + size // 2)
    for number in (1, 2, 3):
        cache.rules_of(body(number))
    gc.collect()
    cache.rules_of(body(2))
    cache.rules_of(body(3))
    assert cache.parsed == 3
    cache.rules_of(body(1))
    assert cache.parsed == 4


def test_small_files_are_not_kept() -> None:
    cache = RulesCache("weft", 512_000)
    assert cache.rules_of(body(1, rules=3)) is not cache.rules_of(body(1, rules=3))


def test_the_rules_in_use_have_a_bound_and_those_that_are_dropped_make_room() -> None:
    size = RulesCache("weft", 512_000).rules_of(body(1)).size
    cache = RulesCache("weft", 512_000, in_use=3 * size + size // 2)
    used: list[Rules] = [cache.rules_of(body(number)) for number in range(3)]
    with pytest.raises(TooManyRules):
        cache.rules_of(body(3))
    assert cache.rules_of(body(1)) is used[1]
    assert not cache.rules_of(body(4, rules=3)).decide("/4/").allowed
    used.clear()
    gc.collect()
    assert not cache.rules_of(body(3)).decide("/3/").allowed
