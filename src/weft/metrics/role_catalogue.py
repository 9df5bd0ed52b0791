"""The metrics of a role: which figure of its heartbeat each one is. **A new metric of a role is a line here.**"""

from __future__ import annotations

from typing import Final, NamedTuple

from weft.metrics.samples import Kind, Metric
from weft.mgmt.values import NodeType
from weft.model.fetch_error import FetchError
from weft.model.refusal import RefusalKind

_GAUGE, _COUNTER, _HISTOGRAM = Kind.GAUGE, Kind.COUNTER, Kind.HISTOGRAM


class Told(NamedTuple):
    """A metric that a node tells with its heartbeats."""

    metric: Metric
    """Its labels are those of the node, and perhaps one for the keys of a table."""
    figure: str
    """Where it stands among the figures, as `process.cpu`; role_metrics tells how it is read."""
    scale: float = 1.0
    """From the unit of the figure to that of the metric."""


def _of_all(name: str, kind: Kind, figure: str, meaning: str, label: str = "") -> Told:
    labels = ("role", "node", label) if label else ("role", "node")
    return Told(Metric(f"weft_{name}", kind, labels, meaning), figure)


def _own(
    name: str,
    kind: Kind,
    figure: str,
    meaning: str,
    label: str = "",
    scale: float = 1.0,
    known: tuple[str, ...] = (),
) -> Told:
    labels = ("node", label) if label else ("node",)
    return Told(Metric(f"weft_{name}", kind, labels, meaning, known), figure, scale)


EVERY_ROLE: Final = (
    _of_all(
        "process_resident_memory_bytes", _GAUGE, "process.memory", "Memory of the process and its workers, in bytes."
    ),
    _of_all(
        "process_cpu_seconds_total", _COUNTER, "process.cpu", "CPU time that the process and its workers have used."
    ),
    _of_all("process_start_time_seconds", _GAUGE, "process.started", "When the process started, as a Unix time."),
    _of_all("process_open_files", _GAUGE, "process.files", "Files and connections that the process has open."),
    _of_all("process_max_open_files", _GAUGE, "process.files_most", "Files and connections that it may open at most."),
    _of_all(
        "control_calls_total", _COUNTER, "control.calls", "Calls of the control plane that the process made.", "call"
    ),
    _of_all(
        "control_call_seconds_total",
        _COUNTER,
        "control.seconds",
        "Time that the process waited for these calls, also while the control plane was away.",
        "call",
    ),
)

URL_SERVER: Final = (
    _own("urlserver_links_claimed_total", _COUNTER, "claimed", "Links that the control plane gave to the URL server."),
    _own("urlserver_urls_sent_total", _COUNTER, "sent", "URLs sent to spiders, with robots.txt and repeated ones."),
    _own(
        "urlserver_urls_returned_total",
        _COUNTER,
        "returned",
        "URLs that a spider has no longer: done, silent (no reply in time), or the connection was lost.",
        "reason",
        known=("done", "silent", "lost"),
    ),
    _own(
        "urlserver_links_refused_total",
        _COUNTER,
        "refused",
        "Links that were given up without a fetch, by error class: robots, dns, private_address and others.",
        "class",
        known=tuple(FetchError),
    ),
    _own("urlserver_queues", _GAUGE, "queues", "Queues that there may be: urlserver.queue_count."),
    _own("urlserver_hosts_queued", _GAUGE, "hosts", "Hosts that have a queue."),
    _own("urlserver_hosts_known", _GAUGE, "known_hosts", "Hosts that the URL server remembers."),
    _own("urlserver_urls_queued", _GAUGE, "queued", "URLs that wait to be sent."),
    _own("urlserver_urls_left_over", _GAUGE, "leftovers", "Of those, URLs that do not fit into a queue."),
    _own("urlserver_urls_arriving", _GAUGE, "arriving", "Of those, URLs of hosts whose address is being looked up."),
    _own("urlserver_urls_in_flight", _GAUGE, "in_flight", "URLs that spiders have now."),
    _own(
        "urlserver_hosts_waiting",
        _GAUGE,
        "waiting",
        "Hosts that have a queue, by what they wait for; an estimate above 2,000 queues.",
        "waits_for",
        known=("robots.txt", "its address", "an answer", "its turn"),
    ),
    _own("urlserver_hosts_backing_off", _GAUGE, "backing_off", "Hosts that failed, or asked to be left alone."),
    _own(
        "urlserver_politeness_waits_total",
        _COUNTER,
        "waits",
        "How often a host was given a rest or a slower rate, by what decided that.",
        "kind",
    ),
    _own("urlserver_spiders_away", _GAUGE, "spiders_away", "Spiders that the URL server cannot reach."),
)

SPIDER: Final = (
    _own("spider_fetches_total", _COUNTER, "fetches", "Fetches that ended, with those of robots.txt."),
    _own(
        "spider_responses_total",
        _COUNTER,
        "statuses",
        "Responses, by HTTP status.",
        "code",
        known=("200", "404", "500"),
    ),
    _own(
        "spider_errors_total",
        _COUNTER,
        "errors",
        "Fetches that went wrong, by error class.",
        "class",
        known=tuple(FetchError),
    ),
    _own("spider_received_bytes_total", _COUNTER, "received", "Bytes of responses, as they were sent."),
    _own("spider_archived_bytes_total", _COUNTER, "archived", "Bytes of WARC records that are safe on disk."),
    _own("spider_fetch_seconds", _HISTOGRAM, "fetch_seconds", "How long a fetch took."),
    _own("spider_fetches_running", _GAUGE, "fetching", "Fetches under way."),
    _own("spider_urls_waiting", _GAUGE, "waiting", "URLs that the spider has and has not begun."),
    _own("spider_results_unrecorded", _GAUGE, "recording", "Fetches that are not archived and reported yet."),
    _own("spider_gate_closed", _GAUGE, "gates", "Whether this is a reason for fetching nothing now (1).", "reason"),
    _own("spider_disk_free_bytes", _GAUGE, "free", "Room on the disk of the spider's archive."),
    _own("spider_disk_min_free_bytes", _GAUGE, "min_free", "Below so much room it fetches nothing: spider.min_free."),
)

