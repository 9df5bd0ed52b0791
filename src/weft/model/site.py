"""Sites: what may be crawled, and what a user may set for each.

A new setting is one more field of SiteSettings. Commands, help, documents, control plane, dispatcher, URL servers and
spiders take its name, type, check and secrecy from here; what is left to write is its use.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Annotated, Any, Final, NamedTuple, get_type_hints

import msgspec

from weft.errors import UsageError
from weft.model.content_type import types_problem
from weft.model.host import ANYWHERE, site_names

log = logging.getLogger(__name__)

_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
# libcurl takes a header without a value for one to leave out.
_HEADER_VALUE: Final = re.compile(r"[!-~](?:[ -~]{0,8190}[!-~])?")
# They decide where a request ends, whom it is for, who asks, and what we can decode.
_OUR_HEADERS: Final = frozenset(
    {"host", "user-agent", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "upgrade"}
)
_LONGEST_DELAY: Final = 86_400
_HIGHEST_RATE: Final = 100_000
_MOST_CONCURRENT: Final = 1000
_LONGEST_INTERVAL: Final = 10 * 365 * 86_400
_PROXY: Final = re.compile(r"(?:https?|socks5h?)://[!-~]+")


class Affects(Enum):
    """What a setting decides, and so who must notice when it changes."""

    SCOPE = auto()
    """Which links are crawled: refused ones are reconsidered."""
    PARAMETERS = auto()
    """Which query parameters matter: links that rules hide are judged again."""
    ORDER = auto()
    """Which links go first."""
    FETCH = auto()
    """How its pages are fetched: spiders are told."""
    SCHEDULE = auto()
    """When its pages are due again: pages that wait are scheduled anew."""
    PACE = auto()
    """How often its hosts are asked: URL servers are told."""


class SiteKey(NamedTuple):
    meaning: str
    affects: Affects
    problem: Callable[[Any], str] = lambda _: ""
    """What is wrong with a value of the right type; nothing if it can be used."""
    is_secret: bool = False
    """Whether its value must never be shown."""


def _count_problem(value: int) -> str:
    return "" if value >= 0 else f"expected 0 or more, found {value}"


def _size_problem(size: int) -> str:
    return "" if size >= 1 else f"expected 1 byte or more, found {size}"


def _rate_problem(rate: float) -> str:
    is_good = 0.0001 <= rate <= _HIGHEST_RATE
    return "" if is_good else f"expected 0.0001 to {_HIGHEST_RATE} requests per second, found {rate:g}"


def _concurrent_problem(requests: int) -> str:
    return "" if 1 <= requests <= _MOST_CONCURRENT else f"expected 1 to {_MOST_CONCURRENT} requests, found {requests}"


def _interval_problem(seconds: float) -> str:
    return "" if 0 <= seconds <= _LONGEST_INTERVAL else f"expected 0 to {_LONGEST_INTERVAL} seconds, found {seconds:g}"


def _delay_problem(seconds: float) -> str:
    return "" if 0 <= seconds <= _LONGEST_DELAY else f"expected 0 to {_LONGEST_DELAY} seconds, found {seconds:g}"


def _patterns_problem(patterns: Sequence[str]) -> str:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            return f"{pattern!r} is no pattern: {error}; expected a regular expression"
    return ""


def _headers_problem(headers: Mapping[str, str]) -> str:
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OUR_HEADERS:
            return f"{name!r} cannot be set for a site"
        if not _HEADER_VALUE.fullmatch(value):
            return f"the value of {name} is not a line of printable ASCII"
    return ""


def _auth_problem(auth: str) -> str:
    return "" if ":" in auth or not auth else 'expected "user:password", or "" for none'


def _proxy_problem(proxy: str) -> str:
    return "" if _PROXY.fullmatch(proxy) else "expected a URL with the scheme http, https, socks5 or socks5h"


HIDDEN_VALUE: Final = "***"
"""What is shown in place of a secret."""


class SiteSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is set for a site; None: not set. Stored as JSON with only what is set."""

    depth: Annotated[int | None, SiteKey("Most hops from a seed.", Affects.SCOPE, _count_problem)] = None
    budget: Annotated[int | None, SiteKey("Most links that are ever crawled.", Affects.SCOPE, _count_problem)] = None
    include: Annotated[
        tuple[str, ...] | None, SiteKey("Patterns of which a URL must match one.", Affects.SCOPE, _patterns_problem)
    ] = None
    exclude: Annotated[
        tuple[str, ...] | None, SiteKey("Patterns of which a URL must match none.", Affects.SCOPE, _patterns_problem)
    ] = None
    types: Annotated[
        tuple[str, ...] | None,
        SiteKey(
            "Content types that are fetched besides HTML and sitemaps; others are left out.",
            Affects.SCOPE,
            types_problem,
        ),
    ] = None
    priority: Annotated[int | None, SiteKey("Sites with a lower number are crawled first.", Affects.ORDER)] = None
    rate: Annotated[
        float | None,
        SiteKey(
            "Most requests per second to one of its hosts, instead of the usual rate.", Affects.PACE, _rate_problem
        ),
    ] = None
    concurrent: Annotated[
        int | None,
        SiteKey("Most requests to one of its hosts at the same time.", Affects.PACE, _concurrent_problem),
    ] = None
    delay: Annotated[
        float | None,
        SiteKey("Shortest time between two requests to one of its hosts, in seconds.", Affects.PACE, _delay_problem),
    ] = None
    recrawl: Annotated[
        float | None,
        SiteKey(
            "Time between two crawls of a page, in seconds, instead of one that adapts.",
            Affects.SCHEDULE,
            _interval_problem,
        ),
    ] = None
    keep_parameters: Annotated[
        tuple[str, ...] | None,
        SiteKey("Query parameters that always matter; `name*` covers all that begin so.", Affects.PARAMETERS),
    ] = None
    drop_parameters: Annotated[
        tuple[str, ...] | None, SiteKey("Query parameters that never matter.", Affects.PARAMETERS)
    ] = None
    max_bytes: Annotated[
        int | None,
        SiteKey("Largest body that is taken; spider.max_body still holds.", Affects.FETCH, _size_problem),
    ] = None
    headers: Annotated[
        dict[str, str] | None,
        SiteKey("Header fields that are sent too.", Affects.FETCH, _headers_problem, is_secret=True),
    ] = None
    auth: Annotated[
        str | None,
        SiteKey('"user:password", sent as basic authentication.', Affects.FETCH, _auth_problem, is_secret=True),
    ] = None
    proxy: Annotated[str | None, SiteKey("Proxy to fetch through.", Affects.FETCH, _proxy_problem, is_secret=True)] = (
        None
    )
    ca: Annotated[str | None, SiteKey("File of certificates to trust for it instead.", Affects.FETCH)] = None
    verify: Annotated[bool | None, SiteKey("Whether its certificate is verified.", Affects.FETCH)] = None
    local: Annotated[
        bool | None,
        SiteKey("Whether its address may be on this machine or in a private network.", Affects.FETCH),
    ] = None

    def __repr__(self) -> str:
        return f"SiteSettings({self.shown()})"

    @property
    def has_credentials(self) -> bool:
        """Whether a request tells its server something that no other may learn."""
        return bool(self.headers or self.auth)

    def values(self) -> dict[str, Any]:
        """What is set, by name."""
        return {name: value for name in SITE_KEYS if (value := getattr(self, name)) is not None}

    def of(self, affects: Affects) -> tuple[Any, ...]:
        """The values of all settings that affect this, set or not, in a fixed order."""
        return tuple(getattr(self, name) for name, key in SITE_KEYS.items() if key.affects is affects)

    def shown(self) -> dict[str, Any]:
        """What is set, as JSON has it and without secrets."""
        plain = msgspec.json.decode(msgspec.json.encode(self))
        return {
            name: HIDDEN_VALUE if SITE_KEYS[name].is_secret and plain[name] else plain[name] for name in self.values()
        }

    def with_setting(self, name: str, value: object) -> SiteSettings:
        """With one setting changed; None takes it back. Raises UsageError."""
        if value is not None:
            value = checked(name, value)
        return msgspec.structs.replace(self, **{name: value})

    def problem(self, affects: Affects) -> str:
        """Why what is set cannot be used, where somebody stored it unchecked; nothing if it can."""
        for name, value in self.values().items():
            if SITE_KEYS[name].affects is affects and (why := SITE_KEYS[name].problem(value)):
                return f"{name}: {why}"
        return ""


