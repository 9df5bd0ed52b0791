"""Decisions that need no database."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import TransitionRefused
from weft.mgmt.rules import claims, results, transitions
from weft.mgmt.rules.transitions import Cause
from weft.mgmt.values import BuilderTask, DocId, LinkState, NodeState, Result, WarcPosition


@given(st.lists(st.integers(1, 50), max_size=20), st.integers(0, 60))
def test_shares_are_fair_and_use_all_that_may_be_used(waiting: list[int], limit: int) -> None:
    shares = claims.fair_shares(waiting, limit)
    assert sum(shares) == min(limit, sum(waiting))
    for share, others in zip(shares, waiting, strict=True):
        assert share <= others
    unfilled = [share for share, most in zip(shares, waiting, strict=True) if share < most]
    assert max(shares, default=0) - min(unfilled, default=0) <= 1 or not unfilled


TEXTS = [field.name for field in msgspec.structs.fields(Result) if field.type is str]


@given(st.fixed_dictionaries({name: st.text() for name in TEXTS}), st.integers(1, 3000), st.booleans())
def test_kept_texts_are_bounded_and_fit_any_database(texts: dict[str, str], times: int, is_archived: bool) -> None:
    position = WarcPosition("n", "f", 0, 1) if is_archived else None
    long: dict[str, Any] = {name: text * times for name, text in texts.items()}
    kept = results.as_kept(Result(doc_id=DocId(1), claim=1, position=position, body=b"x", **long), now=9)
    for name in TEXTS:
        text = getattr(kept, name)
        assert "\0" not in text
        assert text.encode().decode() == text
        assert len(text) <= results.LOCATION_MOST
    assert kept.body == b""
    assert is_archived or kept.error
    assert results.as_kept(kept, now=9) == kept


LINK_MOVES = {
    ("pending", "CLAIM", "crawling"),
    ("crawling", "ARCHIVE", "crawled"),
    ("crawling", "FAIL", "error"),
    ("crawling", "RELEASE", "pending"),
    ("crawling", "LEASE_END", "pending"),
    ("crawling", "LOSS", "pending"),
    ("crawled", "REOPEN", "pending"),
    ("error", "REOPEN", "pending"),
}


def test_the_transitions_of_a_link_are_those_of_the_design_and_no_others() -> None:
    seen = set()
    for state, cause in itertools.product(LinkState, Cause):
        with suppress(TransitionRefused):
            seen.add((state.value, cause.name, transitions.link_after(state, cause).value))
    assert seen == LINK_MOVES
    with pytest.raises(TransitionRefused, match="link 7: a link that is crawled cannot change by lease end; nothing"):
        transitions.link_after(LinkState.CRAWLED, Cause.LEASE_END, 7)


def test_a_robots_link_is_opened_and_never_claimed() -> None:
    for state in LinkState:
        assert transitions.link_after(state, Cause.OPEN, is_robots=True) is LinkState.CRAWLING
        with pytest.raises(TransitionRefused):
            transitions.link_after(state, Cause.CLAIM, is_robots=True)
        with pytest.raises(TransitionRefused):
            transitions.link_after(state, Cause.OPEN)


def test_a_built_chunk_and_an_offline_node_stay_what_they_are() -> None:
    for cause in Cause:
        if cause is not Cause.BUILD_AGAIN:
            with pytest.raises(TransitionRefused):
                transitions.builder_after(BuilderTask.BUILT, cause)
        if cause is not Cause.REGISTER:
            with pytest.raises(TransitionRefused):
                transitions.node_after(NodeState.OFFLINE, cause)
