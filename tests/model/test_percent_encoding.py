from __future__ import annotations

import string
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.hard_urls import many
from weft.model.percent_encoding import normal_escapes

UNRESERVED = string.ascii_letters + string.digits + "-._~"
_pieces = st.one_of(st.text(st.characters(codec="ascii"), max_size=3), st.from_regex("%[0-9A-Fa-f]{2}", fullmatch=True))
targets = st.lists(_pieces, max_size=8).map("".join)


@pytest.mark.parametrize("code", range(256))
def test_an_escape_has_one_normal_form(code: int) -> None:
    wanted = chr(code) if chr(code) in UNRESERVED else f"%{code:02X}"
    lower, upper = f"{code:02x}", f"{code:02X}"
    for digits in (lower, upper, lower[0] + upper[1], upper[0] + lower[1]):
        assert normal_escapes(f"/a%{digits}b%20") == f"/a{wanted}b%20"


@pytest.mark.parametrize("target", ["/%c3%", "/%7e%zz", "/100%?q=%7e", "/%2", "/%%7e", "/%u00e9%7e", "/%7e%\uff11"])
def test_with_a_stray_percent_sign_a_target_is_left_alone(target: str) -> None:
    assert normal_escapes(target) == target


def test_what_an_escape_gives_is_not_read_as_another_escape() -> None:
    assert normal_escapes("/%25%34%31") == "/%2541"
    assert normal_escapes("/%2541") == "/%2541"


@many
@given(targets)
def test_the_normal_form_is_its_own_and_means_the_same(target: str) -> None:
    normal = normal_escapes(target)
    assert normal_escapes(normal) == normal
    assert unquote_to_bytes(normal) == unquote_to_bytes(target)