SITE_KEYS: Final[Mapping[str, SiteKey]] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(SiteSettings, include_extras=True).items()
}
NO_SETTINGS: Final = SiteSettings()
NO_CREDENTIALS: Final = SiteSettings(headers={}, auth="")
"""Whatever is set for the domain, its secrets are not sent to this host."""
_KIND_WORDS: Final = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "text",
    tuple: "a list of texts",
    dict: "a table",
}


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """A host or a registrable domain that a user named, and what is set for it."""

    name: str
    scope: str = "hosts"
    """hosts | domains | any"""
    is_excluded: bool = False
    seeds: list[str] = []
    settings: SiteSettings = NO_SETTINGS
    led_from: str = ""
    """The seed whose redirects led to this host, which nobody named."""

    @property
    def is_anywhere(self) -> bool:
        """Whether it stands for every host; all others are named after one, or after a domain."""
        return self.name == ANYWHERE


def checked(name: str, value: object) -> Any:
    """A value as SiteSettings holds it; raises UsageError for an unknown name or a value that it cannot have."""
    if name not in SITE_KEYS:
        raise UsageError(f"{name} is no setting of a site; expected one of {', '.join(SITE_KEYS)}")
    try:
        held = getattr(msgspec.convert({name: value}, SiteSettings), name)
    except msgspec.ValidationError:
        found = "something else" if SITE_KEYS[name].is_secret else repr(value)
        raise UsageError(f"{name}: expected {kind_words(name)}, found {found}") from None
    if problem := SITE_KEYS[name].problem(held):
        raise UsageError(f"{name}: {problem}")
    return held


def kind_words(name: str) -> str:
    """The type of a setting in words."""
    kind = get_type_hints(SiteSettings)[name].__args__[0]
    return _KIND_WORDS[getattr(kind, "__origin__", kind)]


def read_settings(stored: str) -> SiteSettings:
    """Read what `msgspec.json.encode` wrote. What another version set and this one cannot read is left out."""
    try:
        return msgspec.json.decode(stored, type=SiteSettings)
    except msgspec.ValidationError:
        settings = SiteSettings()
        for name, value in msgspec.json.decode(stored, type=dict[str, Any]).items():
            try:
                settings = settings.with_setting(name, value)
            except UsageError as error:
                log.warning("setting of a site left out: %s", error)
        return settings


def settings_for(web_host: str, sites: Mapping[str, SiteSettings]) -> SiteSettings:
    """What holds for a web host: of all sites that it may belong to the narrowest wins, setting by setting."""
    merged: dict[str, Any] = {}
    for name in site_names(web_host):
        if name in sites:
            merged |= _for_everybody(sites[name]) if name == ANYWHERE else sites[name].values()
    return SiteSettings(**merged)


def _for_everybody(settings: SiteSettings) -> dict[str, Any]:
    """Without secrets: they are not told to every server that a link leads to."""
    return {name: value for name, value in settings.values().items() if not SITE_KEYS[name].is_secret}
