"""What a result means: what is kept of it, what others get to know of it, and what follows for host and link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Final

import msgspec

from weft.clock import Clock
from weft.mgmt.values import DocId, Outcome, Result
from weft.model.fetch_error import FetchError
from weft.model.wait_reason import REASON_MOST, wait_reason

MOST_LOSSES: Final = 3
"""DONE without a stored result this often: the link is in error."""
ERROR_STATUS: Final = 400
"""From here on a status says that there is no page; such answers are counted."""
SAME_TIME: Final = 1_000
"""Milliseconds that two clocks may differ and count as the same: a call takes that long, too."""
RETRY_AFTER_MOST: Final = 24 * 3_600_000
ROBOTS_AGE: Final = 24 * 3_600_000

NOT_KEPT: Final = frozenset({"body"})
"""Fields of a result that no engine keeps with the link; a robots.txt's body is kept with its origin."""
TEXT_MOST: Final = 2_048
LOCATION_MOST: Final = 16_000
_TEXTS: Final = tuple(field.name for field in msgspec.structs.fields(Result) if field.type is str)
_WHOLE_OR_NOTHING: Final = {"etag": TEXT_MOST, "last_modified": TEXT_MOST, "location": LOCATION_MOST}
"""Half a validator or half an address is worth nothing; other texts are cut."""
_texts_of = attrgetter(*_TEXTS)


@cache
def fields_from_result(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields that a struct, such as Outcome, repeats from a link's last result."""
    own = {"doc_id", "claim"}
    return tuple(name for name in kind.__struct_fields__ if name in Result.__struct_fields__ and name not in own)


def wait_until(result: Result, now: int) -> int:
    """When a server that asked us to wait may be asked again."""
    return now + min(result.retry_after, RETRY_AFTER_MOST)


def why_wait(result: Result, *, is_robots: bool) -> str:
    return wait_reason(result.status, result.error, result.retry_after, is_robots=is_robots)


def kept_reason(reasons: Mapping[str, str] | None, web_host: str) -> str:
    """Why a web host waits, as a database keeps it; empty: nobody said."""
    return _plain(reasons.get(web_host, ""), REASON_MOST) if reasons else ""


def robots_expiry(result: Result, now: int) -> int:
    """How long a fetched robots.txt may be used; redirects and failures are for the URL server to follow or repeat."""
    is_answer = 200 <= result.status < 300 or (400 <= result.status < 500 and result.status != 429)
    return now + ROBOTS_AGE if is_answer and not result.error else now


def by_our_clock(results: Sequence[Result], clock: Clock | None, now: int) -> Sequence[Result]:
    """The results with times by the control plane's clock, whose time is `now`; `clock` is the one they have now.

    A page that was fetched by a clock that is behind would else count as fetched before it was asked for, and be
    fetched again and again; a newer version of it would count as older.
    """
    ahead = now - clock.now() if clock else 0
    if abs(ahead) < SAME_TIME:
        return results
    return [_moved(result, ahead) for result in results]


def _moved(result: Result, ahead: int) -> Result:
    started, ended = (moment and max(1, moment + ahead) for moment in (result.started, result.ended))
    return msgspec.structs.replace(result, started=started, ended=ended)


def as_kept(result: Result, now: int) -> Result:
    """A result as a database keeps it: without the body, and what a server sent us without NUL and lone surrogates.

    All texts are bounded. A result without a record and an error class gets the class `unknown`. It ended `now` at the
    latest, by the database's clock: the clocks of spiders differ, and what ended later counts as newer.
    """
    if result.ended > now:
        result = _ended_by(result, now)
    if not result.body and result.position and _is_plain(result):
        return result  # nearly all are
    texts = {name: _bounded(name, text) for name, text in zip(_TEXTS, _texts_of(result), strict=True)}
    if not texts["error"] and result.position is None:
        texts["error"] = FetchError.UNKNOWN
    return msgspec.structs.replace(result, body=b"", **texts)


def _ended_by(result: Result, moment: int) -> Result:
    """The same result, moved back to this moment; it took as long."""
    started = max(0, result.started - (result.ended - moment))
    return msgspec.structs.replace(result, started=started, ended=moment)


def is_same(kept: Result | None, result: Result) -> bool:
    """Whether a result, as it would be kept now, is the one that was kept before.

    The times that were kept may have been moved back; a record tells that it is the same by its place.
    """
    if kept is None or kept == result:
        return kept is not None
    times = {"started": kept.started, "ended": kept.ended}
    return kept.position is not None and msgspec.structs.replace(result, **times) == kept


def errors_of(links: Sequence[tuple[DocId, int]], found: Mapping[DocId, Outcome]) -> list[Outcome]:
    """Of these (doc_id, claim) the outcomes that are errors of this very claim, whoever made them errors and when.

    The first answer to a caller may be lost, and a spider may report while its link is being given up.
    """
    known = ((found[doc_id], claim) for doc_id, claim in dict.fromkeys(links) if doc_id in found)
    return [outcome for outcome, claim in known if outcome.claim == claim and outcome.error]


def _is_plain(result: Result) -> bool:
    text = "".join(_texts_of(result))
    return len(text) <= TEXT_MOST and text.isascii() and "\0" not in text


def _bounded(name: str, text: str) -> str:
    most = _WHOLE_OR_NOTHING.get(name)
    if most is None:
        return _plain(text, TEXT_MOST)
    return _plain(text, most) if len(text) <= most else ""


def _plain(text: str, most: int) -> str:
    if text.isascii() and "\0" not in text:
        return text[:most]
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:most]
