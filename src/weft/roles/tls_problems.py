"""What went wrong in a TLS handshake, in words that name the setting to look at."""

from __future__ import annotations

import ssl
from typing import Final

FIRST_BYTE: Final = b"\x16"
"""What every TLS client sends first, and nobody who speaks in lines of text."""

_NO_TLS: Final = {
    *("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "UNKNOWN_PROTOCOL", "UNEXPECTED_MESSAGE"),
    *("PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"),
}
"""OpenSSL's names for bytes that are not TLS at all."""
_EXPIRED, _NOT_YET_VALID = 10, 9
_OTHER_NAME: Final = (62, 64)
"""OpenSSL's verify codes: X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH."""


def dial_problem(error: OSError, host: str) -> str:
    """Why no TLS connection to `host` came about; empty if it is not for TLS: refused, unreachable, timed out."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate_problem(error, host)
    if isinstance(error, ssl.SSLError) and not _is_hanging_up(error) and error.reason not in _NO_TLS:
        return f"the TLS handshake failed: {_reason(error)}"
    if isinstance(error, ssl.SSLError | ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
        return "it does not speak TLS, or hung up in the handshake; this node speaks TLS alone (tls.ca)"
    return ""


def accept_problem(error: OSError) -> str:
    """Why somebody who connected to a TLS port did not get in."""
    if isinstance(error, TimeoutError | ConnectionAbortedError):
        return "its TLS handshake did not end in time"
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "it does not speak TLS, and this port speaks nothing else (tls.ca is not set there)"
    if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
        return f"it refused our certificate (tls.certificate here, tls.ca there): {_reason(error)}"
    if isinstance(error, ssl.SSLError) and not _is_hanging_up(error):
        return f"the TLS handshake failed: {_reason(error)}"
    # A node of ours that does not like our certificate hangs up without a word: asyncio sends no alert.
    return "it hung up in the TLS handshake; perhaps it refused our certificate (tls.certificate here, tls.ca there)"


def _certificate_problem(error: ssl.SSLCertVerificationError, host: str) -> str:
    if error.verify_code in _OTHER_NAME:
        return f"its certificate does not name {host}; expected that among the names of its tls.certificate"
    if error.verify_code == _EXPIRED:
        return "its certificate has expired; expected a new one in its tls.certificate"
    if error.verify_code == _NOT_YET_VALID:
        return "its certificate is not valid yet, by the clock of this machine"
    return f"its certificate is not of the CA in tls.ca ({error.verify_message})"


def _is_hanging_up(error: ssl.SSLError) -> bool:
    return isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).lower().replace("_", " ")
