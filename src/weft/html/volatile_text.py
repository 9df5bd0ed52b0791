"""Text that changes while a page stays the same: times, dates and counters, which fingerprints leave out.

Other numbers tell pages apart, so they stay. Numbers are found in the whole text at once. Those with a suspicious
neighbour are few, and are examined one by one. The words are lower case, in the languages that we know them in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from weft.html.word_bytes import Numbers, Places, windows_of

Spans = list[tuple[int, int]]


def _named(names: str) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names.split())


_MONTHS: Final = _named("""
    jan feb mar apr may jun jul aug sep sept oct nov dec
    january february march april june july august september october november december
    januar februar märz mai juni juli oktober dezember januari februari maart mei augustus
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
    janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
""")

_DAYS: Final = _named("""
    mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday
    montag dienstag mittwoch donnerstag freitag samstag sonntag
    lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo
""")

_UNITS_OF_TIME: Final = _named("day hou hrs min mon sec wee yea yrs")
"""The first three letters of what stands between a number and `ago`."""

_COUNTED: Final = _named("""
    views visits visitors hits reads readers downloads clicks likes shares followers subscribers comments replies votes
    guests aufrufe besucher zugriffe kommentare vues visites visiteurs commentaires visitas visitantes comentarios
""")
"""`1,234 views` and `Views: 1,234`."""

_LABELS: Final = _named("members online users")
"""`Members online: 12`; but `12 online` can mean anything."""

_UNITS: Final = _named("milliseconds ms queries sec seconds secs")
"""`0.12 seconds`."""

_MOST: Final = 10_000
"""Numbers that are looked at in each way; in a text with more suspicious ones the others stay."""

_TIME: Final = rb"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?z?(?![0-9])"
_DATE: Final = (
    rb"(?:[12][0-9]{3}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-/.])[0-9]{1,2}\2[12][0-9]{3})"
    rb"(?:t" + _TIME + rb"|(?![0-9]))"
)
_DIGITAL: Final = re.compile(rb"(?<![a-z0-9\x80-\xff])(?:" + _DATE + rb"|" + _TIME + rb")", re.IGNORECASE)
"""`12:30`, `12:30:45`, `2026-01-31`, `31.1.2026`, `1/31/2026`, `2026-01-31T12:30Z`."""

_WORD: Final = rb"([a-z\x80-\xff]{1,24})"
_BEHIND: Final = re.compile(rb"(?:st|nd|rd|th)?([., ]{1,2})" + _WORD + rb"(?![a-z0-9\x80-\xff])", re.IGNORECASE)
_BEFORE: Final = re.compile(rb"(?<![a-z0-9\x80-\xff])" + _WORD + rb"([^a-z0-9\x80-\xff]{1,2})\Z", re.IGNORECASE)
_FARTHEST: Final = 28
"""Bytes before a number in which the word before it is looked for."""
_YEAR: Final = re.compile(rb"(?:st|nd|rd|th)?(?:[.,]? [12][0-9]{3}(?![0-9]))?", re.IGNORECASE)
_AGO: Final = re.compile(rb"[0-9]{1,4} [a-z]{3,8} ago(?![a-z0-9])", re.IGNORECASE)
_THOUSANDS: Final = re.compile(rb"(?:[0-9]{1,3}[.,]){1,4}\Z")
_REST: Final = re.compile(rb"(?:[.,][0-9]{1,9}){0,4}")

_BEHIND_NUMBERS: Final = _COUNTED | _UNITS
_BEFORE_NUMBERS: Final = _COUNTED | _LABELS

_IS_JOINT: Final = np.isin(np.arange(256), list(b":-/."))
_THREE_BYTES: Final = np.uint64(0xFFFFFF)
_IS_LAST: Final = 1 << 24
"""Set in the key of a word's last three bytes, not in that of its first three."""


def _keys() -> Numbers:
    first = {name[:3].ljust(3, b"\0") for name in _MONTHS | _COUNTED | _UNITS | _UNITS_OF_TIME}
    last = {name[-3:] for name in _MONTHS | _COUNTED | _LABELS}
    keys = {int.from_bytes(name, "little") for name in first}
    keys |= {int.from_bytes(name, "little") | _IS_LAST for name in last}
    return np.array(sorted(keys), np.uint64)


