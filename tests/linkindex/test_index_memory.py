"""What the index remembers is bounded in bytes, however long somebody makes the names."""

from __future__ import annotations

import pytest

from weft.linkindex.index_state import ENTRY, Memory


@pytest.mark.parametrize("length", [10, 2000])
def test_long_names_leave_room_for_fewer(length: int) -> None:
    most = 100 * (ENTRY + 2000)
    memory: Memory[int] = Memory(most)
    for number in range(0, 5000, 10):
        memory.remember({(b"%04d" % n).ljust(length): n for n in range(number, number + 10)})
        held = memory._young.keys() | memory._old.keys()
        assert sum(len(name) + ENTRY for name in held) <= most + 20 * (ENTRY + length)
    found, missing = memory.find([(b"%04d" % n).ljust(length) for n in (0, 4999)])
    assert (list(found.values()), len(missing)) == ([4999], 1)


def test_a_name_that_is_remembered_again_takes_no_more_room() -> None:
    memory: Memory[int] = Memory(10 * (ENTRY + 4))
    for number in range(1000):
        memory.remember({b"same": number})
    memory.remember({b"else": 1})
    assert memory.find([b"same", b"else"])[0] == {b"same": 999, b"else": 1}
