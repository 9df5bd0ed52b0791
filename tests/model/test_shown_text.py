"""Text from the web is shown without anything that a terminal would obey."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.shown_text import readable_text, shown_json, shown_text

_JOINERS = "\u200c\u200d"
_BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_safe(character: str) -> bool:
    if character in _JOINERS:
        return True
    is_mark = character in "\u200e\u200f\u061c"
    is_control = unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
    return not (is_control or is_mark or unicodedata.bidirectional(character) in _BIDI)


@given(st.text(st.characters(codec=None)))
def test_nothing_that_a_terminal_obeys_is_shown(text: str) -> None:
    assert all(map(is_safe, shown_text(text)))


def test_no_single_character_slips_through() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert all(map(is_safe, shown_text(everything)))
    without_halves = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    encoded = shown_json(json.dumps(without_halves, ensure_ascii=False))
    assert all(map(is_safe, encoded))
    assert json.loads(encoded) == without_halves


@given(st.text(st.characters(categories=("L", "M", "N", "P", "S"), include_characters=" ")))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert shown_text(text) == text


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))
def test_json_keeps_its_value_and_is_safe_to_look_at(value: object) -> None:
    shown = shown_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(shown) == value
    assert all(map(is_safe, shown))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]8;;http://a.test\x07link\x1b]8;;\x07", "\\x1b]8;;http://a.test\\x07link\\x1b]8;;\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("safe\u202eexe.txt", "safe\\u202eexe.txt"),
        ("one\r\ntwo\tthree\u2028four", "one two three four"),
        ("\U000e0041", "\\U000e0041"),
        ("می\u200cخواهم 👩\u200d🔬", "می\u200cخواهم 👩\u200d🔬"),
    ],
)
def test_examples(text: str, shown: str) -> None:
    assert shown_text(text) == shown


@given(st.text(st.characters(codec=None)))
def test_readable_text_is_safe_and_has_no_escapes(text: str) -> None:
    assert all(map(is_safe, readable_text(text)))
    assert set(readable_text(text)) <= {*text, " "}


def test_readable_text_keeps_words_apart() -> None:
    assert readable_text("a\x00b\x1b[2J\u2028c\u202ed\u200be") == "a b [2J cde"
