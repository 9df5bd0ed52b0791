"""Every setting, by section.

To add one: an entry in its section here, and the row in docs/settings.md that the failing test prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.config import keys, text_forms
from weft.config.keys import DAY, GIB, KIB, MIB, TIB, Between, OneOf, TextTable, key
from weft.config.text import hide_all, hide_password

# Only names that mean a session or a campaign wherever they appear: `sid` or `ref` may select the content of a page.
_SESSION_PARAMETERS = ("jsessionid", "phpsessid", "aspsessionid*", "asp.net_sessionid", "cfid", "cftoken")
_TRACKING_PARAMETERS = (
    *("utm_*", "_ga", "_gl", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "srsltid", "fbclid", "igshid"),
    *("msclkid", "yclid", "ysclid", "_openstat", "twclid", "ttclid", "li_fat_id", "mc_cid", "mc_eid"),
    *("mkt_tok", "_hsenc", "_hsmi", "vero_id", "oly_anon_id", "oly_enc_id"),
)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    reader: ClassVar[str] = "store"
    url: str = key(
        "rocksdb:",
        "Where the index is stored: RocksDB in the home, or a Cassandra cluster.",
        text_forms.STORE_URL,
        mask=hide_password,
    )
    cache_bytes: int = key(
        128 * MIB, "Memory in each process for caching blocks read from disk.", Between(MIB, TIB), "bytes"
    )
    write_buffer_bytes: int = key(
        64 * MIB, "Changes in memory are written to disk once they take this much.", Between(MIB, 4 * GIB), "bytes"
    )
    wal_bytes: int = key(
        128 * MIB,
        "Maximum size of the write-ahead log. Recovery after a crash reads it all.",
        Between(MIB, 64 * GIB),
        "bytes",
    )
    max_value_bytes: int = key(
        64 * MIB,
        "Maximum size of one stored value. Batches with larger ones are refused.",
        Between(64 * KIB, GIB),
        "bytes",
    )
    background_jobs: int = key(2, "Number of threads that flush and compact files.", Between(1, 64), "threads")


@dataclass(frozen=True, slots=True)
class MgmtSettings:
    reader: ClassVar[str] = "control plane"
    url: str = key(
        "sqlite:",
        "Where the control plane is stored: SQLite in the home, or a PostgreSQL database.",
        text_forms.MGMT_URL,
        mask=hide_password,
    )
    chunk_size: int = key(
        100, "Links that a URL server claims at once, as one chunk.", Between(1, 100_000), "links", reader="URL server"
    )
    chunk_linger: float = key(
        0.5,
        "How often finished links of unfinished chunks are passed on.",
        Between(0, 3600),
        "seconds",
        reader="URL server",
    )
    heartbeat: float = key(
        10.0, "Time between two heartbeats of a node.", Between(0.1, 3600), "seconds", reader="every node"
    )
    lease: float = key(
        45.0, "Time without a heartbeat after which other nodes get a node's work.", Between(0.1, DAY), "seconds"
    )
    patience: float = key(
        300.0, "How long weft retries a lost PostgreSQL connection before it gives up.", Between(0, DAY), "seconds"
    )
    machine: str = key(
        "",
        'Name of this machine, as `weft nodes` shows it on all machines. "" means its host name.',
        text_forms.MACHINE,
        reader="every node",
    )
    show_dead: float = key(
        3600.0,
        "How long after its last heartbeat a node that is offline or dead is still listed.",
        Between(0, 365 * DAY),
        "seconds",
        reader="weft nodes",
    )


@dataclass(frozen=True, slots=True)
class IndexSettings:
    reader: ClassVar[str] = "index process"
    count: str = key(
        "all",
        "Which references count: all, or only those from another domain. Run `weft rebuild` after a change.",
        OneOf(("all", "external")),
    )
    history: bool = key(True, "Whether changes of links and pages are recorded.")
    keep_days: int = key(365, "How long new and lost links are kept.", Between(1, 36_500), "days")
    keep_bytes: int = key(
        0,
        "Size above which the oldest of them are dropped, before compression, except in Cassandra. 0 means no limit.",
        Between(0, 1024 * TIB),
        "bytes",
    )
    feed_days: int = key(
        7,
        "How long the search feed is kept. An index server that was away for longer builds its index anew.",
        Between(1, 36_500),
        "days",
    )
    bulk_bytes: int = key(
        64 * MIB,
        "An import of at least this size into an empty index builds it in one go, not round by round.",
        Between(0, TIB),
        "bytes",
        reader="import",
    )
    round_pages: int = key(
        1000, "Maximum pages loaded as one batch. Readers see a batch all at once.", Between(1, 100_000), "pages"
    )
    archive_patience: float = key(
        3600.0,
        "How long a page waits for its WARC record while the spider that has it cannot be reached. Then it is fetched "
        "again.",
        Between(0, 30 * 86_400),
        "seconds",
    )


@dataclass(frozen=True, slots=True)
class UrlSettings:
    reader: ClassVar[str] = "URL identity"
    strip: tuple[str, ...] = key(
        (*_SESSION_PARAMETERS, *_TRACKING_PARAMETERS),
        "Session and tracking parameters that are removed from every URL. Case does not matter, and `*` at the end "
        "matches any ending.",
        text_forms.PARAMETERS,
    )
    # A spider's line holds the URL and is cut off at 16 KiB.
    max_length: int = key(
        2048, "Maximum length of a URL. Longer ones are refused and counted.", Between(128, 16_000), "characters"
    )


@dataclass(frozen=True, slots=True)
class UrlserverSettings:
    reader: ClassVar[str] = "URL server"
    spider_host: str = key(
        "127.0.0.1", "Host of the spider, or of several spiders separated by commas.", text_forms.SPIDERS
    )
    spider_port: int = key(
        7070, "Port of every spider whose host has no port.", Between(1, 65_535), reader="URL server, spider"
    )
    queue_count: int = key(
        1000, "Number of queues, one for each host that is being crawled.", Between(1, 10_000_000), "hosts"
    )
    queue_len: int = key(100, "Maximum links in one host's queue.", Between(1, 1_000_000), "links")
    req_host_concurrent: int = key(1, "Maximum requests to one host at the same time.", Between(1, 1000), "requests")
    req_host_per_sec: float = key(
        1.0, "Maximum rate of requests to one host.", Between(0.0001, 100_000), "requests per second"
    )
    req_ip_concurrent: int = key(
        4, "Maximum requests to one IP address at the same time.", Between(1, 10_000), "requests"
    )
    req_ip_per_sec: float = key(
        8.0, "Maximum rate of requests to one IP address.", Between(0.0001, 100_000), "requests per second"
    )
    max_per_ip: int = key(
        1000, "No more links are claimed for an IP address with more queued than this.", Between(1, 10_000_000), "links"
    )
    leftover_len: int = key(
        100_000,
        "Maximum links kept for hosts without a queue. Further ones are given back.",
        Between(0, 100_000_000),
        "links",
    )
    timeout_spider_status: float = key(
        60.0,
        "A URL is sent again when its spider reports nothing about it for this long. Must be at least twice "
        "spider.working_every.",
        Between(0.1, DAY),
        "seconds",
    )
    crawl_delay_max: float = key(
        60.0, "Longest Crawl-delay that weft obeys. Hosts that ask for more are skipped.", Between(0, DAY), "seconds"
    )
    backoff_first: float = key(
        5.0, "Wait after a host's first failure. Every further failure in a row doubles it.", Between(0, DAY), "seconds"
    )
    backoff_max: float = key(3600.0, "Longest wait after a failure.", Between(0, DAY), "seconds")
    host_failures: int = key(
        8, "Failures in a row after which all waiting links of a host become errors.", Between(1, 1000), "failures"
    )
    slot_patience: float = key(
        30.0, "A host that must wait longer than this gives its queue to another host.", Between(0, DAY), "seconds"
    )
    spider_urls: int = key(2000, "Maximum URLs sent to one spider and not yet answered.", Between(1, 1_000_000), "URLs")
    spider_lag: float = key(
        0.1,
        "How late a spider may start a request. Where a host has several at a time, gaps are widened to allow for it.",
        Between(0, 60),
        "seconds",
    )
    drain: float = key(
        10.0, "How long a URL server that is stopping waits for answers from spiders.", Between(0, DAY), "seconds"
    )
    listen: str = key(
        "127.0.0.1:7069",
        "Address where this URL server answers questions about hosts. Needs a token unless it is a loopback address.",
        text_forms.LISTEN,
    )
    address: str = key(
        "",
        'Address and port where other nodes reach this URL server, and its name as a node. "" means where it listens.',
        text_forms.REACHED_BY,
    )
    static_hosts: TextTable = key(  # noqa: RUF009 - a TextTable cannot change
        TextTable(),
        "IP addresses of names that are not looked up in the DNS. `*.name` means all names below `name`.",
        text_forms.STATIC_HOSTS,
    )
    hosts_file: str = key(
        "/etc/hosts",
        'File with addresses of names, which are not looked up in the DNS then. "" means none.',
        text_forms.PATH_OR_NOTHING,
    )
    allow_net: tuple[str, ...] = key(
        (),
        "Private, loopback and other special networks that may be crawled nevertheless.",
        text_forms.NETWORKS,
        reader="URL server, spider",
    )
    allow_ports: tuple[int, ...] = key((), "Ports that may be crawled in addition to 80 and 443.", Between(1, 65_535))
    dns_servers: tuple[str, ...] = key(
        (), "DNS servers to ask. An empty list means those of /etc/resolv.conf.", text_forms.DNS_SERVERS
    )
    dns_timeout: float = key(10.0, "Maximum time for one DNS lookup.", Between(0.1, 600), "seconds")
    dns_concurrent: int = key(256, "Maximum DNS lookups at the same time.", Between(1, 10_000), "lookups")
    dns_cache_len: int = key(100_000, "Maximum host names whose addresses are cached.", Between(1, 10_000_000), "names")
    dns_ttl_min: float = key(60.0, "Shortest time an address is cached.", Between(0, DAY), "seconds")
    dns_ttl_max: float = key(
        6 * 3600.0, "Longest time an address is cached, but at least dns_ttl_min.", Between(0, 7 * DAY), "seconds"
    )
    dns_ttl_none: float = key(
        900.0, "Longest time a name without an address is cached, but at least dns_ttl_min.", Between(0, DAY), "seconds"
    )


@dataclass(frozen=True, slots=True)
class SpiderSettings:
    reader: ClassVar[str] = "spider"
    user_agent: str = key(
        "weft/{version} (+{contact})",
        "User-Agent header. The product name at its start is also the name that weft looks for in robots.txt.",
        text_forms.USER_AGENT,
        reader="spider, URL server",
    )
    contact: str = key("", "Web or mail address for site owners, sent in the User-Agent header.", text_forms.CONTACT)
    max_body: int = key(10 * MIB, "Maximum size of a response body after decoding.", Between(KIB, GIB), "bytes")
    working_every: float = key(
        15.0, "How often the spider reports WORKING for a fetch that is still running.", Between(0.01, 3600), "seconds"
    )
    listen: str = key(
        "127.0.0.1",
        "Address where the spider listens. Without a port it uses urlserver.spider_port; port 0 takes any free port.",
        text_forms.SPIDER_LISTEN,
    )
    address: str = key(
        "", 'Address and port where other nodes reach this spider. "" means where it listens.', text_forms.REACHED_BY
    )
    concurrent: int = key(2000, "Maximum fetches at the same time.", Between(1, 100_000), "fetches")
    unanswered: int = key(
        10_000,
        "Maximum URLs accepted and not yet answered. The spider then reads no more.",
        Between(1, 1_000_000),
        "URLs",
    )
    connections: int = key(
        2000, "Maximum connections to web servers kept open for the next fetch.", Between(0, 100_000), "connections"
    )
    sync_every: float = key(
        0.05, "Time between two syncs to disk. Results that arrive in between share a sync.", Between(0, 60), "seconds"
    )
    warc_dir: str = key(
        "warc", "Directory of the WARC files. It is in the home unless it begins with a slash.", text_forms.PATH
    )
    warc_bytes: int = key(GIB, "A WARC file of this size is closed and a new one started.", Between(MIB, TIB), "bytes")
    min_free: int = key(
        512 * MIB, "With less free disk space than this, no fetch is started.", Between(0, TIB), "bytes"
    )
    ca_file: str = key(
        "", 'File with the certificates to trust. "" means those of the system.', text_forms.PATH_OR_NOTHING
    )
    archive_credentials: bool = key(
        False, "Whether the passwords and headers set for sites are stored in the WARC files."
    )
    token: str = key(
        "",
        'Secret shared by URL server and spider. "" means one for each `weft crawl`, '
        "or loopback only for roles run by hand.",
        text_forms.TOKEN,
        mask=hide_all,
        reader="spider, URL server",
    )


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    reader: ClassVar[str] = "index process"
    keep_days: int = key(
        0,
        "How long captures are kept that the index does not need. 0 means for ever.",
        Between(0, 36_500),
        "days",
    )
    keep_captures: int = key(
        0, "How many captures of a page are kept, the newest. 0 means all.", Between(0, 1_000_000), "captures"
    )
    keep_bytes: int = key(
        0,
        "Size of the archive above which the oldest captures are dropped. 0 means no limit.",
        Between(0, 1024 * TIB),
        "bytes",
        reader="index process, spider",
    )
    prune_every: float = key(
        3600.0,
        "Shortest time between two looks at what may be dropped.",
        Between(1, 30 * DAY),
        "seconds",
    )

    @property
    def is_bounded(self) -> bool:
        return bool(self.keep_days or self.keep_captures or self.keep_bytes)


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Between nodes; what a spider fetches has settings of its own. One field has the name of the function `key`."""

    reader: ClassVar[str] = "spider, URL server"
    certificate: str = keys.key(
        "",
        'File with the certificate of this node and those between it and the CA, in PEM. "" means none.',
        text_forms.PATH_OR_NOTHING,
    )
    key: str = keys.key(
        "", 'File with the private key of tls.certificate, in PEM. "" means none.', text_forms.PATH_OR_NOTHING
    )
    ca: str = keys.key(
        "",
        'File with the certificates of the CA that signed the nodes\' certificates, in PEM. "" means that nodes talk '
        "in the clear.",
        text_forms.PATH_OR_NOTHING,
        reader="every node",
    )
    loopback: bool = keys.key(
        True,
        "Whether nodes use TLS at loopback addresses too. `weft crawl` and `weft up` set it to false for their own "
        "processes.",
        reader="every node",
    )


