"""Why a host is left alone for a while: the few words that the control plane keeps, and a sentence made of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil
from typing import Final

from weft.model.fetch_error import FetchError, is_overloaded

ROBOTS_ELSEWHERE: Final = "robots.txt elsewhere"
REASON_MOST: Final = 80
"""Characters; far more than any of ours has."""

_FORM: Final = re.compile(r"(robots\.txt )?(?:status ([0-9]+)|([a-z_]+))(?: Retry-After ([0-9]+))?")


def wait_reason(status: int = 0, error: str = "", retry_after: int = 0, *, is_robots: bool = False) -> str:
    """For example `status 503 Retry-After 120`, `timeout` or `robots.txt connect`.

    `retry_after` is in milliseconds, as results have it; a reason has whole seconds.
    """
    is_answer = status > 0 and (not error or retry_after > 0 or is_overloaded(status))
    words = ["robots.txt"] if is_robots else []
    words.append(f"status {status}" if is_answer else str(FetchError.of(error)))
    if retry_after > 0:
        words.append(f"Retry-After {ceil(retry_after / 1000)}")
    return " ".join(words)


def wait_sentence(reason: str, span: Callable[[float], str]) -> str:
    """For people; continues "a.com rests, because ". `span` words a number of seconds.

    Empty if the reason is not known, or is one of another version of weft.
    """
    if reason == ROBOTS_ELSEWHERE:
        return "another URL server fetches its robots.txt"
    found = _FORM.fullmatch(reason)
    if found is None:
        return ""
    robots, status, error, asked = found.groups()
    what = f"its server answered {status}" if status else FetchError.of(error).sentence
    wish = f" and asked for {span(float(asked))}" if asked else ""
    return f"its robots.txt could not be had: {what}{wish}" if robots else f"{what}{wish}"
