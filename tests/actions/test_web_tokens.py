"""Tokens of the web app: shown once, kept as a hash, refused once they are revoked."""

from __future__ import annotations

import hashlib

import pytest

from weft.actions.web_tokens import create_token, find_token, list_tokens, revoke_token
from weft.errors import NotKnown, UsageError
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import WebToken

HOUR = 3_600_000


@pytest.fixture
def mgmt() -> MemoryMgmt:
    return MemoryMgmt()


def test_a_token_is_found_by_its_text_alone(mgmt: MemoryMgmt) -> None:
    one, other = create_token(mgmt, "one", 5), create_token(mgmt, " other ", 6)
    assert one.text.startswith("weft_")
    assert len(one.text) == len("weft_") + 43, "32 random bytes"
    assert find_token(mgmt, one.text) == one.token == WebToken(one.token.id, "one", 5)
    assert find_token(mgmt, other.text) == other.token
    assert list_tokens(mgmt) == [one.token, other.token]
    for wrong in (
        "",
        "weft_",
        one.text[:-1],
        one.text + "x",
        one.text.upper(),
        one.token.id,
        "é" * 48,
        "\udcff",
        "x" * 10**6,
    ):
        assert find_token(mgmt, wrong) is None


def test_what_is_kept_does_not_hold_the_token(mgmt: MemoryMgmt) -> None:
    made = create_token(mgmt, "", 5)
    assert list(mgmt.web_tokens()) == [hashlib.sha256(made.text.encode()).hexdigest()]
    assert made.text not in repr(mgmt.web_tokens()) + repr(made)


def test_a_revoked_token_is_refused(mgmt: MemoryMgmt) -> None:
    one, other = create_token(mgmt, "one", 5), create_token(mgmt, "other", 6)
    assert revoke_token(mgmt, one.token.id) == one.token
    assert find_token(mgmt, one.text) is None
    assert find_token(mgmt, other.text) == other.token
    with pytest.raises(NotKnown, match=f"{one.token.id} is not the id of a token; `weft token list` lists them"):
        revoke_token(mgmt, one.token.id)


def test_a_token_that_is_given_for_its_id_is_not_repeated(mgmt: MemoryMgmt) -> None:
    made = create_token(mgmt, "", 5)
    with pytest.raises(NotKnown, match=r"^this is not the id of a token; ") as refused:
        revoke_token(mgmt, made.text)
    assert made.text not in str(refused.value)


def test_its_use_is_noted_once_an_hour(mgmt: MemoryMgmt) -> None:
    made = create_token(mgmt, "", 5)
    seen = []
    for now in (None, 10 * HOUR, 11 * HOUR - 1, 11 * HOUR):
        assert find_token(mgmt, made.text, now)
        seen.append(list_tokens(mgmt)[0].used)
    assert seen == [0, 10 * HOUR, 10 * HOUR, 11 * HOUR]


@pytest.mark.parametrize("name", ["x" * 101, "two\nlines", "\x1b[31m", "\udcff", "nul\0"])
def test_a_name_that_cannot_be_shown_is_a_sentence(mgmt: MemoryMgmt, name: str) -> None:
    with pytest.raises(UsageError, match="the name of a token is one line of at most 100 characters"):
        create_token(mgmt, name, 5)
    assert not mgmt.web_tokens()