@dataclass(frozen=True, slots=True)
class DispatcherSettings:
    reader: ClassVar[str] = "dispatcher"
    refresh_percentage: int = key(
        25,
        "Share of a segment for pages that are due again. 0 means never crawl a page again.",
        Between(0, 100),
        "percent",
    )
    segment_size: int = key(
        500, "Number of links chosen at a time for one domain: its segment.", Between(1, 1_000_000), "links"
    )
    max_depth: int = key(
        16, "Maximum hops from an added URL. Links further away are not crawled.", Between(0, 1000), "hops"
    )
    refresh_first: float = key(
        86_400.0, "Time between the first and the second crawl of a page.", Between(0, 10 * 365 * DAY), "seconds"
    )
    refresh_min: float = key(
        3600.0,
        "Shortest time between two crawls of a page. 0 means as often as there is room, oldest first.",
        Between(0, 10 * 365 * DAY),
        "seconds",
    )
    refresh_max: float = key(
        30 * 86_400.0, "Longest time between two crawls of a page.", Between(0, 10 * 365 * DAY), "seconds"
    )
    retry_patience: float = key(
        120.0,
        "Longest wait that a server may ask for before a crawl ends without its pages. They are then left for a later "
        "crawl.",
        Between(0, DAY),
        "seconds",
        reader="dispatcher, crawl",
    )
    outstanding: int = key(
        50_000, "Maximum links waiting in the control plane. Then no more are chosen.", Between(1, 10_000_000), "links"
    )
    domain_links: int = key(
        10_000_000, "Maximum links kept for one domain. Further ones are dropped.", Between(1, 1_000_000_000), "links"
    )
    max_domains: int = key(
        1000,
        'Maximum domains that a crawl with scope "any" enters; one that never answers does not count.',
        Between(1, 100_000_000),
        "domains",
    )
    path_chars: int = key(
        1024, "Maximum length of path and query together. A longer URL is a trap.", Between(16, 2048), "characters"
    )
    path_segments: int = key(20, "Maximum parts in a path. A URL with more is a trap.", Between(1, 1000), "parts")
    repeated_segments: int = key(
        3,
        "How often the same part may occur in a path, or the same parameter and value in a query. A URL with more is "
        "a trap.",
        Between(1, 100),
        "times",
    )
    parameters: int = key(
        12, "Maximum parameters in a query. A URL with more is a trap.", Between(0, 1000), "parameters"
    )
    repeated_runs: int = key(
        2,
        "How often a run of path parts may repeat, as in /a/b/a/b. A URL with more is a trap.",
        Between(1, 100),
        "times",
    )
    growing_parameters: int = key(
        6,
        "Maximum parameters in a query that repeats and extends the query of the page it is on. A URL with "
        "more is a trap.",
        Between(1, 1000),
        "parameters",
    )
    encoded_times: int = key(
        3, "How often a URL inside a URL may be percent-encoded. A URL with more is a trap.", Between(2, 100), "times"
    )
    calendar_ahead: int = key(2, "How far into the future a calendar is followed.", Between(0, 8000), "years")
    calendar_back: int = key(30, "How far into the past a calendar is followed.", Between(0, 8000), "years")
    session_hops: int = key(
        3, "After this many hops, a link that changes the session id in the path is a trap.", Between(0, 1000), "hops"
    )
    redirect_hops: int = key(
        10, "How many redirects in a row are followed; a redirect is no step away from a seed.", Between(0, 100), "hops"
    )
    sitemap_nesting: int = key(
        2, "How many sitemap indexes, one inside another, are followed.", Between(0, 100), "indexes"
    )
    host_links: int = key(
        1_000_000, "Maximum links kept for one host. Further ones are dropped.", Between(1, 1_000_000_000), "links"
    )
    domain_hosts: int = key(
        10_000, "Maximum hosts of one domain. Links of further ones are dropped.", Between(1, 100_000_000), "hosts"
    )
    learn_parameters: bool = key(
        True, "Whether weft learns which query parameters do not matter, and skips links that differ only in those."
    )
    rule_values: int = key(
        3,
        "Number of values of a parameter, its absence included, that must give the same text before weft ignores all "
        "its values.",
        Between(2, 100),
        "values",
    )
    rule_paths: int = key(
        6,
        "Paths of a host on which a parameter must not matter before weft ignores it on all.",
        Between(1, 32),
        "paths",
    )
    rule_variants: int = key(
        6,
        "New links of a host with the same parameter names that may be under way while few of them have come back. "
        "0 means no limit.",
        Between(0, 1_000_000),
        "links",
    )
    rule_sample: float = key(
        1.0, "Share of the skipped links fetched anyway, to check the learned rules.", Between(0, 100), "percent"
    )


