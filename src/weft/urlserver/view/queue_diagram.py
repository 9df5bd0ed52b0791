"""The queues as text, for `weft status --queues`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from weft.urlserver.view.snapshot import QueueView, Snapshot

SENT, WAITING, EMPTY = "[>]", "[#]", "[ ]"
_CELLS: Final = 6
"""Cells of a queue that are drawn behind its active part; the number of waiting links stands for the rest."""


def draw_queues(facts: Snapshot | Mapping[str, Any]) -> str:
    """A snapshot, or the content of a status file: `[>]` is in a spider's hands, `[#]` waits, `[ ]` is empty."""
    snapshot = facts if isinstance(facts, Snapshot) else msgspec.convert(facts, Snapshot)
    return "\n".join([*_head(snapshot), *_body(snapshot), *_foot(snapshot)])


def _head(snapshot: Snapshot) -> Iterator[str]:
    yield f"URL server {snapshot.server} is {snapshot.state}"
    for spider in snapshot.spiders:
        state = f"not connected: {spider.problem}" if spider.problem else f"{spider.urls} URLs in hand"
        yield f"spider {spider.address}: {state}"


def _body(snapshot: Snapshot) -> Iterator[str]:
    width = max([len("host"), *(len(queue.host) for queue in snapshot.queues)])
    rows = [_cells(queue, snapshot) for queue in snapshot.queues]
    drawn = max([len(row) for row in rows], default=0)
    across = max(drawn, len("|- queue_len 1000000 -|"))
    active = f"|{'-' * (3 * snapshot.concurrent - 2)}| active"
    yield ""
    yield f"{'':{width}} |{f' queue_len {snapshot.queue_len} ':-^{across - 2}}|"
    yield f"{'host':{width}} {active:{across}}  waiting  next"
    for queue, row in zip(snapshot.queues, rows, strict=True):
        yield f"{queue.host:{width}} {row:{across}}  {queue.waiting:>7}  {_next(queue)}"
    if len(snapshot.queues) < snapshot.taken:
        yield f"... {snapshot.taken - len(snapshot.queues)} more"


def _foot(snapshot: Snapshot) -> Iterator[str]:
    yield ""
    yield f"queues    {snapshot.taken} of {snapshot.queue_count} in use, {snapshot.queued} links wait"
    yield f"leftover  {snapshot.leftovers} links, {snapshot.without_queue} hosts without a queue"
    yield f"arriving  {snapshot.arriving} links of hosts whose address is not known yet"


def _cells(queue: QueueView, snapshot: Snapshot) -> str:
    """The active part, then the queue behind it, cut short."""
    length = min(snapshot.queue_len, snapshot.concurrent + _CELLS)
    sent, waiting = len(queue.active), queue.waiting
    cells = [SENT] * sent + [WAITING] * min(waiting, length) + [EMPTY] * length
    last = WAITING if sent + waiting >= snapshot.queue_len else EMPTY
    shortened = length < snapshot.queue_len
    return "".join(cells[:length]) + (f"...{last}" if shortened else "")


def _next(queue: QueueView) -> str:
    when = "now" if queue.next_in == 0 else f"in {queue.next_in:.1f} s" if queue.next_in is not None else "waits"
    return f"{when}: {queue.why}"
