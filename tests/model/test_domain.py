from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.domain import Domain, plain_domain, registrable_domain, reversed_domain, reversed_host


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("www.example.co.uk", "example.co.uk"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
    ],
)
def test_a_domain_is_the_public_suffix_and_one_label_more(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


def test_suffixes_of_the_private_section_count_too() -> None:
    assert registrable_domain("pages.someone.github.io") == "someone.github.io"


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.c.kobe.jp", "b.c.kobe.jp"),
        ("c.kobe.jp", "c.kobe.jp"),
        ("kobe.jp", "kobe.jp"),
        ("a.city.kobe.jp", "city.kobe.jp"),
        ("city.kobe.jp", "city.kobe.jp"),
    ],
)
def test_wildcards_make_every_child_a_suffix_but_their_exceptions(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


def test_under_an_unknown_top_level_domain_the_last_label_is_the_suffix() -> None:
    assert registrable_domain("a.b.intranet-of-ours") == "b.intranet-of-ours"


@pytest.mark.parametrize("host", ["com", "co.uk", "github.io", "localhost", "127.0.0.1", "[2001:db8::1]"])
def test_a_bare_suffix_a_single_label_and_an_ip_literal_are_their_own_domain(host: str) -> None:
    assert registrable_domain(host) == host


@pytest.mark.parametrize(
    ("host", "domain"),
    [(".com", ".com"), ("a..com", ".com"), ("a.b.", "b."), (".", "."), ("..", ".")],
)
def test_empty_labels_are_labels(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


def test_a_host_of_a_thousand_labels_has_the_domain_of_its_end() -> None:
    assert registrable_domain("a." * 1000 + "example.co.uk") == "example.co.uk"
    assert registrable_domain("a." * 1000 + "c.kobe.jp") == "a.c.kobe.jp"


@pytest.mark.parametrize(
    ("domain", "in_keys"),
    [("c.com", "com.c"), ("example.co.uk", "uk.co.example"), ("127.0.0.1", "127.0.0.1"), ("[::1]", "[::1]")],
)
def test_keys_hold_the_domain_reversed_but_no_ip_literal(domain: Domain, in_keys: str) -> None:
    assert reversed_domain(domain) == in_keys
    assert plain_domain(in_keys) == domain


_names = st.lists(st.sampled_from(["a", "b", "com", "uk", "co", "kobe", "jp", "ck", "www", ""]), min_size=1, max_size=9)


@given(_names)
def test_the_domain_ends_the_host_and_is_its_own_domain(labels: list[str]) -> None:
    host = ".".join(labels)
    domain = registrable_domain(host)
    assert host == domain or host.endswith("." + domain)
    assert registrable_domain(domain) == domain


@given(_names)
def test_reversing_twice_gives_the_host_back(labels: list[str]) -> None:
    assert reversed_host(reversed_host(".".join(labels))) == ".".join(labels)
