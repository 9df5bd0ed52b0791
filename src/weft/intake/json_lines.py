"""A line of JSON becomes a page, or a reason why it does not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

import msgspec

from weft.config.sections import LimitsSettings
from weft.html.fingerprint import fingerprint_and_simhash
from weft.intake.fetch_times import milliseconds
from weft.intake.skip_reasons import PageRefused, SkipReason
from weft.linkindex.loaded import LoadedPage, load_gone, load_joined
from weft.linkindex.records import Doc
from weft.model.links import join_links
from weft.model.url import PageUrl, UrlFault, UrlRefused, UrlRules

DESCRIPTION_CHARS: Final = 4_096
HEADINGS_CHARS: Final = 65_536
"""All headings of a page together; one of them is cut like a title."""
LANGUAGE_CHARS: Final = 35
"""RFC 5646, section 4.4.1: enough for every tag that is in use."""
REL_CHARS: Final = 256

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_HIGH: Final = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW: Final = rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# In this order: a pair is one character, half of one is none, and `\\` hides what looks like an escape after it.
_ESCAPE: Final = re.compile(_HIGH + _LOW + rb"|(" + _HIGH + rb"|" + _LOW + rb")|\\.", re.DOTALL)

_EXPECTED_PAGE: Final = 'expected an object such as {"url": "https://example.com/"}'
_EXPECTED_TIME: Final = "expected one with an offset such as 2026-01-31T12:00:00Z"
_AT: Final = re.compile(r"(.*) - at `\$\.(.*)`", re.DOTALL)
_WRONG_TYPE: Final = re.compile(r"Expected `(.*)`, got `(.*)`")
_MISSING: Final = re.compile(r"Object missing required field `(.*)`")
_KINDS: Final = {
    "array": "a list",
    "bool": "true or false",
    "datetime": "a time in quotes",
    "float": "a number",
    "int": "a number",
    "object": "an object",
    "str": "a string",
}


class _Link(msgspec.Struct, gc=False):
    url: str
    text: str | None = None
    rel: str | None = None


class _Page(msgspec.Struct, gc=False):
    """A line as it is written; null says the same as nothing."""

    url: str
    fetched: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    title: str | None = None
    text: str | None = None
    description: str | None = None
    language: str | None = None
    headings: list[str] | None = None
    links: list[_Link | str] | None = None
    deleted: bool | None = None


_decode: Final = msgspec.json.Decoder(_Page).decode


class JsonPages:
    """Reads lines; a page without a time was fetched at `now_ms`, the start of its run."""

    def __init__(self, rules: UrlRules, limits: LimitsSettings, now_ms: int) -> None:
        self._rules, self._limits, self._now_ms = rules, limits, now_ms
        self.left_out: Counter[UrlFault] = Counter()
        """Links of the pages so far that cannot name a page, by reason."""

    def read(self, line: bytes | None) -> LoadedPage:
        """The page of a line, all of it; None stands for a line that was too long to be kept. Raises PageRefused."""
        if line is None or len(line) > self._limits.line_bytes:
            raise PageRefused(SkipReason.TOO_LARGE, f"it is too long; expected at most {self._limits.line_bytes} bytes")
        given = _decoded(line.removeprefix(_BYTE_ORDER_MARK))
        page = self._identify(given.url)
        fetched = self._now_ms if given.fetched is None else milliseconds(given.fetched, "fetched")
        if given.deleted:
            return load_gone(page, fetched)
        return self._load(page, fetched, given)

    def _identify(self, url: str) -> PageUrl:
        try:
            return self._rules.identify(url)
        except UrlRefused as refusal:
            raise PageRefused(SkipReason.URL, f"its url is refused: {refusal.why}") from refusal

    def _load(self, page: PageUrl, fetched: int, given: _Page) -> LoadedPage:
        links = given.links or ()
        whole = [_Link(link) if isinstance(link, str) else link for link in links]
        joined = join_links(self._rules, page.url, [link.url for link in whole])
        self.left_out.update(joined.refused)
        longest = self._limits.anchor_chars
        anchors = [collapsed(link.text, longest) if link.text else "" for link in whole]
        rels = [collapsed(link.rel, REL_CHARS) if link.rel else "" for link in whole]
        return load_joined(page, fetched, joined, anchors, rels, self._doc(given), self._limits)

    def _doc(self, given: _Page) -> Doc:
        title, headings = collapsed(given.title or "", self._limits.title_chars), self._headings(given.headings or ())
        text = (given.text or "")[: self._limits.text_chars]
        return Doc(
            title=title,
            description=collapsed(given.description or "", DESCRIPTION_CHARS),
            language=collapsed(given.language or "", LANGUAGE_CHARS),
            headings=headings,
            text=text,
            simhash=fingerprint_and_simhash(text, [title, *headings])[1],
        )

    def _headings(self, given: Sequence[str]) -> list[str]:
        kept, room = [], HEADINGS_CHARS
        for heading in given:
            words = collapsed(heading, min(room, self._limits.title_chars))
            if words:
                kept.append(words)
                room -= len(words)
        return kept


def collapsed(text: str, longest: int) -> str:
    """`text` with single spaces between its words and none around them, cut at `longest` characters."""
    # More words than that cannot stand; not to split the rest keeps a hostile text from becoming millions of words.
    words = " ".join(text.split(None, longest))
    return words if len(words) <= longest else words[:longest].rstrip()


def _decoded(line: bytes) -> _Page:
    """Errors of the JSON reader in our words."""
    try:
        # Only what is read is checked by the JSON reader; a field that weft does not know can hold anything.
        if not line.isascii():
            line.decode()
        return _decode_repaired(line)
    except UnicodeDecodeError as error:
        raise PageRefused(SkipReason.JSON, f"it is not UTF-8 (byte {error.start}); expected UTF-8") from error
    except msgspec.ValidationError as error:
        raise PageRefused(SkipReason.FIELD, _misfit(str(error))) from error
    except msgspec.DecodeError as error:
        problem = str(error).removeprefix("JSON is malformed: ")
        raise PageRefused(SkipReason.JSON, f"it is not JSON: {problem}; {_EXPECTED_PAGE}") from error
    except RecursionError as error:
        raise PageRefused(SkipReason.JSON, f"it is nested too deep; {_EXPECTED_PAGE}") from error


def _decode_repaired(line: bytes) -> _Page:
    """Half of a surrogate pair, which programs write that cut texts anywhere, is read as U+FFFD."""
    try:
        return _decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        repaired = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], line)
        if repaired == line:
            raise
        return _decode(repaired)


def _misfit(message: str) -> str:
    """What the JSON reader says about a field, as one of our clauses."""
    at = _AT.fullmatch(message)
    problem, field = (at[1], at[2]) if at else (message, "")
    if wrong := _WRONG_TYPE.fullmatch(problem):
        expected = [_KINDS.get(kind, kind) for kind in wrong[1].split(" | ") if kind != "null"]
        kinds = _EXPECTED_PAGE if not field else "expected " + " or ".join(expected)
        return f"{field or 'it'} is {_KINDS.get(wrong[2], wrong[2])}; {kinds}"
    if missing := _MISSING.fullmatch(problem):
        name = f"{field}.{missing[1]}" if field else missing[1]
        return f"{name} is missing; expected a URL"
    if field == "fetched":
        return f"fetched is not a time of RFC 3339; {_EXPECTED_TIME}"
    return f"{field or 'it'} is refused: {problem}"
