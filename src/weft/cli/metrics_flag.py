"""`--metrics ADDRESS`: a role serves its own metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import click

from weft.cli.output import say
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.config import Settings
    from weft.metrics.endpoint import MetricsAccess
    from weft.roles.lease import LeaseKeeper

metrics_option = click.option(
    "--metrics", "metrics", metavar="ADDRESS", help="Serve /metrics and /healthz of this process at host:port."
)


@contextmanager
def metrics_access(settings: Settings, address: str | None) -> Iterator[MetricsAccess | None]:
    """The socket that `--metrics` asks for, before the role begins; None: it asks for none. Raises UsageError."""
    if address is None:
        yield None
        return
    from weft.config import host_and_port
    from weft.metrics.endpoint import MetricsAccess
    from weft.roles.listener import address_of, open_listener
    from weft.roles.tls import server_context

    try:
        host, port = host_and_port(address)
    except ValueError as error:
        raise UsageError(f"--metrics: {error}; expected an address such as 127.0.0.1:9471") from error
    tls, token = server_context(settings, host), settings.spider.token
    with open_listener("--metrics", host, port, token) as listener:
        say(f"metrics are at {'https' if tls else 'http'}://{address_of(listener)}/metrics")
        yield MetricsAccess(listener, token, tls)


@asynccontextmanager
async def serving_metrics(access: MetricsAccess | None, keeper: LeaseKeeper) -> AsyncIterator[None]:
    """Serve them while the role runs, if they were asked for."""
    if access is None:
        yield
        return
    # Not earlier: other roles need not load what renders metrics.
    from weft.metrics.endpoint import metrics_served

    async with metrics_served(access, keeper):
        yield
