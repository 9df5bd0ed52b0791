"""Web hosts, the sites that they belong to, and the slots of their addresses."""

from __future__ import annotations

import pytest

from weft.model.host import NO_SLOT, domain_of_host, name_of, port_of, site_names, slot_of, web_host_of


def test_an_address_is_always_in_the_same_part() -> None:
    assert slot_of("192.0.2.1") == slot_of("192.0.2.1") == 55
    assert slot_of("") == NO_SLOT
    assert {slot_of(f"10.0.{n // 256}.{n % 256}") for n in range(5000)} == set(range(256))


def test_sites_are_found_by_host_and_domain() -> None:
    assert site_names("www.example.co.uk:8080") == (
        "*",
        "example.co.uk",
        "www.example.co.uk",
        "www.example.co.uk:8080",
    )
    assert site_names("example.com") == ("*", "example.com")
    assert site_names("[2001:db8::1]") == ("*", "[2001:db8::1]")
    assert site_names("[2001:db8::1]:81") == ("*", "[2001:db8::1]", "[2001:db8::1]:81")
    assert web_host_of("https://a.com:81/b/c") == "a.com:81"


@pytest.mark.parametrize(
    ("web_host", "name", "port"),
    [
        ("a.com", "a.com", None),
        ("a.com:8080", "a.com", 8080),
        ("127.0.0.1:81", "127.0.0.1", 81),
        ("[2001:db8::1]", "[2001:db8::1]", None),
        ("[2001:db8::1]:81", "[2001:db8::1]", 81),
    ],
)
def test_a_web_host_is_a_name_with_or_without_a_port(web_host: str, name: str, port: int | None) -> None:
    assert (name_of(web_host), port_of(web_host)) == (name, port)


@pytest.mark.parametrize(
    ("site", "domain"),
    [("www.example.co.uk:81", "example.co.uk"), ("[2001:db8::1]:81", "[2001:db8::1]"), ("*", "*")],
)
def test_a_site_lies_in_a_domain(site: str, domain: str) -> None:
    assert domain_of_host(site) == domain


@pytest.mark.parametrize(
    ("url", "host"),
    [("https://a.com/x", "a.com"), ("http://a.com:8080/", "a.com:8080"), ("http://[::1]:81/", "[::1]:81")],
)
def test_the_web_host_names_a_port_that_is_not_the_schemes(url: str, host: str) -> None:
    assert web_host_of(url) == host
