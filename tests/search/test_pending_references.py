"""References wait until it is time, and the cursor never passes what is not handed out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.clock import ManualClock
from weft.search.pending_references import MOST, REST, PendingReferences

URIS = [b"a", b"b", b"c", b"d"]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.lists(st.sampled_from(URIS), max_size=3)),
            st.tuples(st.just("take"), st.integers(1, 3)),
            st.tuples(st.just("drop"), st.lists(st.sampled_from(URIS), max_size=2)),
            st.tuples(st.just("wait"), st.sampled_from([0.1, REST / 1000, 10.0])),
        )
    )
)
def test_everything_up_to_the_cursor_was_handed_out(steps: list[tuple[str, object]]) -> None:
    clock = ManualClock(0)
    pending = PendingReferences(10, clock)
    waiting: dict[bytes, int] = {}  # uri -> the first seq that named it since it was last handed out
    seq = 0
    for what, given_ in steps:
        before = pending.cursor
        if what == "add":
            seq += 1
            pending.add(given_)  # type: ignore[arg-type]
            pending.reached(seq)
            for uri in given_:  # type: ignore[attr-defined]
                waiting.setdefault(uri, seq)
        elif what == "take":
            for uri in pending.take(given_):  # type: ignore[arg-type]
                waiting.pop(uri, None)
        elif what == "drop":
            pending.drop(given_)  # type: ignore[arg-type]
            for uri in given_:  # type: ignore[attr-defined]
                waiting.pop(uri, None)
        else:
            clock.advance(given_)  # type: ignore[arg-type]
        assert all(first > pending.cursor for first in waiting.values())
        assert len(pending) >= len(waiting)
        assert pending.cursor >= before
    pending.flush_all()
    while not pending.is_empty:
        pending.take(2)
    assert pending.cursor == seq


def test_a_uri_is_handed_out_once_in_a_while_however_often_it_changes() -> None:
    clock = ManualClock(0)
    pending = PendingReferences(10, clock)
    handed = []
    for seq in range(1, 101):
        pending.add([b"hub"])
        pending.reached(seq)
        handed += pending.take(5)
        clock.advance(0.5)
    assert 4 <= len(handed) <= 6


def test_too_many_do_not_wait() -> None:
    pending = PendingReferences(1e6, ManualClock(0))
    pending.add(b"%d" % number for number in range(MOST))
    pending.reached(1)
    assert len(pending.take(10)) == 10
