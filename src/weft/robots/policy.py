"""What a fetched robots.txt, or the lack of one, means, and how long that holds (RFC 9309, 2.3 and 2.4)."""

from __future__ import annotations

from typing import Final

from weft.robots.file import parse
from weft.robots.lines import LIMIT
from weft.robots.rules import Rules

_MINUTE: Final = 60_000
_HOUR: Final = 60 * _MINUTE
LONGEST: Final = 24 * _HOUR
"""Milliseconds after which a robots.txt is fetched again, whatever its server says."""
SHORTEST: Final = 1 * _HOUR
"""What a server can shorten that to with Cache-Control: else `max-age=0` would cost a request before every page."""
FIRST_RETRY: Final = 5 * _MINUTE
"""Wait after the first answer that cannot be used; doubled with every further one, up to LONGEST."""


def policy(status: int, body: bytes, agent: str, limit: int = LIMIT) -> Rules:
    """The rules for `agent` after the fetch of a robots.txt ended with `status`, redirects followed; 0: no answer."""
    if 200 <= status < 300:
        return parse(body, limit).rules_for(agent)
    if is_reachable(status):
        return Rules()
    return Rules.closed(f"robots.txt answered {status}" if status else "robots.txt could not be fetched")


def is_reachable(status: int) -> bool:
    """Tell whether the answer says what may be fetched; 429 and 5xx only say that now is a bad time.

    A redirect that is left when the caller has followed enough of them counts as "there is no robots.txt".
    """
    return 200 <= status < 500 and status != 429


def good_until(status: int, now: int, *, max_age: float | None = None, retry_after: int = 0, failures: int = 0) -> int:
    """When to fetch robots.txt again, in milliseconds like `now`.

    `max_age` is Cache-Control's, in seconds; `retry_after` what the server asked for, in milliseconds; `failures` how
    many fetches before this one could not be used either. None of them makes it later than LONGEST.
    """
    if is_reachable(status):
        wanted = LONGEST if max_age is None else max(SHORTEST, _milliseconds(max_age))
    else:
        wanted = max(FIRST_RETRY << min(failures, 16), retry_after)
    return now + min(wanted, LONGEST)


def _milliseconds(seconds: float) -> int:
    return round(max(0.0, min(seconds, LONGEST / 1000)) * 1000)
