"""What a URL is to weft: read by the WHATWG standard, cleaned of what does not name a page, known by its uri."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple, NewType
from urllib.parse import unquote

# The public classes of ada_url make objects that cost three times as much as the parsing itself.
from ada_url._ada_wrapper import ffi, lib  # type: ignore[import-not-found]

from weft.errors import WeftError
from weft.model.domain import Domain, registrable_domain, reversed_host
from weft.model.percent_encoding import normal_escapes

Uri = NewType("Uri", str)

LONGEST_INPUT: Final = 65_536
"""Characters of a link and its base together, counted before parsing: no honest link comes near."""

_AUTHORITY: Final = re.compile(r"(https?://)(?:[^@]*@)?(\[[^]]*\]|[^:]*)(:[0-9]+)?/")
_NO_PART_OF_A_HOST: Final = re.compile(r"[^a-z0-9._:\[\]-]")
"""The URL standard lets ! " $ & ' ( ) * + , ; = ` { } ~ stand in a host, too, which are in no name that a site has."""
_URI: Final = re.compile(r"(\[[^]]*\]|[^:/?#]+)(:[0-9]+)?(/.*)?", re.DOTALL)
_SCHEME: Final = re.compile(r"[\0- ]*([A-Za-z][A-Za-z0-9+.-]*):")
_TWO_SLASHES: Final = re.compile(r"//[^/\\]")
_PORT_OR_NOTHING: Final = re.compile(r"[0-9]+(?:[/?#\\]|\Z)|\Z")
_NEVER_A_HOST: Final = frozenset(
    {"about", "blob", "callto", "data", "fax", "javascript", "mailto", "sms", "tel", "urn"}
)
_USERINFO: Final = re.compile(r"([\0- ]*(?:https?:[/\\]*|(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}))[^/\\?#]*@", re.IGNORECASE)
_SKIPPED_BY_PARSERS: Final = str.maketrans("", "", "\t\n\r")
_EXPECTED: Final = ("a URL or a path", "a whole URL such as https://example.com/")
_CONTROLS_AND_SPACE: Final = "".join(map(chr, range(0x21)))
_INVISIBLE: Final = "\xa0\xad\u2028\u2029\u2060\ufeff" + "".join(
    map(chr, [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
)
"""What comes along, at the ends, when a URL is copied from a document or a chat."""


class UrlFault(StrEnum):
    """Why a URL cannot name a page."""

    UNPARSABLE = "unparsable"
    SCHEME = "scheme"
    HOST = "host"
    TOO_LONG = "too_long"


class UrlRefused(WeftError):  # noqa: N818 - an answer about the URL, not a fault
    """A URL that cannot name a page, and why."""

    def __init__(self, text: str, reason: UrlFault, why: str) -> None:
        super().__init__(f"URL {_shown(text)} refused: {why}")
        self.reason, self.why = reason, why


@dataclass(frozen=True, slots=True)
class Origin:
    """What stands before the path, in a URL and in a uri, and what follows from it."""

    url: str
    uri: str
    domain: Domain
    is_http: bool
    odd: str = ""
    """A character of the host by which it is nobody's: such a URL is refused. One in a home of before still reads."""


class PageUrl(NamedTuple):
    """A URL as it is fetched, the uri its page is known by, and the domain that uri belongs to."""

    url: str
    uri: Uri
    domain: Domain


def make_uri(origin: Origin, target: str) -> Uri:
    """The one place where a uri is made; `target` is path and query as they stand in the URL."""
    if "%" in target:
        target = normal_escapes(target)
    # Uri() is a call, and this runs for every link.
    return origin.uri if target == "/" else origin.uri + target  # type: ignore[return-value]


def url_at(origin: Origin, uri: Uri) -> str:
    """The URL by which a page is fetched that is known by a reference: its uri at the origin that was named."""
    return origin.url + (uri[len(origin.uri) :] or "/")


def url_of(uri: Uri, scheme: str = "https") -> str:
    """A URL that can be fetched for `uri`; the scheme is no part of a uri, so the caller knows or guesses it."""
    host, port, target = _parts_of(uri)
    return f"{scheme}://{reversed_host(host)}{port}{target or '/'}"


def identity_of(url: str) -> PageUrl:
    """Uri and domain of a URL that UrlRules gave out before: nothing is cleaned again, and little is parsed."""
    slash = url.index("/", len("https://"))
    origin = origin_of(url[:slash])
    if origin is None:
        raise UrlRefused(url, UrlFault.HOST, "it has no host; expected a URL that was normalised before")
    return PageUrl(url, make_uri(origin, url[slash:]), origin.domain)


def has_odd_host(url: str) -> bool:
    """Whether a URL that UrlRules gave out before would be refused now, because no site has such a host."""
    origin = origin_of(url[: url.index("/", len("https://"))])
    return origin is not None and bool(origin.odd)


def without_userinfo(url: str) -> str:
    """A URL, right or wrong, without the user and password that may be in it: they are nobody's business."""
    found = _USERINFO.match(url) if "@" in url else None
    return url if found is None else found[1] + url[found.end() :]


def domain_of(uri: Uri) -> Domain:
    return _domain_of_reversed(_parts_of(uri)[0])


def host_of(uri: Uri) -> str:
    """The host name, without a port."""
    return reversed_host(_parts_of(uri)[0])


class UrlRules:
    """Which parameters do not name a page, and how long a URL may be.

    `strip` lists parameter names, in any case; one that ends in `*` means every name that begins so.
    `max_length` counts an http URL as if it were https, and escapes in their normal form: URLs that have one uri must
    all be taken or all be refused.
    """

    def __init__(self, strip: Iterable[str] = (), max_length: int = 2_048) -> None:
        self.strip, self.max_length = tuple(strip), max_length
        pattern = "|".join(map(_name_pattern, self.strip)) or "(?!)"
        self._pattern = re.compile(pattern, re.IGNORECASE | re.ASCII | re.DOTALL)
        # A site uses the same few names in all its links.
        self._is_stripped = lru_cache(maxsize=512)(self._matches)

    def __reduce__(self) -> tuple[type[UrlRules], tuple[tuple[str, ...], int]]:
        return UrlRules, (self.strip, self.max_length)

    def identify(self, text: str) -> PageUrl:
        """The page that an absolute URL names; raises UrlRefused."""
        return self.join(None, text)

    def identify_typed(self, text: str) -> PageUrl:
        """The page that a person means, who may have left out `https://`; raises UrlRefused."""
        return self.join(None, _with_scheme(text))

    def lacks_scheme(self, text: str) -> bool:
        """Whether a person left out the scheme, so that https is a guess."""
        return _with_scheme(text) != _typed(text)

    def join(self, base: str | None, text: str) -> PageUrl:
        """The page that `text`, a link or redirect found at `base`, leads to; raises UrlRefused."""
        origin, target = self.locate(base, text)
        return PageUrl(origin.url + target, make_uri(origin, target), origin.domain)

    def locate(self, base: str | None, text: str) -> tuple[Origin, str]:
        """Like join, in two parts: the origin, and the target in it (path and query)."""
        _check_input(base, text)
        href = resolve(text, base)
        if href is None:
            raise UrlRefused(text, UrlFault.UNPARSABLE, f"it does not parse; expected {_EXPECTED[base is None]}")
        if not href.startswith(("http://", "https://")):
            raise _scheme_refused(text, href.partition(":")[0])
        authority = href[: href.index("/", len("https://"))]
        origin = origin_of(authority)
        if origin is None:
            why = f"{_shown(authority)} has no host once trailing dots are dropped; expected a name or an IP address"
            raise UrlRefused(text, UrlFault.HOST, why)
        if origin.odd:
            why = f"{_shown(authority)} has {origin.odd!r} in its host; expected letters, digits, -, _ and dots there"
            raise UrlRefused(text, UrlFault.HOST, why)
        target = self._clean_target(origin, href[len(authority) :].partition("#")[0])
        return origin, self._short_enough(text, origin, target)

    def _short_enough(self, text: str, origin: Origin, target: str) -> str:
        """`target`, in normal form if only that is short enough."""
        room = self.max_length - len(origin.url) - origin.is_http
        if len(target) > room:
            target = normal_escapes(target)
        if len(target) > room:
            length = len(target) - room + self.max_length
            why = f"it has {length} characters with https; expected at most {self.max_length}"
            raise UrlRefused(text, UrlFault.TOO_LONG, why)
        return target

    def _clean_target(self, origin: Origin, target: str) -> str:
        path, mark, query = target.partition("?")
        if ";" in path:
            path = self._clean_path(origin, path)
        return path + self.clean_query(mark + query) if mark else path

    def clean_query(self, query: str) -> str:
        """`query`, with its question mark, without the stripped parameters; nothing when only they were there."""
        parameters = query[1:].split("&")
        kept = [parameter for parameter in parameters if not self._is_stripped(parameter.partition("=")[0])]
        if len(kept) == len(parameters):
            return query
        rest = "&".join(kept)
        return "?" + rest if rest else ""

    def _clean_path(self, origin: Origin, path: str) -> str:
        cleaned = "/".join(map(self._clean_segment, path.split("/")))
        if cleaned == path:
            return path
        # `/a/..;jsessionid=1/b` climbs now.
        href = resolve(origin.url + cleaned)
        return href[len(origin.url) :] if href else cleaned

    def _clean_segment(self, segment: str) -> str:
        name, *parameters = segment.split(";")
        kept = (parameter for parameter in parameters if not self._is_stripped(parameter.partition("=")[0]))
        return ";".join([name, *kept])

    def _matches(self, name: str) -> bool:
        return self._pattern.fullmatch(unquote(name)) is not None


def resolve(text: str, base: str | None = None) -> str | None:
    """The WHATWG serialisation of `text` read against `base`; None where the standard says failure."""
    raw = _utf8(text)
    if base is None:
        parsed = lib.ada_parse(raw, len(raw))
    else:
        raw_base = _utf8(base)
        parsed = lib.ada_parse_with_base(raw, len(raw), raw_base, len(raw_base))
    try:
        href = lib.ada_get_href(parsed)
        return ffi.unpack(href.data, href.length).decode() if href.length else None
    finally:
        lib.ada_free(parsed)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # A lone surrogate; the standard reads U+FFFD for it.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def origin_of(authority: str) -> Origin | None:
    """The origin that `https://host:port` means, the host spelt in any way; None when it is no host."""
    # Names that no resolver accepts can be 2,000 characters long: not worth the memory.
    return remembered_origin(authority) if len(authority) < 300 else _find_origin(authority)


def _find_origin(authority: str) -> Origin | None:
    # Without its dots `1.2.3.4..` is an address and `a.0x4..` is nothing: parse until a form stays as it is.
    for _ in range(4):
        parts = _AUTHORITY.fullmatch(resolve(authority + "/") or "")
        if parts is None:
            return None
        scheme, host, port = parts[1], parts[2].rstrip("."), parts[3] or ""
        if authority == scheme + host + port:
            return _make_origin(scheme, host, port)
        authority = scheme + host + port
    return None


def _make_origin(scheme: str, host: str, port: str) -> Origin:
    uri = reversed_host(host) + ("" if port in (":80", ":443") else port)
    odd = _NO_PART_OF_A_HOST.search(host)
    domain, is_http = registrable_domain(host), scheme == "http://"
    return Origin(scheme + host + port, uri, domain, is_http, odd[0] if odd else "")


remembered_origin: Final = lru_cache(maxsize=8_192)(_find_origin)


@lru_cache(maxsize=4_096)
def _domain_of_reversed(host: str) -> Domain:
    return registrable_domain(reversed_host(host))


def _parts_of(uri: Uri) -> tuple[str, str, str]:
    parts = _URI.fullmatch(uri)
    if parts is None:
        raise UrlRefused(uri, UrlFault.UNPARSABLE, "it is not a uri; expected one such as com.example.www/page")
    return parts[1], parts[2] or "", parts[3] or ""


def _check_input(base: str | None, text: str) -> None:
    length = len(text) + len(base or "")
    if length > LONGEST_INPUT:
        why = f"it has {length} characters with its base; expected at most {LONGEST_INPUT}"
        raise UrlRefused(text, UrlFault.TOO_LONG, why)
    scheme = foreign_scheme(text)
    if scheme:
        raise _scheme_refused(text, scheme)


def foreign_scheme(text: str) -> str | None:
    """The scheme that `text` names, if it names one other than http and https."""
    match = _SCHEME.match(text)
    return None if match is None or match[1].lower() in ("http", "https") else match[1]


def _scheme_refused(text: str, scheme: str) -> UrlRefused:
    return UrlRefused(text, UrlFault.SCHEME, f"its scheme is {scheme}; expected http or https")


def _typed(text: str) -> str:
    return text.translate(_SKIPPED_BY_PARSERS).strip(_CONTROLS_AND_SPACE + _INVISIBLE)


def _with_scheme(text: str) -> str:
    typed = _typed(text)
    if typed.startswith(("/", "\\")):
        return "https:" + typed if _TWO_SLASHES.match(typed) else typed
    scheme = foreign_scheme(typed)
    if scheme is None:
        return typed if _SCHEME.match(typed) else "https://" + typed
    is_host = scheme.lower() not in _NEVER_A_HOST and _PORT_OR_NOTHING.match(typed, len(scheme) + 1)
    return "https://" + typed if is_host else typed


def _name_pattern(name: str) -> str:
    return re.escape(name[:-1]) + ".*" if name.endswith("*") else re.escape(name)


def _shown(text: str, longest: int = 120) -> str:
    text = without_userinfo(text)
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}… ({len(text)} characters)"
