"""Values as they are stored: what went in comes out, and long ones take less room."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from weft.store.values import LONG, Stamp, seq_prefix, split_value, value_of

values = st.binary(max_size=8) | st.builds(bytes.__mul__, st.binary(min_size=1, max_size=40), st.integers(0, 60))


@given(st.integers(1, 2**70), values)
def test_a_value_comes_back_with_its_seq(seq: int, value: bytes) -> None:
    stored = Stamp(seq).stored(value)
    assert split_value(stored) == (seq, value)
    assert value_of(stored) == value


@given(st.integers(1, 2**70), st.binary(max_size=LONG - 1))
def test_a_short_value_stands_behind_its_seq_as_it_is(seq: int, value: bytes) -> None:
    assert Stamp(seq).stored(value) == seq_prefix(seq) + value


def test_a_long_value_takes_less_room() -> None:
    value = b'{"url":"http://a.com/","anchor":"words"},' * 40
    assert len(Stamp(1).stored(value)) < len(value) / 5


def test_what_does_not_shrink_is_stored_as_it_is() -> None:
    noise = Random(1).randbytes(LONG)
    assert Stamp(1).stored(noise) == seq_prefix(1) + noise
    packed_before = ZstdCompressor().compress(b"".join(b"%d " % n for n in range(2000)))
    assert len(packed_before) > LONG
    assert Stamp(1).stored(packed_before) == seq_prefix(1) + packed_before


def test_threads_do_not_disturb_each_other() -> None:
    written = [Random(n).randbytes(200) * 50 for n in range(64)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            stored = list(pool.map(Stamp(7).stored, written))
            assert list(pool.map(value_of, stored)) == written
