"""Whether other nodes will accept the certificate of this one: tried here first, in a handshake with itself."""

from __future__ import annotations

import logging
import ssl
import time
from typing import Final

from weft.config import Settings
from weft.roles.listener import is_unspecified
from weft.roles.tls import client_context
from weft.roles.tls_problems import dial_problem

log = logging.getLogger(__name__)

_SOON_DAYS: Final = 14
_DAY: Final = 86_400


def warn_of_certificate(settings: Settings, server: ssl.SSLContext | None, host: str) -> None:
    """Log that others who know this node as `host` will refuse its certificate, now or soon."""
    dialler = None if server is None else client_context(settings)
    if server is None or dialler is None:
        return
    dialler.check_hostname = not is_unspecified(host)
    try:
        ends = _handshake(dialler, server, host)
    except ssl.SSLError as error:
        log.warning("other nodes will refuse this one (%s): %s", settings.tls.certificate, dial_problem(error, host))
        return
    days = (ends - time.time()) / _DAY
    if days < _SOON_DAYS:
        log.warning("tls.certificate %s expires in %d days", settings.tls.certificate, days)


def _handshake(dialler: ssl.SSLContext, server: ssl.SSLContext, host: str) -> float:
    """When the certificate ends, in seconds since 1970; raises ssl.SSLError as a node that dials would."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    dialling = dialler.wrap_bio(back, there, server_hostname=host if dialler.check_hostname else None)
    answering = server.wrap_bio(there, back, server_side=True)
    while not _is_done(dialling):
        _is_done(answering)
    certificate = dialling.getpeercert() or {}
    return ssl.cert_time_to_seconds(str(certificate["notAfter"]))


def _is_done(side: ssl.SSLObject) -> bool:
    """Go on with the handshake as far as the other side has come."""
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
