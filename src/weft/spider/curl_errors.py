"""Which class of error each of libcurl's error codes is."""

from __future__ import annotations

from typing import Final

import pycurl  # type: ignore[import-untyped]

from weft.model.fetch_error import FetchError

# Two codes of libcurl that pycurl has no names for.
_WEIRD_SERVER_REPLY: Final = 8
_TOO_LARGE: Final = 100
# See libcurl-errors(3); all others are network.
_CLASSES: Final = {
    pycurl.E_OPERATION_TIMEDOUT: FetchError.TIMEOUT,
    pycurl.E_URL_MALFORMAT: FetchError.BAD_URL,
    pycurl.E_UNSUPPORTED_PROTOCOL: FetchError.BAD_HTTP,
    _WEIRD_SERVER_REPLY: FetchError.BAD_HTTP,
    pycurl.E_BAD_CONTENT_ENCODING: FetchError.BAD_HTTP,
    pycurl.E_FILESIZE_EXCEEDED: FetchError.TOO_LARGE,
    _TOO_LARGE: FetchError.HEADER_TOO_LARGE,
}
_TLS_CODES: Final = frozenset({35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98})


def error_of(code: int, message: str) -> FetchError:
    if code in _TLS_CODES:
        return FetchError.TLS
    if code == pycurl.E_RECV_ERROR and "chunk" in message.lower():
        return FetchError.BAD_HTTP
    return _CLASSES.get(code, FetchError.NETWORK)
