"""Running a resolver against a name server that says what a test wants it to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

import uvloop

from support.name_server import Handler, NameServer, Zone
from weft.addresses.resolver import Resolved, Resolver
from weft.clock import ManualClock
from weft.config.sections import UrlserverSettings

NOW = 1_000_000
LONG = 60.0

Test = Callable[[Resolver, NameServer, ManualClock], Awaitable[Any]]


def settings_for(*servers: str, **changed: Any) -> UrlserverSettings:
    return replace(UrlserverSettings(), dns_servers=servers, **{"dns_timeout": LONG, **changed})


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


def against(says: Zone | Handler, test: Test, **changed: Any) -> Any:
    """Run `test` with a resolver that asks a name server which says this."""

    async def main() -> Any:
        clock = ManualClock(NOW)
        async with NameServer(says) as server, Resolver(settings_for(server.address, **changed), clock) as resolver:
            return await test(resolver, server, clock)

    return run(main())


def resolved(says: Zone | Handler, host: str, **changed: Any) -> Resolved:
    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> Resolved:
        return await resolver.resolve(host)

    found: Resolved = against(says, test, **changed)
    return found
