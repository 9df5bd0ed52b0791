"""The settings of crawling: URL server, spider, dispatcher, and the limits on what is fetched.

A new key is one more entry in its section and one row in docs/settings.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.config import rules
from weft.config.allowed import DAY, GIB, KIB, MIB, Between
from weft.config.keys import key
from weft.config.mask import hide_all
from weft.config.text_table import TextTable


@dataclass(frozen=True, slots=True)
class UrlserverSettings:
    reader: ClassVar[str] = "URL server"
    spider_host: str = key("127.0.0.1", "Host of the spider; several are separated by commas.", rules.SPIDERS)
    spider_port: int = key(
        7070, "Port of every spider that names none of its own.", Between(1, 65_535), reader="URL server, spider"
    )
    queue_count: int = key(1000, "Hosts that can be crawled at a time.", Between(1, 10_000_000), "hosts")
    queue_len: int = key(100, "Links that wait for one host.", Between(1, 1_000_000), "links")
    req_host_concurrent: int = key(1, "Requests to one host at the same time.", Between(1, 1000), "requests")
    req_host_per_sec: float = key(
        1.0, "Requests to one host in a second.", Between(0.0001, 100_000), "requests per second"
    )
    req_ip_concurrent: int = key(4, "Requests to one IP address at the same time.", Between(1, 10_000), "requests")
    req_ip_per_sec: float = key(
        8.0, "Requests to one IP address in a second.", Between(0.0001, 100_000), "requests per second"
    )
    max_per_ip: int = key(
        1000, "Queued links of one IP address above which none are requested.", Between(1, 10_000_000), "links"
    )
    leftover_len: int = key(
        100_000, "Links kept for hosts without a queue; more are given back.", Between(0, 100_000_000), "links"
    )
    timeout_spider_status: float = key(
        60.0,
        "Silence of a spider after which a URL is sent again; at least twice spider.working_every.",
        Between(0.1, DAY),
        "seconds",
    )
    crawl_delay_max: float = key(
        60.0, "Longest Crawl-delay that is waited for; hosts that ask for more are skipped.", Between(0, DAY), "seconds"
    )
    static_hosts: TextTable = key(  # noqa: RUF009 - a TextTable cannot change
        TextTable(), "Addresses of host names that are not looked up in the DNS.", rules.STATIC_HOSTS
    )
    allow_net: tuple[str, ...] = key(
        (), "Private, loopback and other special networks that may be crawled all the same.", rules.NETWORKS
    )
    allow_ports: tuple[int, ...] = key((80, 443), "Ports that may be crawled.", Between(1, 65_535))


@dataclass(frozen=True, slots=True)
class SpiderSettings:
    reader: ClassVar[str] = "spider"
    user_agent: str = key(
        "weft/{version} (+{contact})",
        "User-Agent header; the name in front is also the one that robots.txt is searched for.",
        rules.USER_AGENT,
        reader="spider, URL server",
    )
    contact: str = key("", "Web or mail address for site owners, sent in the User-Agent header.", rules.CONTACT)
    max_body: int = key(10 * MIB, "Largest body after decoding.", Between(KIB, GIB), "bytes")
    working_every: float = key(
        15.0, "Time between two WORKING lines for a fetch that goes on.", Between(0.01, 3600), "seconds"
    )
    token: str = key(
        "",
        "Secret that URL server and spider share; without one a spider listens on loopback only.",
        rules.TOKEN,
        mask=hide_all,
        reader="spider, URL server",
    )


@dataclass(frozen=True, slots=True)
class DispatcherSettings:
    reader: ClassVar[str] = "dispatcher"
    refresh_percentage: int = key(
        25, "Share of a segment that is crawled again; 0 never crawls a page again.", Between(0, 100), "percent"
    )
    segment_size: int = key(500, "Links chosen for a domain's next crawl.", Between(1, 1_000_000), "links")
    max_depth: int = key(
        16, "Hops from the URLs that were added; further links are not crawled.", Between(0, 1000), "hops"
    )


@dataclass(frozen=True, slots=True)
class LimitsSettings:
    reader: ClassVar[str] = "index process"
    header_bytes: int = key(
        64 * KIB, "Largest header block of a response.", Between(KIB, 16 * MIB), "bytes", reader="spider"
    )
    total_seconds: float = key(60.0, "Longest duration of one fetch.", Between(0.1, DAY), "seconds", reader="spider")
    idle_seconds: float = key(
        20.0, "Longest wait for the next byte of a fetch.", Between(0.1, DAY), "seconds", reader="spider"
    )
    links_per_page: int = key(
        10_000, "Links that a page may have; an import refuses one with more.", Between(0, 1_000_000), "links"
    )
    anchor_chars: int = key(256, "Length at which an anchor text is cut.", Between(0, 65_536), "characters")
    title_chars: int = key(512, "Length at which a title is cut.", Between(0, 65_536), "characters")
    # Four bytes a character: the largest text is half of what a stored doc may unpack to.
    text_chars: int = key(MIB, "Length at which the text of a page is cut.", Between(0, 8 * MIB), "characters")
    line_bytes: int = key(
        16 * MIB,
        "Longest line of an imported file; longer ones are skipped.",
        Between(KIB, GIB),
        "bytes",
        reader="import",
    )
    parse_seconds: float = key(5.0, "Longest duration of parsing one page.", Between(0.1, 3600), "seconds")
    # The sitemap protocol's 50 MB is 52,428,800 bytes.
    sitemap_bytes: int = key(50 * MIB, "Largest sitemap, decoded.", Between(KIB, GIB), "bytes")
    sitemap_entries: int = key(50_000, "Entries taken from one sitemap.", Between(1, 10_000_000), "entries")
    # RFC 9309 wants at least 500 KiB to be read.
    robots_bytes: int = key(
        500 * KIB, "Part of a robots.txt that is read.", Between(500 * KIB, 64 * MIB), "bytes", reader="URL server"
    )
