"""One fetch at a time through one libcurl handle: what comes is collected, and cut off where a limit is reached."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple, Protocol

import pycurl  # type: ignore[import-untyped]

from weft.model.fetch_error import FetchError
from weft.roles.open_files import has_run_out, socket_problem
from weft.spider.curl_errors import error_of
from weft.spider.fetching import WITH_HEAD, FetchId, FetchLimits, Request, Response
from weft.spider.kept_connections import KeptConnections
from weft.spider.received_body import ReceivedBody

_INTERIM: Final = re.compile(rb"HTTP/1\.[01] 1\d\d(?!\S)")
# An option of libcurl that pycurl has no name for.
_SUPPRESS_CONNECT_HEADERS: Final = 265
_BUFFER: Final = 128 << 10
_STOP: Final = -1
_HOST_NAMES: Final = ("DNS:", "IP Address:")


class SocketAddress(NamedTuple):
    """What libcurl is about to connect to."""

    family: int
    socktype: int
    protocol: int
    addr: tuple[str, int]


class OpenedSocket:
    """A socket until pycurl, which takes a copy, lets go of it; Python's own would complain that nobody closed it."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    @classmethod
    def open(cls, address: SocketAddress) -> OpenedSocket:
        opened = cls(socket.socket(address.family, address.socktype, address.protocol).detach())
        # Where there is no room for pycurl's copy, that would be reported as a server that refuses.
        os.close(os.dup(opened.fileno()))
        return opened

    def fileno(self) -> int:
        return self._number

    def __del__(self) -> None:
        os.close(self._number)


class AddressJudge(Protocol):
    def is_refused(self, address: str, *, is_local: bool = False) -> str | None:
        """Why an address must not be connected to; None: it may."""


@dataclass(frozen=True, slots=True)
class CurlOptions:
    """What all transfers share."""

    limits: FetchLimits
    addresses: AddressJudge
    ca_file: str
    spool: Path
    """Where large bodies wait."""


