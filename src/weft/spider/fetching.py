"""What a fetcher does: a request goes in, a response comes out. The service knows no more about HTTP than this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from mmap import mmap
from typing import Final, NewType, Protocol

from weft.archive.http_message import parse_head
from weft.model.content_type import is_wanted
from weft.model.fetch_error import FetchError


@dataclass(frozen=True, slots=True)
class SiteAccess:
    """What the settings of a site add to a request and its connection."""

    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request; they may hold secrets."""
    proxy: str = ""
    ca: str = ""
    """File of certificates to trust instead of the usual ones."""
    verify: bool = True
    is_local: bool = False
    """Its address may be on this machine or in a private network."""

    @property
    def is_plain(self) -> bool:
        """Connections may be shared with other sites: nothing is special about them."""
        return not self.proxy and not self.ca and self.verify


PLAIN: Final = SiteAccess()


@dataclass(frozen=True, slots=True)
class Request:
    url: str
    ip: str
    lines: tuple[str, ...]
    """Header lines in the order in which they are sent, after Host."""
    public: int
    """How many of them are nobody's secret."""
    access: SiteAccess
    most: int
    """Bytes of the body that are taken."""
    cuts: bool = False
    """A longer body is no error: its beginning is what is wanted."""
    types: tuple[str, ...] | None = None
    """Content types of which the body is taken; None: all."""
    must_connect: bool = False
    """Over a new connection, even if one is kept."""

    def is_unwanted(self, head: bytes) -> bool:
        """Whether this is the head of a success whose body is not to be read."""
        if self.types is None:
            return False
        parsed = parse_head(head)
        return 200 <= parsed.status < 300 and not is_wanted(self.types, parsed.get("content-type"), self.url)

    def head(self, with_secrets: bool) -> bytes:
        """The request as it is sent."""
        authority, slash, path = self.url.partition("://")[2].partition("/")
        lines = self.lines if with_secrets else self.lines[: self.public]
        first = (f"GET {slash}{path} HTTP/1.1", f"Host: {authority}")
        return "\r\n".join((*first, *lines, "", "")).encode("ascii")


@dataclass(frozen=True, slots=True)
class Response:
    """What came, and how it ended."""

    head: bytes
    """Status line and header fields as received."""
    body: bytes | mmap
    """As received: still in its transfer coding and content encoding."""
    error: FetchError | None
    """None: a response. TOO_LARGE: its beginning. UNWANTED_TYPE: its head. Everything else: no response.

    NO_SOCKET: nobody was asked. LOST: a kept connection broke, and nobody knows whether the server saw the request.
    """
    is_cut: bool = False
    """The body is longer than what was taken."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    header_bytes: int
    connect_seconds: float
    total_seconds: float
    idle_seconds: float


WITH_HEAD: Final = frozenset({None, FetchError.TOO_LARGE, FetchError.UNWANTED_TYPE})
"""How a fetch ends that has a response to archive, or the beginning of one."""
FetchId = NewType("FetchId", int)
OnEnd = Callable[[Response], None]


class Fetcher(Protocol):
    """Runs any number of fetches in one event loop. It connects to the address in the request, and follows nothing.

    A request is sent once at most, whatever becomes of its connection.
    """

    def __len__(self) -> int:
        """Fetches that were started and have not ended."""

    def start(self, request: Request, on_end: OnEnd) -> FetchId:
        """Begin a fetch. `on_end` is called once, later, in the event loop; never if the fetch is aborted.

        Whatever the server does is a Response. Raises only if the fetch cannot be begun.
        """

    def abort(self, fetch: FetchId) -> None:
        """Give a fetch up, and its connection. After its end this does nothing."""

    def close(self) -> None:
        """Abort everything and free what the fetcher holds. Nothing can be started afterwards."""