@dataclass(frozen=True, slots=True)
class IndexserverSettings:
    reader: ClassVar[str] = "index server"
    listen: str = key(
        "127.0.0.1:7071",
        "Address where this index server answers searches. Needs a token unless it is a loopback address.",
        text_forms.LISTEN,
    )
    address: str = key(
        "",
        'Host and port at which other machines reach this index server. "" means indexserver.listen.',
        text_forms.REACHED_BY,
    )
    shards: int = key(
        1,
        "Number of parts into which the search index is divided by uri. Another number builds it anew.",
        Between(1, 256),
        "shards",
        reader="index server, search",
    )
    commit_every: float = key(
        1.0, "Shortest time between two commits: pages are found after the next one.", Between(0.05, 3600), "seconds"
    )
    anchors_every: float = key(
        600.0,
        "How often at most a page is written anew because other pages link to it. When nothing happens, all are "
        "written at once.",
        Between(0, DAY),
        "seconds",
    )
    memory: int = key(
        64 * MIB,
        "Memory for documents that are not written yet, in each shard.",
        Between(16 * MIB, 4 * GIB),
        "bytes",
    )


@dataclass(frozen=True, slots=True)
class LimitsSettings:
    reader: ClassVar[str] = "index process"
    header_bytes: int = key(
        64 * KIB, "Maximum size of a response's headers.", Between(KIB, 16 * MIB), "bytes", reader="spider"
    )
    total_seconds: float = key(60.0, "Maximum time for one fetch.", Between(0.1, DAY), "seconds", reader="spider")
    idle_seconds: float = key(
        20.0, "Maximum wait for the next byte of a response.", Between(0.1, DAY), "seconds", reader="spider"
    )
    connect_seconds: float = key(
        10.0, "Maximum time to connect, TLS handshake included.", Between(0.1, DAY), "seconds", reader="spider"
    )
    body_ratio: int = key(
        200,
        "A body that decodes to more than 1 MiB and more than this many times its received size is refused.",
        Between(2, 1_000_000),
        "bytes per byte",
        reader="spider, index process",
    )
    page_targets: int = key(
        50_000,
        "Maximum pages that one page links to. Further links are left out.",
        Between(0, 1_000_000),
        "pages",
    )
    # What a reference costs in the index: cells that hold its target, its words, and the page that makes it.
    page_link_bytes: int = key(
        4 * MIB,
        "Maximum size of a page's links: for each target the URL, anchor text and rel, and the page's own uri. "
        "Further links are left out.",
        Between(0, 64 * MIB),
        "bytes",
    )
    anchor_chars: int = key(256, "Longer anchor texts are cut at this length.", Between(0, 65_536), "characters")
    title_chars: int = key(512, "Longer titles are cut at this length.", Between(0, 65_536), "characters")
    # Four bytes a character: the largest text is half of what a stored doc may unpack to.
    text_chars: int = key(MIB, "Longer page texts are cut at this length.", Between(0, 8 * MIB), "characters")
    line_bytes: int = key(
        16 * MIB,
        "Maximum size of a line or record in an imported file. Larger ones are skipped.",
        Between(KIB, GIB),
        "bytes",
        reader="import",
    )
    parse_seconds: float = key(5.0, "Maximum processor time to parse one page.", Between(0.1, 3600), "seconds")
    parse_bytes: int = key(
        GIB, "Maximum memory for parsing, in each process that parses.", Between(16 * MIB, TIB), "bytes"
    )
    # The sitemap protocol's 50 MB is 52,428,800 bytes.
    sitemap_bytes: int = key(50 * MIB, "Maximum size of a decoded sitemap.", Between(KIB, GIB), "bytes")
    sitemap_entries: int = key(50_000, "Maximum entries read from one sitemap.", Between(1, 10_000_000), "entries")
    sitemap_url_bytes: int = key(
        8 * MIB,
        "Maximum size of all URLs read from one sitemap or feed. Further ones are left out.",
        Between(KIB, GIB),
        "bytes",
    )
    # RFC 9309 wants at least 500 KiB to be read.
    robots_bytes: int = key(
        500 * KIB,
        "How much of a robots.txt is read, from its beginning.",
        Between(500 * KIB, 64 * MIB),
        "bytes",
        reader="spider, URL server",
    )


@dataclass(frozen=True, slots=True)
class WebSettings:
    reader: ClassVar[str] = "web app"
    serve: bool = key(True, "Whether `weft crawl` and `weft up` serve the web app.", reader="crawl, up")
    listen: str = key(
        "127.0.0.1:8765", "Address and port of the web app. Port 0 takes any free port.", text_forms.LISTEN
    )
    hosts: tuple[str, ...] = key(
        (),
        "Names under which browsers reach the web app, besides its address and loopback names.",
        text_forms.WEB_HOSTS,
    )
    origins: tuple[str, ...] = key((), "Origins whose pages may read the API (CORS).", text_forms.ORIGINS)
    public: bool = key(False, "Whether reading needs no login where the web app listens on more than loopback.")
    rate: float = key(
        50.0,
        "API requests a second that one client may make, on average.",
        Between(0.1, 1_000_000),
        "requests per second",
    )
    streams: int = key(64, "Live event streams at the same time.", Between(0, 100_000), "streams")
    session_hours: float = key(12.0, "How long a browser stays logged in after a login.", Between(0.1, 8760), "hours")