_KEYS: Final = _keys()
_LOOK_BEHIND: Final = np.array([[1], [2], [3]])
"""Where the next word may begin: `5 views`, `31. Januar`, `31st January`."""
_LOOK_BEFORE: Final = np.array([[-4], [-5]])
"""Where the last three bytes of the word before may stand: `May 5`, `Views: 5`."""
_SIDES: Final = np.array([[0], [0], [0], [_IS_LAST], [_IS_LAST]], np.uint64)


def volatile_spans(raw: bytes, normal: bytes) -> Spans:
    """Where the words stand that belong to a time, a date or a counter, in order; some overlap."""
    is_digit = np.frombuffer(normal, np.uint8) - np.uint8(ord("0")) < 10
    edges = np.flatnonzero(is_digit[1:] != is_digit[:-1]) + 1
    starts, ends = edges[::2], edges[1::2]
    if not starts.size:
        return []
    is_joined = _IS_JOINT.take(np.frombuffer(raw, np.uint8).take(ends)) & is_digit.take(ends + 1)
    spans = list(_digital_spans(raw, starts[is_joined][:_MOST].tolist()))
    named = np.flatnonzero(_are_named(normal, starts, ends))[:_MOST]
    for start, end in zip(starts.take(named).tolist(), ends.take(named).tolist(), strict=True):
        if not normal[start - 1]:
            spans += _named_spans(raw, start, end)
    return sorted(spans)


def _are_named(normal: bytes, starts: Places, ends: Places) -> npt.NDArray[np.bool_]:
    """Whether a word beside each number begins or ends like a name; that it is one is found out later."""
    windows = windows_of(normal)
    keys = windows[np.concatenate([ends + _LOOK_BEHIND, starts + _LOOK_BEFORE])] & _THREE_BYTES | _SIDES
    is_named: npt.NDArray[np.bool_] = np.equal(_KEYS.take(_KEYS.searchsorted(keys), mode="clip"), keys).any(axis=0)
    return is_named


def _digital_spans(raw: bytes, starts: list[int]) -> Iterator[tuple[int, int]]:
    read = 0
    for start in starts:
        found = _DIGITAL.match(raw, start) if start >= read else None
        if found:
            read = found.end()
            yield found.span()


def _named_spans(raw: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What a name behind the number or before it makes of it."""
    if ago := _AGO.match(raw, start):
        yield ago.span()
    behind = _BEHIND.match(raw, end)
    if behind and behind[2].lower() in _MONTHS and end - start <= 2:
        yield _from_weekday(raw, start), _to_year(raw, behind.end())
    elif behind and behind[2].lower() in _BEHIND_NUMBERS and behind[1] == b" ":
        thousands = _THOUSANDS.search(raw, start - _FARTHEST, start)
        yield thousands.start() if thousands else start, end
    before = _BEFORE.search(raw, start - _FARTHEST, start)
    if before and before[1].lower() in _MONTHS and before[2] in (b" ", b". ") and end - start <= 4:
        yield _from_weekday(raw, before.start()), _to_year(raw, end)
    elif before and before[1].lower() in _BEFORE_NUMBERS and _is_label(before[2], raw[end : end + 1]):
        rest = _REST.match(raw, end)
        yield start, rest.end() if rest else end


def _is_label(gap: bytes, behind: bytes) -> bool:
    """`Views: 12`, or the two in cells of their own."""
    return gap[:1] == b":" or (gap == b"\n" and behind in (b"\n", b"\0"))


def _from_weekday(raw: bytes, start: int) -> int:
    before = _BEFORE.search(raw, start - _FARTHEST, start)
    return before.start() if before and before[1].lower() in _DAYS and before[2] in (b" ", b", ") else start


def _to_year(raw: bytes, end: int) -> int:
    year = _YEAR.match(raw, end)
    return year.end() if year else end
