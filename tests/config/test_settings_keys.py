"""What must hold for every key, so that one added later cannot forget it."""

import pytest

from weft.config import KEYS, TextTable, shown
from weft.config.check import checked
from weft.config.keys import Between, Kind
from weft.config.settings import SECTIONS

every_key = pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)


@every_key
def test_a_key_says_what_it_means_in_a_short_sentence_or_two(key):
    sentences = key.facts.meaning.removesuffix(".").split(". ")
    assert key.facts.meaning.endswith(".")
    assert len(sentences) <= 2
    assert not any(sentence[0].islower() or len(sentence) > 120 for sentence in sentences)
    assert "|" not in key.facts.meaning + key.expected


@every_key
def test_a_key_says_who_reads_it(key):
    assert key.facts.reader


@every_key
def test_numbers_have_a_range_and_texts_a_rule(key):
    if key.kind in (Kind.INT, Kind.FLOAT, Kind.INTS):
        assert isinstance(key.facts.allowed, Between)
    elif key.kind is not Kind.BOOL:
        assert key.facts.allowed is not None


@every_key
def test_a_default_is_allowed(key):
    given = key.default
    if isinstance(given, tuple | TextTable):
        given = dict(given) if isinstance(given, TextTable) else list(given)
    assert checked(key, given, "default") == key.default


@every_key
def test_a_name_that_sounds_secret_is_masked(key):
    if any(word in key.field for word in ("token", "password", "secret")):
        assert shown(key, "s3cret") == "***"


@every_key
def test_units_are_in_the_name_or_stated(key):
    if key.field.endswith(("_bytes", "_seconds", "_days", "_chars")):
        assert key.facts.unit in ("bytes", "seconds", "days", "characters")


def test_names_are_lower_case_and_sections_hold_no_underscore():
    assert all(name == name.lower() for name in KEYS)
    assert not any("_" in section for section in SECTIONS)


def test_no_two_keys_share_a_variable():
    assert len({key.variable for key in KEYS.values()}) == len(KEYS)
