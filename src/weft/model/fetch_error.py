"""Everything that can go wrong with a fetch, and what each of them means to whoever meets it."""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import Self

_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_LONGEST_WAIT = 30 * _DAY
HASTE_TRIES = 5
"""So often a page that is refused for haste is fetched within one crawl."""
_HASTE = frozenset({429, 503})
_OVERLOADED = _HASTE | {502, 504}
_MAY_PASS = _OVERLOADED | {408, 425}


class Fault(Enum):
    """Whose fault an error is."""

    SERVER = auto()
    """The server, or the way to it: leave the host alone for a while."""
    ADDRESS = auto()
    """The host has no address that may be asked."""
    LINK = auto()
    """This URL alone; others of its host are fine."""
    OURS = auto()


class FetchError(StrEnum):
    """The class of an error, as results, link records and archive records store it.

    Waiting, replacing, backing off and explaining read the attributes of a member. A new class is a new member, its row
    in docs/errors.md, and whoever finds it.
    """

    fault: Fault
    first_wait: int
    """Milliseconds until the link is tried again; doubled with every further failure in a row."""
    replaced_from_elsewhere: bool
    """Whether the link that takes its place in the chunk must be of another host."""
    sentence: str
    """For people; continues "https://… was not fetched: "."""

    def __new__(cls, value: str, fault: Fault, first_wait: int, elsewhere: bool, sentence: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.fault, member.first_wait = fault, first_wait
        member.replaced_from_elsewhere, member.sentence = elsewhere, sentence
        return member

    # Reaching the server.
    CONNECT = "connect", Fault.SERVER, 10 * _MINUTE, True, "its server accepts no connection"
    NETWORK = "network", Fault.SERVER, 10 * _MINUTE, True, "its server broke the connection"
    TIMEOUT = "timeout", Fault.SERVER, 10 * _MINUTE, True, "its server did not answer in time"
    TLS = "tls", Fault.SERVER, _DAY, True, "no encrypted connection to its server could be made"
    TLS_EXPIRED = "tls_expired", Fault.SERVER, _DAY, True, "its certificate has expired or is not valid yet"
    TLS_AUTHORITY = (
        "tls_authority",
        Fault.SERVER,
        _DAY,
        True,
        "its certificate is from an unknown authority (site setting ca)",
    )
    TLS_NAME = "tls_name", Fault.SERVER, _DAY, True, "its certificate is for another name"
    BUSY = "busy", Fault.SERVER, _HOUR, True, "its server asked us to slow down"
    UNKNOWN_HOST = "unknown_host", Fault.ADDRESS, _HOUR, True, "there is no such host"
    DNS = "dns", Fault.ADDRESS, _HOUR, True, "its name could not be looked up"
    PRIVATE_ADDRESS = (
        "private_address",
        Fault.ADDRESS,
        _HOUR,
        True,
        "its address is private (--local with its URL, or urlserver.allow_net, allows it)",
    )
    PORT = (
        "port",
        Fault.ADDRESS,
        _HOUR,
        True,
        "its port is not allowed (a seed that names it, or urlserver.allow_ports, allows it)",
    )
    ROBOTS = "robots", Fault.LINK, _DAY, False, "its robots.txt does not allow it"

    # What the server answered.
    BAD_HTTP = "bad_http", Fault.LINK, _HOUR, True, "its server's answer is not valid HTTP"
    HEADER_TOO_LARGE = "header_too_large", Fault.LINK, _HOUR, False, "its headers are too large (limits.header_bytes)"
    TOO_LARGE = "too_large", Fault.LINK, _HOUR, False, "it is too large (spider.max_body, or max_bytes of its site)"
    UNWANTED_TYPE = "unwanted_type", Fault.LINK, 30 * _DAY, False, "its content type is not wanted (types of its site)"
    BOMB = "bomb", Fault.LINK, _HOUR, False, "it unpacks to far more than was sent (limits.body_ratio)"
    BAD_ENCODING = "bad_encoding", Fault.LINK, _HOUR, False, "its content encoding is damaged or unknown"
    HTTP = "http", Fault.LINK, 10 * _MINUTE, False, "its server answered with an error status"
    REDIRECT = "redirect", Fault.LINK, _HOUR, False, "it redirects to an address that is no URL"
    REDIRECT_LOOP = "redirect_loop", Fault.LINK, 7 * _DAY, False, "it redirects to itself"
    BAD_URL = "bad_url", Fault.LINK, _HOUR, False, "its URL cannot be sent to a spider"

    # Parsing it, in a process with bounds.
    TOO_SLOW = "too_slow", Fault.LINK, _HOUR, False, "parsing it took too long (limits.parse_seconds)"
    TOO_MUCH_MEMORY = (
        "too_much_memory",
        Fault.LINK,
        _HOUR,
        False,
        "parsing it took too much memory",
    )
    CRASH = "crash", Fault.LINK, _HOUR, False, "the process that parsed it crashed"

    UNLOADABLE = "unloadable", Fault.LINK, _DAY, False, "it could not be loaded into the index; the log tells why"

    # Our side.
    BAD_SITE = "bad_site", Fault.OURS, _HOUR, True, "the settings of its site cannot be used (`weft sites`)"
    WRONG_ADDRESS = (
        "wrong_address",
        Fault.OURS,
        _MINUTE,
        True,
        "its site has credentials, and a spider was sent to another address than the one looked up",
    )
    NO_SOCKET = "no_socket", Fault.OURS, _MINUTE, False, "weft could not open another connection"
    LOST = "lost", Fault.OURS, _MINUTE, False, "its fetch was lost three times"
    ARCHIVE = "archive", Fault.OURS, _HOUR, False, "its record in the archive cannot be read"
    INTERNAL = "internal", Fault.OURS, _HOUR, False, "weft failed; its log tells more"
    UNKNOWN = "unknown", Fault.OURS, _HOUR, True, "it failed for a reason that this version of weft does not know"

    @classmethod
    def of(cls, stored: str) -> FetchError:
        """The class that a stored result names; UNKNOWN for one that another version of weft wrote."""
        return _BY_NAME.get(stored, cls.UNKNOWN)

    def wait(self, failures: int, retry_after: int = 0) -> int:
        """Milliseconds to wait after the `failures`-th failure in a row; never less than the server asked for."""
        if self.retries_at_once:
            failures -= 1
        wait = self.first_wait << min(failures - 1, 20) if failures else 0
        return max(retry_after, min(wait, _LONGEST_WAIT))

    @property
    def retries_at_once(self) -> bool:
        """Whether the first failure in a row waits for nothing: the page was there, and we have lost it.

        Only the first: an archive that loses everything must not have pages fetched without end.
        """
        return self is FetchError.ARCHIVE

    @property
    def is_temporary(self) -> bool:
        """Whether the same fetch may well succeed later, although nobody changes any setting."""
        # A server that is down is up again sooner or later; its certificate stays as it is.
        is_servers = self.fault is Fault.SERVER and self.first_wait < _DAY
        return is_servers or self in _TEMPORARY

    @property
    def is_refusal(self) -> bool:
        """Whether the page was left out on purpose, by its robots.txt or by a setting: nothing went wrong."""
        return self in _REFUSALS


_TEMPORARY = frozenset(
    {
        FetchError.DNS,
        FetchError.WRONG_ADDRESS,
        FetchError.NO_SOCKET,
        FetchError.LOST,
        FetchError.ARCHIVE,
        FetchError.INTERNAL,
    }
)
_REFUSALS = frozenset({FetchError.ROBOTS, FetchError.PRIVATE_ADDRESS, FetchError.PORT})


def error_of_status(status: int) -> FetchError:
    """The class of an answer that is neither a page nor the news that there is none."""
    return FetchError.BUSY if status in _HASTE else FetchError.HTTP


def is_haste(status: int) -> bool:
    """Whether the server refused because it was asked too often: the same page may be had later."""
    return status in _HASTE


def is_overloaded(status: int) -> bool:
    """Whether the server, or the one in front of it, has too much to do."""
    return status in _OVERLOADED


def is_temporary_status(status: int) -> bool:
    """Whether the same page may well be had later; a 500 is usually a fault of the page."""
    return status in _MAY_PASS


_BY_NAME = {str(error): error for error in FetchError}
