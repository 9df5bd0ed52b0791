"""The metrics of one role, served by itself: GET /metrics and GET /healthz."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from weft import __version__
from weft.metrics.home_catalogue import BUILD
from weft.metrics.role_metrics import role_samples
from weft.metrics.samples import CONTENT_TYPE, Sample, metrics_text
from weft.roles.connection_limit import ConnectionLimit
from weft.roles.http_protocol import HttpAnswer, HttpProtocol, HttpRequest
from weft.roles.lease import LeaseKeeper
from weft.roles.port import open_port

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MetricsAccess:
    """Where the metrics are served, the token that must be shown, and how they are asked for."""

    listener: socket.socket
    token: str
    tls: ssl.SSLContext | None
    """None: in the clear."""


class MetricsProtocol(HttpProtocol):
    """Tells how the role is now, not how it was at its last heartbeat."""

    def __init__(self, token: str, limit: ConnectionLimit, keeper: LeaseKeeper) -> None:
        super().__init__(token, limit)
        self._keeper = keeper

    def is_open_to_all(self, method: str, target: str) -> bool:
        return (method, target) == ("GET", "/healthz")

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        path = request.target.partition("?")[0]
        if path not in ("/metrics", "/healthz"):
            return HttpAnswer(404, b"expected /metrics or /healthz\n")
        if request.method != "GET":
            return HttpAnswer(405, f"expected GET {path}\n".encode())
        return self._metrics() if path == "/metrics" else self._health()

    def _metrics(self) -> HttpAnswer:
        try:
            told = role_samples(self._keeper.node, self._keeper.address, self._keeper.told())
            text = metrics_text([Sample(BUILD, (__version__,), 1), *told])
        except Exception:
            log.exception("metrics not told")
            return HttpAnswer(500, b"the metrics cannot be told; the log of this process tells more\n")
        return HttpAnswer(200, text, CONTENT_TYPE, shows_trust=True)

    def _health(self) -> HttpAnswer:
        problem = self._keeper.problem
        return HttpAnswer(503, f"{problem}\n".encode()) if problem else HttpAnswer(200, b"ok\n")


@asynccontextmanager
async def metrics_served(access: MetricsAccess, keeper: LeaseKeeper) -> AsyncIterator[None]:
    """Serve the metrics of the keeper's node for as long as this lasts."""
    port = await open_port(
        access.listener, partial(MetricsProtocol, access.token, ConnectionLimit(), keeper), access.tls
    )
    try:
        yield
    finally:
        port.close()
