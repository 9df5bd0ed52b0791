"""Decisions of the control plane that need no database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from weft.mgmt.values import Health, NodeId, NodeState, Result
from weft.model.fetch_error import FetchError
from weft.model.host import ADDRESS_SLOTS

MOST_LOSSES: Final = 3
"""DONE without a stored result this often: the link is in error."""
ALONE_AFTER: Final = 3
"""Lost leases of a chunk's builders after which it is given out alone: it may be what kills them."""
MOST_LOST_LEASES: Final = 6
MOST_BUILD_ERRORS: Final = 3
RETRY_AFTER_MOST: Final = 24 * 3_600_000
ROBOTS_AGE: Final = 24 * 3_600_000
LINGER_MOST: Final = 1000
"""Links that one chunk made of finished links may have."""


TEXT_MOST: Final = 2_048
LOCATION_MOST: Final = 16_000


def fair_shares(waiting: Sequence[int], limit: int) -> list[int]:
    """How many links each host gives: one each in turn until `limit` is reached or none waits."""
    shares = [0] * len(waiting)
    left = limit
    hosts = list(range(len(waiting)))
    while left and hosts:
        for host in hosts[:left]:
            shares[host] += 1
        left -= min(left, len(hosts))
        hosts = [host for host in hosts if shares[host] < waiting[host]]
    return shares


def fair_quota(crawlers: Sequence[NodeId], me: NodeId) -> int:
    """How many parts are due to `me`; `crawlers` are all that live, in order of their ids."""
    if me not in crawlers:
        return 0
    whole, rest = divmod(ADDRESS_SLOTS, len(crawlers))
    return whole + (crawlers.index(me) < rest)


def divide(
    owners: Sequence[NodeId | None], leaving: frozenset[int], me: NodeId, quota: int
) -> tuple[list[int], list[int]]:
    """Parts to take and parts to begin giving up, for the crawler `me` that owns all but `leaving` of its own."""
    mine = [slot for slot, owner in enumerate(owners) if owner == me and slot not in leaving]
    if len(mine) > quota:
        return [], mine[quota:]
    free = [slot for slot, owner in enumerate(owners) if owner is None]
    return free[: quota - len(mine)], []


def health_of(state: NodeState, stored: Health, late: int, heartbeat: float, lease: float) -> Health:
    """By how late a sign of life is, in milliseconds; a node that is offline keeps the health that it left with."""
    if state is NodeState.OFFLINE:
        return stored
    if late > lease * 1000:
        return Health.FAILURE
    return Health.PROBATION if late > 2 * heartbeat * 1000 else Health.HEALTHY


def is_ended(late: int, lease: float) -> bool:
    return late > lease * 1000


def wants_work(state: NodeState, asked: NodeState) -> bool:
    return state is NodeState.ONLINE and asked is NodeState.ONLINE


def asked_after_register(asked: NodeState) -> NodeState:
    """A pause outlives a restart; a drain is over once the node is."""
    return NodeState.PAUSED if asked is NodeState.PAUSED else NodeState.ONLINE


def asked_again(result: Result, now: int) -> int:
    """When a server that asked us to wait may be asked again."""
    return now + min(result.retry_after, RETRY_AFTER_MOST)


def robots_expiry(result: Result, now: int) -> int:
    """How long a fetched robots.txt may be used; redirects and failures are for the URL server to follow or repeat."""
    is_answer = 200 <= result.status < 300 or (400 <= result.status < 500 and result.status != 429)
    return now + ROBOTS_AGE if is_answer and not result.error else now


def _error_of(result: Result) -> str:
    """The class of a result without a record; one that gives none has an unknown one."""
    return _plain(result.error, TEXT_MOST) or ("" if result.position else FetchError.UNKNOWN)


def as_kept(result: Result) -> Result:
    """A result as a database keeps it: without the body, and what a server sent us without NUL and lone surrogates.

    All of it is bounded. Half a validator or half an address is worth nothing, so a longer one is left out.
    """
    if not result.body and result.position and _is_plain(result):
        return result  # nearly all are
    return msgspec.structs.replace(result, error=_error_of(result), body=b"", **_plain_texts(result))


def _is_plain(result: Result) -> bool:
    text = "".join((result.error, result.etag, result.last_modified, result.location, result.content_type))
    return len(text) <= TEXT_MOST and text.isascii() and "\0" not in text


def _plain_texts(result: Result) -> dict[str, str]:
    return {
        "etag": _whole(result.etag, TEXT_MOST),
        "last_modified": _whole(result.last_modified, TEXT_MOST),
        "location": _whole(result.location, LOCATION_MOST),
        "content_type": _plain(result.content_type, TEXT_MOST),
    }


def _whole(text: str, most: int) -> str:
    return _plain(text, most) if len(text) <= most else ""


def _plain(text: str, most: int) -> str:
    if text.isascii() and "\0" not in text:
        return text[:most]
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:most]
