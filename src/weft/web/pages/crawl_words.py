"""Why links are left out and what hosts wait for, in words for people who have not read the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.model.refusal import RefusalKind
from weft.model.wait_reason import wait_sentence
from weft.web.rendering import span

_TRAP: Final = "looks like one of endlessly many addresses"
_SENTENCES: Final[Mapping[str, str]] = {
    RefusalKind.OUT_OF_SCOPE: "leads away from the sites that were added",
    RefusalKind.EXCLUDED: "its site is excluded",
    RefusalKind.DEPTH: "too many clicks from a start page",
    RefusalKind.PATTERN: "the site's patterns leave it out",
    RefusalKind.TYPE: "not a kind of file that the site wants",
    RefusalKind.BUDGET: "the site's number of links is used up",
    RefusalKind.REDIRECTS: "too many redirects in a row",
    RefusalKind.PARAMETERS: "another address shows the same page",
    RefusalKind.LINKS_OF_A_HOST: "its host has too many addresses already",
    RefusalKind.HOSTS_OF_A_DOMAIN: "its domain has too many hosts already",
    RefusalKind.LINKS_OF_A_DOMAIN: "its domain has too many addresses already",
    RefusalKind.DOMAINS: "the crawl has entered enough domains",
    RefusalKind.NESTED_SITEMAPS: "sitemaps lead too deep into each other",
    "robots.txt": "the site's robots.txt does not allow it",
    "private address": "its address is private",
    "port": "its port is not allowed",
}


def skip_sentence(reason: str) -> str:
    """Empty for a reason that another version of weft has."""
    return _SENTENCES.get(reason, _TRAP if reason.startswith("trap: ") else "")


_WAITS: Final[Mapping[str, str]] = {
    "its address": "for its address",
    "a free queue": "for a free queue",
    "robots.txt": "for its robots.txt",
    "an answer": "for an answer",
    "requests to its address": "for other requests to its server",
    "a spider": "for a free spider",
    "rate": "the usual pace",
    "learned rate": "the pace that its answers allow",
    "its address's rate": "the pace for its server",
    "site's delay": "the delay that was set for the site",
    "Crawl-delay": "its robots.txt asks for this pace",
    "Retry-After": "it asked us to wait",
    "back-off": "it failed lately",
}


def wait_words(why: str) -> str:
    """Continues "in 3 s: " where the time is known, and "waits " where it is not."""
    return _WAITS.get(why, why)


def rest_words(reason: str) -> str:
    """Why the control plane lets a host rest; empty if that is not known."""
    return wait_sentence(reason, span)
