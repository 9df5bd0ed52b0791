"""The settings of crawling: URL server, spider, dispatcher, and the limits on what is fetched.

A new key is one more entry in its section and one row in docs/settings.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.config import rules
from weft.config.allowed import DAY, GIB, KIB, MIB, TIB, Between
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
    backoff_first: float = key(
        5.0, "Wait after a host's first failure; doubled by every further one in a row.", Between(0, DAY), "seconds"
    )
    backoff_max: float = key(3600.0, "Longest wait after a failure.", Between(0, DAY), "seconds")
    host_failures: int = key(
        8, "Failures in a row after which a host's waiting links are given up as errors.", Between(1, 1000), "failures"
    )
    slot_patience: float = key(
        30.0, "A host that must wait longer than this gives its queue to another one.", Between(0, DAY), "seconds"
    )
    spider_urls: int = key(2000, "URLs that one spider has in hand at the same time.", Between(1, 1_000_000), "URLs")
    spider_lag: float = key(
        0.1,
        "How much later than asked a spider may begin a request; allowed for wherever starts are counted.",
        Between(0, 60),
        "seconds",
    )
    drain: float = key(10.0, "Longest wait for answers when it is told to stop.", Between(0, DAY), "seconds")
    listen: str = key(
        "127.0.0.1:7069",
        "Name of this URL server among nodes, and where it is asked about hosts; beyond loopback only with a token.",
        rules.LISTEN,
    )
    static_hosts: TextTable = key(  # noqa: RUF009 - a TextTable cannot change
        TextTable(),
        "Addresses of host names that are not looked up in the DNS; `*.` in front stands for all names below.",
        rules.STATIC_HOSTS,
    )
    allow_net: tuple[str, ...] = key(
        (),
        "Private, loopback and other special networks that may be crawled all the same.",
        rules.NETWORKS,
        reader="URL server, spider",
    )
    allow_ports: tuple[int, ...] = key((), "Ports that may be crawled beside 80 and 443.", Between(1, 65_535))
    dns_servers: tuple[str, ...] = key(
        (), "Servers that host names are looked up at; none: those of /etc/resolv.conf.", rules.DNS_SERVERS
    )
    dns_timeout: float = key(10.0, "Longest duration of one look-up.", Between(0.1, 600), "seconds")
    dns_concurrent: int = key(256, "Look-ups at the same time.", Between(1, 10_000), "look-ups")
    dns_cache_len: int = key(100_000, "Names whose addresses are remembered.", Between(1, 10_000_000), "names")
    dns_ttl_min: float = key(60.0, "Shortest time for which an address is kept.", Between(0, DAY), "seconds")
    dns_ttl_max: float = key(
        6 * 3600.0, "Longest time for which an address is kept; not below dns_ttl_min.", Between(0, 7 * DAY), "seconds"
    )
    dns_ttl_none: float = key(
        900.0,
        "Longest time for which a name without an address is not looked up again; not below dns_ttl_min.",
        Between(0, DAY),
        "seconds",
    )


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
    listen: str = key(
        "127.0.0.1",
        "Where the spider listens; without a port of its own at urlserver.spider_port; port 0 takes any free one.",
        rules.SPIDER_LISTEN,
    )
    address: str = key(
        "", "Address and port that other nodes reach it by; nothing: those it listens on.", rules.REACHED_BY
    )
    concurrent: int = key(2000, "Fetches at the same time.", Between(1, 100_000), "fetches")
    unanswered: int = key(
        10_000, "URLs taken and not yet answered, beyond which no more are read.", Between(1, 1_000_000), "URLs"
    )
    connections: int = key(
        2000, "Connections to web servers that are kept open for the next fetch.", Between(0, 100_000), "connections"
    )
    sync_every: float = key(
        0.05, "Shortest time between two groups of results made durable.", Between(0, 60), "seconds"
    )
    warc_dir: str = key("warc", "Directory of the WARC files, in the home unless it begins with a slash.", rules.PATH)
    warc_bytes: int = key(GIB, "Size at which a WARC file is finished.", Between(MIB, TIB), "bytes")
    min_free: int = key(512 * MIB, "Free disk space below which no fetch is begun.", Between(0, TIB), "bytes")
    ca_file: str = key("", "Certificates that are trusted; nothing: the system's.", rules.PATH_OR_NOTHING)
    archive_credentials: bool = key(False, "Whether passwords and headers of sites go into the WARC files too.")
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
    refresh_first: float = key(
        86_400.0, "Time until a page is crawled for the second time.", Between(0, 10 * 365 * DAY), "seconds"
    )
    refresh_min: float = key(
        3600.0,
        "Shortest time between two crawls of a page; 0: as often as there is room, the oldest first.",
        Between(0, 10 * 365 * DAY),
        "seconds",
    )
    refresh_max: float = key(
        30 * 86_400.0, "Longest time between two crawls of a page.", Between(0, 10 * 365 * DAY), "seconds"
    )
    outstanding: int = key(
        50_000,
        "Links that wait in the control plane, beyond which no more are chosen.",
        Between(1, 10_000_000),
        "links",
    )
    domain_links: int = key(
        10_000_000, "Links of one domain that are kept; further ones are not.", Between(1, 1_000_000_000), "links"
    )
    max_domains: int = key(1000, "Domains that a crawl of any scope may enter.", Between(1, 100_000_000), "domains")
    path_chars: int = key(1024, "Longest path and query that is crawled.", Between(16, 2048), "characters")
    path_segments: int = key(20, "Parts of a path, beyond which it is taken for a trap.", Between(1, 1000), "parts")
    repeated_segments: int = key(
        3, "Times that one part may stand in a path, beyond which it is taken for a trap.", Between(1, 100), "times"
    )
    parameters: int = key(
        12, "Parameters of a query, beyond which it is taken for a trap.", Between(0, 1000), "parameters"
    )
    repeated_runs: int = key(
        2,
        "Times that several parts of a path may follow themselves, beyond which it is taken for a trap.",
        Between(1, 100),
        "times",
    )
    growing_parameters: int = key(
        6,
        "Parameters of a query that extends the one of the page it is on, beyond which it is taken for a trap.",
        Between(1, 1000),
        "parameters",
    )
    encoded_times: int = key(
        3,
        "Times that a URL within a URL may be percent-encoded, beyond which it is taken for a trap.",
        Between(2, 100),
        "times",
    )
    calendar_ahead: int = key(2, "How far a calendar is followed into the future.", Between(0, 8000), "years")
    calendar_back: int = key(30, "How far a calendar is followed into the past.", Between(0, 8000), "years")
    session_hops: int = key(
        3, "Hops beyond which a session id in the path must stay the same.", Between(0, 1000), "hops"
    )
    sitemap_nesting: int = key(
        2, "Indexes of sitemaps, one within another, that are followed.", Between(0, 100), "indexes"
    )
    host_links: int = key(
        1_000_000, "Links of one host that are kept; further ones are not.", Between(1, 1_000_000_000), "links"
    )
    domain_hosts: int = key(
        10_000,
        "Hosts of one domain that are known; links of further ones are not kept.",
        Between(1, 100_000_000),
        "hosts",
    )
    learn_parameters: bool = key(
        True, "Whether links that differ from others in parameters that do not matter are left out."
    )
    rule_values: int = key(
        3,
        "Values of a parameter, absence included, that give one text before any value is left out.",
        Between(2, 100),
        "values",
    )
    rule_paths: int = key(
        6,
        "Paths of a host on which a parameter does not matter before it is left out on all.",
        Between(1, 32),
        "paths",
    )
    rule_variants: int = key(
        6,
        "New links of a host with parameters of the same names that may be under way while few of them came back; "
        "0 means any number.",
        Between(0, 1_000_000),
        "links",
    )
    rule_sample: float = key(
        1.0,
        "Share of the links left out that are fetched all the same, to see whether the rules still hold.",
        Between(0, 100),
        "percent",
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
    connect_seconds: float = key(
        10.0, "Longest wait for a connection, its encryption included.", Between(0.1, DAY), "seconds", reader="spider"
    )
    body_ratio: int = key(
        200,
        "Bytes that one byte received may become by decoding, above 1 MiB.",
        Between(2, 1_000_000),
        "bytes per byte",
        reader="spider, index process",
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
        "Longest line or record of an imported file; longer ones are skipped.",
        Between(KIB, GIB),
        "bytes",
        reader="import",
    )
    parse_seconds: float = key(
        5.0, "Longest duration of parsing one page, in processor time.", Between(0.1, 3600), "seconds"
    )
    parse_bytes: int = key(
        GIB, "Memory that parsing may take, in each process that does it.", Between(16 * MIB, TIB), "bytes"
    )
    # The sitemap protocol's 50 MB is 52,428,800 bytes.
    sitemap_bytes: int = key(50 * MIB, "Largest sitemap, decoded.", Between(KIB, GIB), "bytes")
    sitemap_entries: int = key(50_000, "Entries taken from one sitemap.", Between(1, 10_000_000), "entries")
    # RFC 9309 wants at least 500 KiB to be read.
    robots_bytes: int = key(
        500 * KIB,
        "Part of a robots.txt that is read.",
        Between(500 * KIB, 64 * MIB),
        "bytes",
        reader="spider, URL server",
    )
