"""Traps that only show when a URL is compared with the URL of the page that links to it."""

from __future__ import annotations

import re
from typing import Final

from weft.config.sections import DispatcherSettings
from weft.dispatcher.traps.dates import month_of, month_text, shape_of
from weft.model.refusal import Refusal, RefusalKind

_DAY: Final = 86_400_000
_MONTH: Final = 30.436875 * _DAY
_FIRST_MONTH: Final = 1970 * 12
_MAY_BE_DATE: Final = re.compile(r"[0-9]{4}")
_MAY_BE_SESSION: Final = re.compile(r"[A-Za-z0-9]{16}|\(\w\(")
_SESSION: Final = re.compile(
    # ASP.NET without cookies: /(S(lit3py55t21z5v55vlm25s55))/
    r"/\((?:[A-Z]\([^()/]{8,}\))+\)(?=/|$)"
    r"|[/;](?:s|sid|sess|session|sessionid|session_id)[=/_-](?=[^/;?]*\d)[A-Za-z0-9]{16,}(?=[/;?]|$)",
    re.IGNORECASE,
)


def trap_after(source: str, target: str, depth: int, now: int, settings: DispatcherSettings) -> Refusal | None:
    """Why the step from `source` to `target`, paths with queries of one host, looks like one of endlessly many."""
    return (
        endless_calendar(source, target, now, settings.calendar_ahead, settings.calendar_back)
        or growing_query(source, target, settings.growing_parameters)
        or changing_session(source, target, depth, settings.session_hops)
    )


def endless_calendar(source: str, target: str, now: int, ahead: int, back: int) -> Refusal | None:
    """From one month to another one of the same calendar, further away from now than anybody wants to know."""
    months = month_of(target) if _MAY_BE_DATE.search(target) else None
    present = _FIRST_MONTH + int(now / _MONTH)
    if months is None or present - 12 * back <= months <= present + 12 * ahead or shape_of(source) != shape_of(target):
        return None
    before = month_of(source) or 0
    if max(before, present) < months:
        return Refusal(RefusalKind.ENDLESS_CALENDAR, f"{month_text(months)} is over {ahead} years ahead")
    if months < min(before, present):
        return Refusal(RefusalKind.ENDLESS_CALENDAR, f"{month_text(months)} is over {back} years back")
    return None


def growing_query(source: str, target: str, most: int) -> Refusal | None:
    """All parameters of the page that names it, and one of their names once more: filters over filters."""
    if "?" not in source:
        return None
    path, _, query = target.partition("?")
    path_before, _, query_before = source.partition("?")
    if path != path_before or not query_before or len(query) <= len(query_before):
        return None
    parameters, before = query.split("&"), query_before.split("&")
    if len(parameters) <= max(most, len(before)) or not set(before) <= set(parameters):
        return None
    known = {parameter.partition("=")[0] for parameter in before}
    names = [parameter.partition("=")[0] for parameter in parameters]
    if len(parameters) - len(before) > sum(name not in known for name in names):
        return Refusal(RefusalKind.GROWING_QUERY, f"{len(parameters)} parameters one after another, over {most}")
    return None


def changing_session(source: str, target: str, depth: int, most: int) -> Refusal | None:
    """A session id in the path, another one than on the page that names it: so every page is new each time."""
    if depth <= most or not (_MAY_BE_SESSION.search(target) and _MAY_BE_SESSION.search(source)):
        return None
    found, before = _SESSION.search(target), _SESSION.search(source)
    if found is None or before is None or before[0] == found[0]:
        return None
    return Refusal(RefusalKind.CHANGING_SESSION, f"a new session id in the path after {depth} hops, over {most}")
