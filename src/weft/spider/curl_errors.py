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
    pycurl.E_COULDNT_CONNECT: FetchError.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: FetchError.TIMEOUT,
    pycurl.E_URL_MALFORMAT: FetchError.BAD_URL,
    pycurl.E_UNSUPPORTED_PROTOCOL: FetchError.BAD_HTTP,
    _WEIRD_SERVER_REPLY: FetchError.BAD_HTTP,
    pycurl.E_BAD_CONTENT_ENCODING: FetchError.BAD_HTTP,
    pycurl.E_FILESIZE_EXCEEDED: FetchError.TOO_LARGE,
    _TOO_LARGE: FetchError.HEADER_TOO_LARGE,
}
_TLS_CODES: Final = frozenset({35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98})
# X509_V_ERR_… of OpenSSL. 1 is what libcurl sets when it finds another name in the certificate.
_CERTIFICATE_FAULTS: Final = {
    **dict.fromkeys((9, 10), FetchError.TLS_EXPIRED),
    **dict.fromkeys((2, 18, 19, 20, 21, 24, 27), FetchError.TLS_AUTHORITY),
    **dict.fromkeys((1, 62), FetchError.TLS_NAME),
}


def error_of(code: int, message: str, verified: int = 0) -> FetchError:
    """`verified` is what came of verifying the certificate, if it came so far."""
    if code == pycurl.E_PEER_FAILED_VERIFICATION:
        return _CERTIFICATE_FAULTS.get(verified, FetchError.TLS)
    if code in _TLS_CODES:
        return FetchError.TLS
    if code == pycurl.E_RECV_ERROR and "chunk" in message.lower():
        return FetchError.BAD_HTTP
    return _CLASSES.get(code, FetchError.NETWORK)
