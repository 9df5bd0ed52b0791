"""The settings of what is kept and asked: store, control plane, index, URL identity, web app.

A new key is one more entry in its section and one row in docs/settings.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.config import rules
from weft.config.allowed import DAY, GIB, KIB, MIB, TIB, Between, OneOf
from weft.config.keys import key
from weft.config.mask import hide_password

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
        "Engine of the data plane: RocksDB in the home, or a Cassandra cluster.",
        rules.STORE_URL,
        mask=hide_password,
    )
    cache_bytes: int = key(256 * MIB, "Memory for blocks read from disk, in each process.", Between(MIB, TIB), "bytes")
    write_buffer_bytes: int = key(
        64 * MIB, "Size at which changes in memory go to disk as a sorted file.", Between(MIB, 4 * GIB), "bytes"
    )
    wal_bytes: int = key(
        128 * MIB, "Upper bound of the write-ahead log, and so of recovery.", Between(MIB, 64 * GIB), "bytes"
    )
    max_value_bytes: int = key(
        64 * MIB, "Largest value of one cell; a batch with a larger one is refused.", Between(64 * KIB, GIB), "bytes"
    )
    background_jobs: int = key(2, "Threads that flush and compact.", Between(1, 64), "threads")


@dataclass(frozen=True, slots=True)
class MgmtSettings:
    reader: ClassVar[str] = "control plane"
    url: str = key(
        "sqlite:",
        "Where the control plane lives: SQLite in the home, or a PostgreSQL database.",
        rules.MGMT_URL,
        mask=hide_password,
    )
    chunk_size: int = key(
        100, "Links that a URL server takes as one chunk.", Between(1, 100_000), "links", reader="URL server"
    )
    chunk_linger: float = key(
        2.0,
        "Time after which the finished links of an unfinished chunk are handed on.",
        Between(0, 3600),
        "seconds",
        reader="URL server",
    )
    heartbeat: float = key(
        10.0, "Time between two signs of life of a node.", Between(0.1, 3600), "seconds", reader="every node"
    )
    lease: float = key(
        45.0,
        "Time without a sign of life after which a node's work is given to others.",
        Between(0.1, DAY),
        "seconds",
    )
    patience: float = key(
        300.0,
        "How long a lost connection to PostgreSQL is tried again before a command gives up.",
        Between(0, DAY),
        "seconds",
    )


@dataclass(frozen=True, slots=True)
class IndexSettings:
    reader: ClassVar[str] = "index process"
    count: str = key(
        "all",
        "Which references count: all, or only those from another domain; a change needs `weft rebuild`.",
        OneOf(("all", "external")),
    )
    history: bool = key(True, "Whether new and lost links are recorded.")
    keep_days: int = key(365, "How long new and lost links are kept.", Between(1, 36_500), "days")
    bulk_bytes: int = key(
        64 * MIB,
        "Input from which on an import into an empty index makes it at once, not page by page.",
        Between(0, TIB),
        "bytes",
        reader="import",
    )
    round_pages: int = key(
        1000, "Pages that are loaded as one batch: what readers see at once.", Between(1, 100_000), "pages"
    )


@dataclass(frozen=True, slots=True)
class UrlSettings:
    reader: ClassVar[str] = "URL identity"
    strip: tuple[str, ...] = key(
        (*_SESSION_PARAMETERS, *_TRACKING_PARAMETERS),
        "Session and tracking parameters removed from every URL, in any case; `*` at the end stands for any rest.",
        rules.PARAMETERS,
    )
    # A spider's line holds the URL and is cut off at 16 KiB.
    max_length: int = key(2048, "Length above which a URL is refused and counted.", Between(128, 16_000), "characters")


@dataclass(frozen=True, slots=True)
class WebSettings:
    reader: ClassVar[str] = "web app"
    listen: str = key("127.0.0.1:7080", "Address and port of the web app; port 0 takes any free one.", rules.LISTEN)
