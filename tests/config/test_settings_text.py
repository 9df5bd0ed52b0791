"""Values survive the way through their text forms, for every key and every type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.config import KEYS, load, toml_text
from weft.config.keys import Between, Kind, OneOf
from weft.config.settings import value_of
from weft.config.text import text_setting, toml_value

# Cross-checked keys are tried elsewhere: most of their values need another key to change with them.
NUMBERS = [
    key
    for key in KEYS.values()
    if key.kind in (Kind.INT, Kind.FLOAT) and "timeout" not in key.field and key.section != "mgmt"
    if key.name != "spider.working_every"
]

texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers() | st.floats(allow_nan=False)
values = st.booleans() | numbers | texts | st.lists(st.integers()) | st.lists(texts) | st.dictionaries(texts, texts)


def a_number(key):
    low, high = key.facts.allowed
    return st.integers(low, high) if key.kind is Kind.INT else st.floats(low, high)


def numbered(key):
    return a_number(key).map(lambda number: (key, number))


@given(values)
def test_a_value_written_as_toml_reads_back_the_same(value):
    assert toml_value(toml_text(value)) == value
    assert type(toml_value(toml_text(value))) is type(value)


@given(values)
def test_a_value_written_as_toml_is_one_line(value):
    assert toml_text(value).splitlines() == [toml_text(value)]


@given(texts)
def test_text_reads_back_bare_unless_it_begins_with_a_quotation_mark(text):
    assert text_setting(toml_text(text)) == text
    if not text.startswith(("'", '"')):
        assert text_setting(text) == text


@given(values, st.from_regex(r"[a-z]+", fullmatch=True))
def test_a_second_key_cannot_be_smuggled_in_after_a_line_break(value, name):
    for second in (f"{name} = 1", f"[{name}]", f"[[{name}]]", f"value.{name} = 1"):
        with pytest.raises(ValueError, match="TOML value"):
            toml_value(f"{toml_text(value)}\n{second}")


@given(st.sampled_from(NUMBERS).flatmap(numbered))
def test_numbers_come_through_the_environment_and_flags(numbered):
    key, number = numbered
    environ = load(None, {key.variable: toml_text(number)}, [])
    flag = load(None, {}, [f"{key.name}={toml_text(number)}"])
    assert value_of(environ.settings, key) == value_of(flag.settings, key) == number


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_the_default_comes_through_every_text_form(key):
    text = toml_text(key.default)
    assert load(None, {key.variable: text}, []).settings == load(None, {}, []).settings
    assert load(None, {}, [f"{key.name}={text}"]).settings == load(None, {}, []).settings


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_the_ends_of_a_range_are_allowed_and_a_step_beyond_is_not(key):
    match key.facts.allowed:
        case Between(low, high):
            assert all(key.facts.allowed.holds(end) for end in (low, high))
            assert not any(key.facts.allowed.holds(beyond) for beyond in (low - 1, high + 1, float("inf")))
        case OneOf(choices):
            assert all(key.facts.allowed.holds(choice) for choice in choices)


def test_bare_text_is_not_read_as_toml():
    settings = load(None, {"WEFT_SPIDER_CONTACT": "me@example.com", "WEFT_WEB_LISTEN": "[::1]:80"}, []).settings
    assert (settings.spider.contact, settings.web.listen) == ("me@example.com", "[::1]:80")


def test_lists_may_span_lines():
    assert load(None, {"WEFT_URLSERVER_ALLOW_PORTS": "[80,\n 8080]"}, []).settings.urlserver.allow_ports == (80, 8080)
