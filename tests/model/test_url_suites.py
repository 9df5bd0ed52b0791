"""The URL and domain suites of others; every case counts, and each exception is listed with its reason."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from support.suites import suite_file
from weft.model.domain import registrable_domain
from weft.model.url import UrlFault, UrlRefused, UrlRules

RULES = UrlRules()

NO_HOST_WITHOUT_DOTS = {
    "http://./": "nothing is left of the host when its trailing dots are dropped",
    "http://../": "nothing is left of the host when its trailing dots are dropped",
    "http://foo.09..": "without its trailing dots the host ends in a number and is no IPv4 address",
}
NO_HOST_OF_A_SITE = {
    "http://!\"$&'()*+,-.;=_`{}~/": "the URL standard lets these stand in a host, and no site is called so",
    "xn--ls8h=": "the same, in a list of names",
}
NAMES_TO_THE_STANDARD = {
    "0000xa": "neither decimal, octal nor hexadecimal: to the URL standard this is a name, not an address",
}
DOMAINS_BELOW_AN_EMPTY_LABEL = {
    ".example.com": "the suite rejects a leading dot; the URL standard reads an empty label, which names no domain",
    ".example.example": "the suite rejects a leading dot; the URL standard reads an empty label, which names no domain",
}


def joined(base: str | None, text: str) -> str | UrlFault:
    try:
        return RULES.join(base, text).url
    except UrlRefused as refusal:
        return refusal.reason


def cleaned(case: dict[str, Any]) -> str:
    """What we make of a URL whose parts are known: no userinfo, no fragment, no dots after the host."""
    port = f":{case['port']}" if case["port"] else ""
    empty_query = "?" if not case["search"] and "?" in case["href"].partition("#")[0] else ""
    host = case["hostname"].rstrip(".")
    return f"{case['protocol']}//{host}{port}{case['pathname']}{case['search']}{empty_query}"


def url_cases() -> list[dict[str, Any]]:
    cases = [case for case in json.loads(suite_file("url/urltestdata.json").read_text()) if isinstance(case, dict)]
    assert len(cases) == 891
    return cases


def test_whatever_the_standard_rejects_is_refused() -> None:
    failures = [case for case in url_cases() if case.get("failure")]
    assert len(failures) == 267
    assert [case for case in failures if not isinstance(joined(case["base"], case["input"]), UrlFault)] == []


def test_http_and_https_urls_are_written_as_the_standard_says() -> None:
    cases = [case for case in url_cases() if case.get("protocol") in ("http:", "https:")]
    assert len(cases) == 247
    wrong = {case["input"] for case in cases if joined(case["base"], case["input"]) != cleaned(case)}
    assert wrong == {*NO_HOST_WITHOUT_DOTS, next(iter(NO_HOST_OF_A_SITE))}


def test_urls_of_other_schemes_are_refused_for_their_scheme() -> None:
    cases = [case for case in url_cases() if case.get("protocol") not in (None, "http:", "https:")]
    assert len(cases) == 377
    assert [case for case in cases if joined(case["base"], case["input"]) is not UrlFault.SCHEME] == []


def test_a_host_that_no_site_has_is_refused() -> None:
    assert joined(None, next(iter(NO_HOST_OF_A_SITE))) is UrlFault.HOST


@pytest.mark.parametrize("url", NO_HOST_WITHOUT_DOTS)
def test_a_host_that_is_none_without_its_dots_is_refused(url: str) -> None:
    assert joined(None, url) is UrlFault.HOST


def test_international_names_become_punycode() -> None:
    cases = [case for case in json.loads(suite_file("url/toascii.json").read_text()) if isinstance(case, dict)]
    assert len(cases) > 80
    for case in cases:
        wanted = UrlFault.UNPARSABLE if case["output"] is None else f"https://{case['output']}/x"
        if case["input"] in NO_HOST_OF_A_SITE:
            wanted = UrlFault.HOST
        assert joined(None, f"https://{case['input']}/x") == wanted, case


def test_all_spellings_of_an_ipv4_address_are_one() -> None:
    spellings = json.loads(suite_file("url/funky_ipv4.json").read_text())
    assert len(spellings) == 47
    wrong = set()
    for spelling, address in spellings.items():
        wanted = UrlFault.UNPARSABLE if address is None else f"http://{address}/"
        if joined(None, f"http://{spelling}/") != wanted:
            wrong.add(spelling)
    assert wrong == set(NAMES_TO_THE_STANDARD)


def test_relative_links_lead_where_other_crawlers_say() -> None:
    lines = [line for line in suite_file("url/url-resolve.csv").read_text().splitlines() if line.strip()]
    rows = list(csv.reader((line for line in lines if not line.startswith("#")), skipinitialspace=True))
    assert len(rows) == 22
    for link, base, target in rows:
        wanted = UrlFault.SCHEME if target.startswith("file:") else joined(None, target)
        assert joined(base or None, link) == wanted, (link, base)
    assert joined("http://example.org/foo/bar", ":23") == "http://example.org/foo/:23"


def domain_cases() -> list[tuple[str, str | None]]:
    lines = suite_file("publicsuffix/tests.txt").read_text().splitlines()
    pairs = [line.split() for line in lines if line.strip() and not line.startswith("//")]
    return [(host, None if domain == "null" else domain) for host, domain in pairs if host != "null"]


def test_registrable_domains_are_those_of_the_public_suffix_list() -> None:
    cases = domain_cases()
    assert len(cases) == 77
    wrong = set()
    for host, domain in cases:
        own = host.lower() if domain is None else domain
        if RULES.identify(f"http://{host}/").domain != punycode(own):
            wrong.add(host)
    assert wrong == set(DOMAINS_BELOW_AN_EMPTY_LABEL)


@pytest.mark.parametrize("host", DOMAINS_BELOW_AN_EMPTY_LABEL)
def test_an_empty_label_belongs_to_the_domain_behind_it(host: str) -> None:
    assert registrable_domain(host) == host[1:]


def punycode(name: str) -> str:
    return ".".join(label.encode("idna").decode() if label else "" for label in name.split("."))