INDEX: Final = (
    _own("index_results_total", _COUNTER, "results", "Fetch results that were loaded, whatever they say."),
    _own("index_pages_total", _COUNTER, "pages", "Pages that were loaded."),
    _own("index_link_changes_total", _COUNTER, "links", "References between pages that came, went or changed."),
    _own("index_links_found_total", _COUNTER, "discovered", "Links that became known."),
    _own(
        "index_links_refused_total",
        _COUNTER,
        "refused",
        "Links that were found and not taken, by kind.",
        "kind",
        known=tuple(RefusalKind),
    ),
    _own("index_links_given_total", _COUNTER, "given", "Links that the dispatcher gave out to be fetched."),
    _own("index_chunks_total", _COUNTER, "chunks", "Chunks that were loaded as a whole."),
    _own("index_rounds_total", _COUNTER, "rounds", "Rounds that were written: batches of changes."),
    _own("index_round_seconds_total", _COUNTER, "loading", "Time that rounds took, with reading their pages."),
    _own(
        "index_freshness_seconds",
        _HISTOGRAM,
        "fresh",
        "From the end of a fetch until the page is in the answers.",
    ),
    _own("index_links_outstanding", _GAUGE, "outstanding", "Links that were given out and have no result yet."),
    _own("index_links_retrying", _GAUGE, "retrying", "Links that wait to be fetched again within this crawl."),
    _own("index_idle", _GAUGE, "is_idle", "Whether there is nothing to load and nothing to give out (1)."),
    _own("index_archives_away", _GAUGE, "away", "Spiders whose archived records cannot be read now."),
    _own("index_store_seq", _GAUGE, "store.last_seq", "Number of the last change of the store."),
    _own("index_store_cells", _GAUGE, "store.cells", "Cells of the store, about."),
    _own("index_store_bytes", _GAUGE, "store.table_bytes", "Size of the store's table files."),
    _own("index_store_memory_bytes", _GAUGE, "store.memtable_bytes", "Changes that are in no table file yet."),
    _own("index_store_cache_bytes", _GAUGE, "store.cache_bytes", "Blocks of the store that are cached in memory."),
    _own(
        "index_store_compaction_bytes",
        _GAUGE,
        "store.compaction_pending_bytes",
        "Bytes of table files that wait for compaction.",
    ),
)

INDEX_SERVER: Final = (
    _own("search_documents", _GAUGE, "documents", "Documents in the shards of the server."),
    _own("search_shards", _GAUGE, "shards", "Shards that the server answers for."),
    _own("search_content_seq", _GAUGE, "content", "Every change of content up to this seq is found."),
    _own("search_references_seq", _GAUGE, "references", "Every change of references up to this seq is found."),
    _own("search_lag_rounds", _GAUGE, "lag", "Rounds that the index has and search has not."),
    _own("search_lag_seconds", _GAUGE, "lag_ms", "How long ago search had everything.", scale=0.001),
    _own("search_documents_pending", _GAUGE, "pending", "Documents that wait to be written for their references."),
    _own("search_documents_written_total", _COUNTER, "written", "Documents that were written."),
    _own("search_builds_total", _COUNTER, "built", "Shards that were built anew."),
    _own("search_building", _GAUGE, "building", "Whether shards are being built anew (1)."),
    _own("search_build_documents", _GAUGE, "build", "Documents written by the build that is under way."),
    _own("search_stuck", _GAUGE, "problem", "Whether nothing can be written (1); `weft status` says why."),
    _own("search_freshness_seconds", _HISTOGRAM, "fresh", "From the index until the page is found by searches."),
    _own(
        "search_questions_total",
        _COUNTER,
        "questions",
        "Questions to shards: answered, refused (too many at once), late, or failed (a shard could not answer).",
        "result",
    ),
    _own("search_question_seconds", _HISTOGRAM, "question_seconds", "How long an answer took."),
)

WEB_APP: Final = (
    _own("web_answers_total", _COUNTER, "answers", "Requests that were answered, by class of the status.", "class"),
    _own(
        "web_refused_total",
        _COUNTER,
        "refused",
        "Of those, refused requests, by status: too many of one client (429), too many in all (503), and others.",
        "code",
    ),
    _own("web_answer_seconds", _HISTOGRAM, "answer_seconds", "From a request to the first byte of its answer."),
    _own("web_streams", _GAUGE, "streams", "Event streams that are open; web.streams bounds them."),
    _own("web_seq", _GAUGE, "seq", "Number of the last change that the answers of the app see."),
)

ROLE_METRICS: Final = {
    NodeType.CRAWLER: URL_SERVER,
    NodeType.SPIDER: SPIDER,
    NodeType.INDEX_BUILDER: INDEX,
    NodeType.INDEX_SERVER: INDEX_SERVER,
    NodeType.WEB_APP: WEB_APP,
}
