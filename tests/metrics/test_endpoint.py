"""The endpoint of a role, asked over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from weft.config.sections import MgmtSettings
from weft.metrics.endpoint import MetricsAccess, metrics_served
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeType
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper
from weft.roles.listener import open_listener

HOPELESS = 10.0
"""Seconds after which no answer comes."""


class Endpoint:
    def __init__(self, keeper: LeaseKeeper, port: int) -> None:
        self.keeper, self.port = keeper, port

    async def ask(self, path: str, method: str = "GET", host: str = "127.0.0.1") -> tuple[int, str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        async with asyncio.timeout(HOPELESS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(head.lower().partition("content-length: ")[2].split("\r\n")[0])
            body = (await reader.readexactly(length)).decode()
        writer.close()
        return int(head.split()[1]), body


@asynccontextmanager
async def endpoint() -> AsyncIterator[Endpoint]:
    control = ControlPlane(MemoryMgmt())
    keeper = LeaseKeeper(control, NodeType.SPIDER, "127.0.0.1:1", MgmtSettings())
    listener = open_listener("--metrics", "127.0.0.1", 0, "")
    async with metrics_served(MetricsAccess(listener, "", None), keeper):
        yield Endpoint(keeper, listener.getsockname()[1])
    control.close()


def test_a_role_is_healthy_from_its_first_heartbeat_on() -> None:
    async def scenario() -> None:
        async with endpoint() as role:
            assert await role.ask("/healthz") == (503, "it has no lease of the control plane yet\n")
            await role.keeper.register()
            await anext(role.keeper.heartbeats())
            assert await role.ask("/healthz") == (200, "ok\n")

    asyncio.run(scenario())


def test_metrics_are_those_of_this_moment() -> None:
    async def scenario() -> None:
        async with endpoint() as role:
            role.keeper.figures = lambda: {"fetches": 5}
            assert 'weft_spider_fetches_total{node="127.0.0.1:1"} 5.0' in (await role.ask("/metrics"))[1]
            role.keeper.figures = lambda: {"fetches": 6}
            assert 'weft_spider_fetches_total{node="127.0.0.1:1"} 6.0' in (await role.ask("/metrics"))[1]

    asyncio.run(scenario())


def test_a_role_that_cannot_tell_its_figures_says_so_and_goes_on() -> None:
    def broken() -> dict:
        raise OSError("the archive is gone")

    async def scenario() -> None:
        async with endpoint() as role:
            role.keeper.figures = broken
            status, text = await role.ask("/metrics")
            assert (status, text.count("\n")) == (500, 1)
            assert "archive" not in text
            role.keeper.figures = dict
            assert (await role.ask("/metrics"))[0] == 200

    asyncio.run(scenario())


def test_a_web_page_in_a_browser_here_reads_nothing() -> None:
    async def scenario() -> None:
        async with endpoint() as role:
            for host in (
                "evil.example",
                "127.0.0.1:80.evil.example",
                "[::1]:80.evil.example",
                "[::1].evil.example",
                "",
            ):
                assert (await role.ask("/metrics", host=host))[0] == 421, host
            assert (await role.ask("/metrics", method="POST"))[0] == 405

    asyncio.run(scenario())