class CurlTransfer:
    """A reusable handle. begin(), hand `curl` to a CurlLoop, then end() with libcurl's result."""

    def __init__(self, options: CurlOptions, kept: KeptConnections) -> None:
        self._options, self._kept = options, kept
        self.curl = pycurl.Curl()
        self.request: Request
        self.fetch_id = FetchId(0)
        self.last_activity = 0.0
        """When anything was last received, by the monotonic clock."""
        self.is_connected = False
        self.is_stale = False
        """libcurl chose a kept connection that cannot be used: begin() again with a new one."""
        self._is_new = False
        """It has opened a connection."""
        self._was_sent = False
        self._refusal: FetchError | None = None
        self._set_up()

    def begin(self, request: Request, fetch_id: FetchId, *, must_connect: bool = False) -> None:
        """Over a kept connection if there is one, unless it or the request `must_connect`."""
        self.request, self.fetch_id = request, fetch_id
        self._head: list[bytes] = []
        self._head_size = 0
        self._has_head = False
        self._body = ReceivedBody(self._options.spool)
        self._refusal = None
        self.is_stale = self._is_new = self._was_sent = False
        self.is_connected, self.last_activity = False, monotonic()
        set_option = self.curl.setopt
        set_option(pycurl.URL, request.url)
        set_option(pycurl.FRESH_CONNECT, must_connect or request.must_connect)
        set_option(pycurl.HTTPHEADER, list(request.lines))
        set_option(pycurl.MAXFILESIZE_LARGE, 0 if request.cuts else request.most)
        if request.access.proxy:
            # The proxy is there because it knows the way: it looks the name up, too.
            set_option(pycurl.PROXY, request.access.proxy)
        else:
            address = f"[{request.ip}]" if ":" in request.ip else request.ip
            set_option(pycurl.CONNECT_TO, [f"::{address}:"])
        if request.access.ca:
            set_option(pycurl.CAINFO, os.fsencode(request.access.ca))
        if not request.access.verify:
            set_option(pycurl.SSL_VERIFYPEER, 0)
            set_option(pycurl.SSL_VERIFYHOST, 0)

    def is_silent_since(self, moment: float) -> bool:
        # Until it is connected, libcurl's own limit for connecting holds.
        return self.is_connected and self.last_activity < moment

    def end(self, code: int, message: str) -> Response:
        """What became of it, given libcurl's result."""
        error = self._refusal or (self._error(code, message) if code else None)
        if code == pycurl.E_SSL_CACERT_BADFILE and socket_problem():
            error = FetchError.NO_SOCKET  # nor could the file with the certificates be opened
        head = b"".join(self._head) if self._has_head else b""
        if error in WITH_HEAD and not head:
            error = FetchError.BAD_HTTP
        is_cut = error is not None and error in WITH_HEAD
        body = self._body.take() if error is None or is_cut else b""
        if is_cut and self.request.cuts:
            error = None
        self._head, self._body = [], ReceivedBody(self._options.spool)
        return Response(head, body, error, is_cut, message)

    def _error(self, code: int, message: str) -> FetchError:
        error = error_of(code, message, self.curl.getinfo(pycurl.SSL_VERIFYRESULT))
        has_no_connection = error is FetchError.TIMEOUT and not self.is_connected
        return FetchError.CONNECT if has_no_connection else error

    def _set_up(self) -> None:
        limits = self._options.limits
        options = {
            pycurl.NOSIGNAL: 1,
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
            pycurl.PATH_AS_IS: 1,
            # Chunks and encodings stay as they are: the archive keeps what was received.
            pycurl.HTTP_TRANSFER_DECODING: 0,
            pycurl.HTTP_CONTENT_DECODING: 0,
            pycurl.FOLLOWLOCATION: 0,
            pycurl.NETRC: pycurl.NETRC_IGNORED,
            pycurl.PROXY: "",
            pycurl.NOPROXY: "",
            # The head of the record is the server's, not what a proxy says of its tunnel.
            _SUPPRESS_CONNECT_HEADERS: 1,
            pycurl.BUFFERSIZE: _BUFFER,
            pycurl.TIMEOUT_MS: round(limits.total_seconds * 1000),
            pycurl.CONNECTTIMEOUT_MS: round(limits.connect_seconds * 1000),
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.SSLVERSION: pycurl.SSLVERSION_TLSv1_2,
            pycurl.OPT_CERTINFO: 1,
            # A resumed session shows no certificate, and one that was refused could be resumed.
            pycurl.SSL_SESSIONID_CACHE: 0,
            pycurl.HEADERFUNCTION: self._take_header,
            pycurl.WRITEFUNCTION: self._take_body,
            pycurl.OPENSOCKETFUNCTION: self._open_socket,
            pycurl.PREREQFUNCTION: self._check_connection,
        }
        if self._options.ca_file:
            options[pycurl.CAINFO] = os.fsencode(self._options.ca_file)
        for option, value in options.items():
            self.curl.setopt(option, value)

    def _take_header(self, line: bytes) -> int | None:
        self.last_activity = monotonic()
        self._head_size += len(line)
        if self._head_size > self._options.limits.header_bytes:
            self._refusal = FetchError.HEADER_TOO_LARGE
            return _STOP
        if self._has_head:
            if not _INTERIM.match(self._head[0]):
                return None  # a trailer, which the chunked body holds already
            self._head, self._has_head = [], False
        self._head.append(line)
        self._has_head = line in (b"\r\n", b"\n")
        if self._has_head and self.request.is_unwanted(b"".join(self._head)):
            self._refusal = FetchError.UNWANTED_TYPE
            return _STOP
        return None

    def _take_body(self, chunk: bytes) -> int | None:
        self.last_activity = monotonic()
        room = self.request.most - self._body.size
        if len(chunk) <= room:
            self._body.add(chunk)
            return None
        self._body.add(chunk[:room])
        self._refusal = FetchError.TOO_LARGE
        return _STOP

    def _open_socket(self, _purpose: int, address: SocketAddress) -> OpenedSocket | int:
        """The last moment before a connection: the address itself is judged, whatever name led to it."""
        if self._is_repeated():
            return int(pycurl.SOCKET_BAD)
        if self._is_refused(address.addr[0]):
            self._refusal = FetchError.PRIVATE_ADDRESS
            return int(pycurl.SOCKET_BAD)
        self._is_new = True
        try:
            return OpenedSocket.open(address)
        except OSError as error:
            self._refusal = FetchError.NO_SOCKET if has_run_out(error) else FetchError.NETWORK
            return int(pycurl.SOCKET_BAD)

    def _is_refused(self, ip: str) -> bool:
        access = self.request.access
        return not access.proxy and bool(self._options.addresses.is_refused(ip, is_local=access.is_local))

    def _names_a_host(self) -> bool:
        """Whether the certificate of a new connection names a host: libcurl was content with its common name."""
        if not (self.request.url.startswith("https:") and self.request.access.verify):
            return True
        own = dict(next(iter(self.curl.getinfo(pycurl.INFO_CERTINFO)), ()))
        return any(name.startswith(_HOST_NAMES) for name in own.get("X509v3 Subject Alternative Name", "").split(", "))

    def _is_repeated(self) -> bool:
        """Whether libcurl is about to send the request again, which it does at once if a kept connection breaks.

        No option forbids it. The server may have read the first one, so only the URL server knows when to ask again.
        """
        if self._was_sent:
            self._refusal = FetchError.LOST
        return self._was_sent

    def _check_connection(self, ip: str, local_ip: str, _port: int, local_port: int) -> int:
        """Called before the request is sent, over a kept connection too."""
        if self._is_repeated():
            return int(pycurl.PREREQFUNC_ABORT)
        # What is unread would be taken for the response.
        if not self._is_new and self._kept.has_unread((local_ip, local_port)):
            self.is_stale = True
            return int(pycurl.PREREQFUNC_ABORT)
        if self._is_new and not self._names_a_host():
            self._refusal = FetchError.TLS_NAME
            return int(pycurl.PREREQFUNC_ABORT)
        self._was_sent = True
        self.is_connected, self.last_activity = True, monotonic()
        if self._is_refused(ip):
            self._refusal = FetchError.PRIVATE_ADDRESS
            return int(pycurl.PREREQFUNC_ABORT)
        return int(pycurl.PREREQFUNC_OK)
