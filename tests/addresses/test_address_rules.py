"""Which addresses are refused: every network of the table, at both ends, in every spelling."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.suites import suite_file
from weft.addresses.address_rules import AddressRules, ip_key, is_refused
from weft.model.url import UrlRefused, UrlRules

IPV4 = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
]
IPV6 = [
    "::1/128",
    "64:ff9b:1::/48",
    "100::/64",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "203.0.114.0",
    "223.255.255.255",
    "2600::",
    "2a00:1450:4001::5",
    "2001:1::1",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "3ffe::1",
    "2003::1",
]

# Forms of IPv6 address that carry an IPv4 one; a format string for its two halves in hexadecimal.
CARRIERS = {
    "compatible": "::{0:x}:{1:x}",
    "mapped": "::ffff:{0:x}:{1:x}",
    "translated": "::ffff:0:{0:x}:{1:x}",
    "NAT64": "64:ff9b::{0:x}:{1:x}",
    "6to4": "2002:{0:x}:{1:x}::1",
    "server of Teredo": "2001:0:{0:x}:{1:x}:0:0:{2:x}:{3:x}",
    "client of Teredo": "2001:0:808:808:0:0:{4:x}:{5:x}",
}


def carried(form: str, address: str) -> str:
    high, low = divmod(int(IPv4Address(address)), 0x10000)
    public_high, public_low = divmod(int(IPv4Address("8.8.8.8")) ^ 0xFFFF_FFFF, 0x10000)
    return CARRIERS[form].format(high, low, public_high, public_low, high ^ 0xFFFF, low ^ 0xFFFF)


@pytest.mark.parametrize("network", IPV4 + IPV6)
def test_a_denied_network_is_refused_from_end_to_end(network: str) -> None:
    for address in (ip_network(network)[0], ip_network(network)[-1]):
        reason = is_refused(address)
        assert reason is not None
        assert network in reason
        assert str(address) in reason


@pytest.mark.parametrize("address", PUBLIC)
def test_the_addresses_around_them_are_not(address: str) -> None:
    assert is_refused(address) is None


@pytest.mark.parametrize("form", CARRIERS)
@pytest.mark.parametrize("network", IPV4)
def test_an_ipv6_address_is_refused_for_the_ipv4_address_inside(form: str, network: str) -> None:
    for address in (ip_network(network)[0], ip_network(network)[-1]):
        assert is_refused(carried(form, str(address))) is not None


@pytest.mark.parametrize("form", CARRIERS)
def test_an_ipv6_address_is_not_refused_when_the_ipv4_address_inside_is_public(form: str) -> None:
    assert is_refused(carried(form, "93.184.216.34")) is None


def test_the_reason_names_the_address_inside() -> None:
    assert is_refused("64:ff9b::7f00:1") == "64:ff9b::7f00:1 stands for 127.0.0.1, which is in 127.0.0.0/8 (loopback)"


@given(st.sampled_from(sorted(CARRIERS)), st.ip_addresses(v=4))
def test_inside_and_outside_are_judged_alike(form: str, address: IPv4Address) -> None:
    outside, inside = is_refused(carried(form, str(address))), is_refused(address)
    # ::1 is an address of its own, and `::` stands for 0.0.0.0.
    assert (outside is None) == (inside is None)


@pytest.mark.parametrize("text", ["", "a.com", "127.1", "0x7f000001", "1.2.3.4.5", "[::1]", "1.2.3.4/8", "１.2.3.4"])
def test_what_is_no_address_is_refused(text: str) -> None:
    assert is_refused(text) == f"{text} is no IP address"


def test_a_zone_does_not_help() -> None:
    assert is_refused("fe80::1%eth0") is not None


FINDINGS = [
    "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/",
    "http://127.0.0.1./", "http://[::1]/", "http://[::127.0.0.1]/", "http://[::ffff:127.0.0.1]/", "http://0/",
    "http://[64:ff9b::127.0.0.1]/", "http://[2002:7f00:1::]/", "http://[fec0::1]/", "http://[ff02::1]/",
    "http://１２７.0.0.1/", "http://127。0。0。1/", "http://%31%32%37.0.0.1/", "http://[::ffff:a00:1]/",
    "http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://[2001:0:7f00:1::]/", "http://[::]/",
]  # fmt: skip


def host_of(url: str) -> str:
    return url[len("http://") : url.index("/", len("http://"))].strip("[]")


@pytest.mark.parametrize("url", FINDINGS)
def test_no_spelling_of_a_private_address_gets_through_the_url_parser(url: str) -> None:
    assert is_refused(host_of(UrlRules().identify(url).url)) is not None


def test_funny_spellings_of_ipv4_addresses_are_judged_as_what_they_are() -> None:
    spellings = json.loads(suite_file("url/funky_ipv4.json").read_text())
    judged = 0
    for spelling, address in spellings.items():
        try:
            host = host_of(UrlRules().identify(f"http://{spelling}/").url)
        except UrlRefused:
            assert address is None
            continue
        if address is None:
            assert is_refused(host) == f"{host} is no IP address", "a name, to be looked up"
        else:
            assert (is_refused(host) is None) == (is_refused(address) is None)
            assert host == address
        judged += 1
    assert judged > 30


def test_networks_of_the_settings_are_exceptions() -> None:
    rules = AddressRules(["127.0.0.0/8", "fd00::/8", "10.1.0.0/16"])
    for address in ("127.0.0.1", "fd00::1", "10.1.2.3", "::ffff:127.0.0.1", "64:ff9b::10.1.2.3", "8.8.8.8"):
        assert rules.is_refused(address) is None
    for address in ("10.2.0.1", "fc00::1", "::ffff:10.2.0.1", "::1"):
        assert rules.is_refused(address) is not None
    assert AddressRules(["::/0"]).is_refused("127.0.0.1") is not None
    assert AddressRules(["::/0"]).is_refused("::ffff:127.0.0.1") is None


def test_both_addresses_of_a_teredo_address_must_be_allowed() -> None:
    address = "2001:0:7f00:1:0:0:f5ff:fffe"  # server 127.0.0.1, client 10.0.0.1
    assert AddressRules(["127.0.0.0/8"]).is_refused(address) is not None
    assert AddressRules(["10.0.0.0/8"]).is_refused(address) is not None
    assert AddressRules(["127.0.0.0/8", "10.0.0.0/8"]).is_refused(address) is None


def test_ports_are_80_and_443_and_those_of_the_settings() -> None:
    rules = AddressRules(allow_ports=[8080])
    assert [port for port in (22, 80, 81, 443, 8080) if rules.is_port_refused(port) is None] == [80, 443, 8080]
    assert rules.is_port_refused(22) == (
        "port 22 is not crawled; expected 80, 443, 8080, or more in urlserver.allow_ports"
    )


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("93.184.216.34", "93.184.216.34"),
        ("2a00:1450:4001:81b::200e", "2a00:1450:4001:81b::/64"),
        ("2A00:1450:4001:081B:FFFF::1", "2a00:1450:4001:81b::/64"),
        ("::ffff:93.184.216.34", "93.184.216.34"),
        ("::93.184.216.34", "93.184.216.34"),
        ("64:ff9b::5db8:d822", "93.184.216.34"),
        ("2002:5db8:d822::1", "2002:5db8:d822::/64"),
    ],
)
def test_politeness_counts_by(address: str, key: str) -> None:
    assert ip_key(address) == key


@given(st.ip_addresses(v=6), st.integers(0, 2**64 - 1))
def test_a_64_of_ipv6_addresses_has_one_key(address: IPv6Address, rest: int) -> None:
    neighbour = IPv6Address((int(address) >> 64 << 64) | rest)
    keys = {ip_key(str(address)), ip_key(str(neighbour))}
    assert len(keys) == 1 or int(address) >> 64 in (0, 0x0064_FF9B_0000_0000)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_its_own_key(address: IPv4Address) -> None:
    assert ip_key(str(address)) == str(address)
    assert str(ip_address(ip_key(str(address)))) == str(address)
