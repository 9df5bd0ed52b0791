"""The metrics of a home: what its control plane, its disk and its index tell. **A new one is declared here.**"""

from __future__ import annotations

from typing import Final

from weft.metrics.samples import Kind, Metric
from weft.model.fetch_error import FetchError


def _gauge(name: str, meaning: str, *labels: str, known: tuple[str, ...] = ()) -> Metric:
    return Metric(f"weft_{name}", Kind.GAUGE, labels, meaning, known)


BUILD: Final = _gauge("build_info", "The version of weft that answers; the value is 1.", "version")
MGMT_UP: Final = _gauge("mgmt_up", "Whether the control plane answers (1).")
STORE_UP: Final = _gauge("store_up", "Whether the index can be read here (1).")

LINKS: Final = _gauge("links", "Links that the control plane knows, by state.", "state")
LINK_ERRORS: Final = _gauge("links_in_error", "Links in state error, by error class.", "class", known=tuple(FetchError))
LINK_STATUSES: Final = _gauge(
    "links_answered_with_error", "Links whose last answer was 400 or above.", "code", known=("404", "500")
)
LINKS_RESTING: Final = _gauge("links_resting", "Pending links of hosts that may not be asked for the next 2 s or more.")
CHUNKS: Final = _gauge("chunks", "Chunks, by what is done with them.", "task")

NODES_UP: Final = _gauge("nodes_up", "Nodes that run, by role; 0 for a role of which none does.", "role")
NODE_UP: Final = _gauge("node_up", "Whether the node runs (1), by its heartbeats.", "role", "node", "machine")
NODE_INFO: Final = _gauge(
    *("node_info", "What the node is; the value is 1."),
    *("role", "node", "machine", "version", "state", "health"),
)
NODE_HEARTBEAT: Final = _gauge(
    "node_heartbeat_age_seconds", "Time since the last heartbeat of the node.", "role", "node"
)
NODE_SKEW: Final = _gauge(
    "node_clock_skew_seconds", "How far the node's clock is ahead of the control plane's.", "role", "node"
)
NODE_WORK: Final = _gauge("node_work", "Links or chunks in the hands of the node.", "role", "node")
OLDEST_LEASE: Final = _gauge(
    "oldest_heartbeat_age_seconds", "Time since the least recent heartbeat of a node that holds work; 0: none does."
)
CLOCK_JUMP: Final = _gauge("clock_jump_seconds", "By how much the clock went back lately; 0: it did not.")
WARNINGS: Final = _gauge("warnings", "Warnings of `weft status`.")

SHARDS_MISSING: Final = _gauge("shards_missing", "Shards that no running index server of the row answers for.", "row")

DISK_FREE: Final = _gauge("disk_free_bytes", "Room on the disk of the home's archive.")
DISK_LEAST: Final = _gauge("disk_min_free_bytes", "Below so much room nothing is fetched: spider.min_free.")
HOME_BYTES: Final = _gauge("home_bytes", "Size of what is in the home, by part.", "part")
HOME_GROWTH: Final = _gauge(
    "home_growth_bytes_per_day", "How fast that grows, by the last days, without what was dropped on purpose.", "part"
)
HOME_LIMIT: Final = _gauge(
    "home_limit_bytes", "Size at which the oldest of it is dropped, of parts with a limit.", "part"
)
COPY_TIME: Final = _gauge(
    "mgmt_copy_time_seconds", "When the newest copy of a SQLite control plane was made, as a Unix time; 0: never."
)
DAMAGED: Final = _gauge("mgmt_damaged", "Whether damage was found in a SQLite control plane (1).")

SEQ: Final = _gauge("answers_seq", "Number of the last change that answers here see.")
PAGES: Final = _gauge("pages_known", "Pages that are loaded, or that loaded pages link to.")
DOMAINS: Final = _gauge("domains_known", "Domains of those pages.")
REFERENCES: Final = _gauge("references_known", "References between pages.")

HOME_METRICS: Final = (
    *(BUILD, MGMT_UP, STORE_UP, LINKS, LINK_ERRORS, LINK_STATUSES, LINKS_RESTING, CHUNKS),
    *(NODES_UP, NODE_UP, NODE_INFO, NODE_HEARTBEAT, NODE_SKEW, NODE_WORK, OLDEST_LEASE, CLOCK_JUMP, WARNINGS),
    *(
        SHARDS_MISSING,
        DISK_FREE,
        DISK_LEAST,
        HOME_BYTES,
        HOME_GROWTH,
        HOME_LIMIT,
        COPY_TIME,
        DAMAGED,
        SEQ,
        PAGES,
        DOMAINS,
        REFERENCES,
    ),
)
