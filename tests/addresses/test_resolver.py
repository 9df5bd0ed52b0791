"""What a resolver gives and keeps: addresses, times to live, failures, refusals; and whom it makes wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.name_server import AAAA, NXDOMAIN, REFUSED, SERVFAIL, A, Asked, NameServer, Reply, a, zone_end
from support.resolving import NOW, against, resolved, settings_for
from weft.addresses.resolver import Failure, Resolved, Resolver
from weft.clock import ManualClock
from weft.config import TextTable


def test_the_lowest_ipv4_address_is_taken_with_its_time_to_live() -> None:
    zone = {("a.example", A): a("a.example", "93.184.10.2", "93.184.9.3", "93.184.10.1", ttl=300)}
    assert resolved(zone, "a.example") == Resolved("93.184.9.3", "93.184.9.3", NOW + 300_000)


def test_it_works_on_the_standard_event_loop_too() -> None:
    async def main() -> Resolved:
        async with NameServer(
            {("a.example", A): Reply(a("a.example", "93.184.9.3").answers, only_over_tcp=True)}
        ) as server:
            return await Resolver(settings_for(server.address), ManualClock(NOW)).resolve("a.example")

    assert asyncio.run(main()).ip == "93.184.9.3"


def test_ipv6_is_asked_for_only_without_ipv4() -> None:
    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        both, only = await resolver.resolve("both.example"), await resolver.resolve("only.example")
        assert both.ip == "93.184.9.3"
        assert (only.ip, only.ip_key) == ("2a00:1450:4001::5", "2a00:1450:4001::/64")
        assert server.names == [("both.example", A), ("only.example", A), ("only.example", AAAA)]

    zone = {
        ("both.example", A): a("both.example", "93.184.9.3"),
        ("both.example", AAAA): a("both.example", "2a00:1450:4001::5"),
        ("only.example", A): Reply(),
        ("only.example", AAAA): a("only.example", "2a00:1450:4001::6", "2a00:1450:4001::5"),
    }
    against(zone, test)


@pytest.mark.parametrize(
    ("ttl", "seconds"), [(0, 60), (5, 60), (60, 60), (300, 300), (3600, 3600), (100_000, 3600), (2**31 + 5, 60)]
)
def test_times_to_live_have_a_floor_and_a_ceiling(ttl: int, seconds: int) -> None:
    zone = {("a.example", A): a("a.example", "93.184.9.3", ttl=ttl)}
    assert resolved(zone, "a.example", dns_ttl_min=60.0, dns_ttl_max=3600.0).expires == NOW + 1000 * seconds


def test_an_address_is_kept_for_its_time_and_then_asked_for_again() -> None:
    zone = {("a.example", A): a("a.example", "93.184.9.3", ttl=300)}

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        first = await resolver.resolve("a.example")
        clock.advance(299.999)
        zone["a.example", A] = a("a.example", "93.184.9.4", ttl=300)
        assert await resolver.resolve("a.example") is first
        clock.advance(0.001)
        assert (await resolver.resolve("a.example")).ip == "93.184.9.4"
        assert len(server.asked) == 2

    against(zone, test)


@pytest.mark.parametrize("seconds", [3_600, 86_400])
def test_an_address_is_not_kept_for_longer_when_the_clock_is_set_back(seconds: int) -> None:
    zone = {("a.example", A): a("a.example", "93.184.9.3", ttl=300)}

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        await resolver.resolve("a.example")
        clock.advance(-seconds)
        zone["a.example", A] = a("a.example", "93.184.9.4", ttl=300)
        again = await resolver.resolve("a.example")
        assert (again.ip, again.expires) == ("93.184.9.4", clock.now() + 300_000)

    against(zone, test)


def test_a_name_that_does_not_exist_is_remembered() -> None:
    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        found = await resolver.resolve("none.example")
        assert found == Resolved("", "", NOW + 120_000, "none.example does not exist", Failure.UNKNOWN)
        assert await resolver.resolve("none.example") is found
        assert server.names == [("none.example", A)], "what does not exist has no IPv6 address either"

    against({("none.example", A): Reply(code=NXDOMAIN, authorities=[zone_end(500, 120)])}, test)


@pytest.mark.parametrize(
    ("authorities", "seconds"), [([], 900), ([zone_end(90, 500)], 90), ([zone_end(9000, 9000)], 900)]
)
def test_how_long_there_is_no_address_is_told_by_the_zone(authorities: list[Any], seconds: int) -> None:
    nothing = Reply(authorities=authorities)
    found = resolved({("a.example", A): nothing, ("a.example", AAAA): nothing}, "a.example")
    assert found == Resolved("", "", NOW + 1000 * seconds, "a.example has no address", Failure.UNKNOWN)


def test_without_a_word_from_the_zone_there_is_no_address_for_as_long_as_the_setting_says() -> None:
    found = resolved({("a.example", A): Reply(), ("a.example", AAAA): Reply()}, "a.example", dns_ttl_none=300.0)
    assert found.expires == NOW + 300_000


@pytest.mark.parametrize(
    ("code", "name"), [(SERVFAIL, "SERVFAIL"), (REFUSED, "REFUSED"), (4, "NOTIMP"), (11, "with code 11")]
)
def test_a_server_that_cannot_answer_is_asked_again_soon(code: int, name: str) -> None:
    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        found = await resolver.resolve("a.example")
        assert found.failure is Failure.UNANSWERED
        assert found.reason == f"a.example: name server 127.0.0.1 answered {name}"
        assert found.expires == NOW + 60_000
        assert await resolver.resolve("a.example") is found
        assert len(server.asked) == 1

    against({("a.example", A): Reply(code=code)}, test)


def test_silence_ends_with_the_timeout() -> None:
    async def silent(asked: Asked) -> None:
        return None

    found = resolved(silent, "a.example", dns_timeout=0.3)
    assert found.failure is Failure.UNANSWERED
    assert "in time" in found.reason or "within 0.3 seconds" in found.reason


def test_a_lost_question_is_sent_again() -> None:
    ids = list[int]()

    async def handler(asked: Asked) -> Reply | None:
        ids.append(asked.id)
        return a(asked.name, "93.184.9.3") if len(ids) > 1 else None

    assert resolved(handler, "a.example", dns_timeout=3.0).ip == "93.184.9.3"
    assert len(ids) == 2


def test_a_slow_name_holds_nothing_else_up() -> None:
    async def handler(asked: Asked) -> Reply | None:
        if asked.name.startswith("slow"):
            return None
        return a(asked.name, "93.184.9.3")

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        slow = [asyncio.ensure_future(resolver.resolve(f"slow{number}.example")) for number in range(50)]
        fast = await asyncio.gather(*(resolver.resolve(f"fast{number}.example") for number in range(50)))
        assert {found.ip for found in fast} == {"93.184.9.3"}
        assert not any(task.done() for task in slow)
        await resolver.close()
        assert all(
            isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*slow, return_exceptions=True)
        )

    against(handler, test)


def test_when_all_turns_are_taken_known_names_are_still_answered() -> None:
    async def handler(asked: Asked) -> Reply | None:
        return a(asked.name, "93.184.9.3") if asked.name == "known.example" else None

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        await resolver.resolve("known.example")
        slow = asyncio.ensure_future(resolver.resolve("slow.example"))
        while len(server.asked) < 2:
            await asyncio.sleep(0.001)
        assert (await resolver.resolve("known.example")).ip == "93.184.9.3"
        assert (await resolver.resolve("93.184.9.9")).ip == "93.184.9.9"
        assert (await resolver.resolve("static.example")).ip == "93.184.9.8"
        assert not slow.done()

    against(handler, test, dns_concurrent=1, static_hosts=TextTable({"static.example": "93.184.9.8"}))


def test_no_more_look_ups_are_under_way_than_allowed() -> None:
    release = asyncio.Event()
    under_way, most = 0, 0

    async def handler(asked: Asked) -> Reply:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await release.wait()
        under_way -= 1
        return a(asked.name, "93.184.9.3")

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        tasks = [asyncio.ensure_future(resolver.resolve(f"{number}.example")) for number in range(20)]
        while under_way < 3:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        release.set()
        assert {found.ip for found in await asyncio.gather(*tasks)} == {"93.184.9.3"}

    against(handler, test, dns_concurrent=3)
    assert most == 3


def test_look_ups_of_one_name_share_one_question() -> None:
    async def handler(asked: Asked) -> Reply:
        await asyncio.sleep(0.01)
        return a(asked.name, "93.184.9.3")

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        tasks = [asyncio.ensure_future(resolver.resolve("a.example")) for _ in range(10)]
        while not server.asked:
            await asyncio.sleep(0.001)
        tasks[0].cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(ends[0], asyncio.CancelledError)
        assert {end.ip for end in ends[1:]} == {"93.184.9.3"}
        assert len(server.asked) == 1

    against(handler, test)


def test_no_more_names_are_remembered_than_allowed() -> None:
    zone = {(f"{name}.example", A): a(f"{name}.example", "93.184.9.3") for name in "abc"}

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        for name in "abacab":  # c pushes out b, the least recently used
            await resolver.resolve(f"{name}.example")
        assert [name[0] for name, _ in server.names] == ["a", "b", "c", "b"]

    against(zone, test, dns_cache_len=2)


@pytest.mark.parametrize(
    ("addresses", "refused"),
    [
        (["93.184.9.3", "10.0.0.1"], "10.0.0.1 is in 10.0.0.0/8 (private)"),
        (["127.0.0.1"], "127.0.0.1 is in 127.0.0.0/8 (loopback)"),
        (["93.184.9.3", "169.254.169.254", "93.184.9.4"], "169.254.169.254 is in 169.254.0.0/16 (link-local)"),
    ],
)
def test_one_private_address_refuses_the_host(addresses: list[str], refused: str) -> None:
    zone = {("a.example", A): a("a.example", *addresses)}
    found = resolved(zone, "a.example")
    assert found == Resolved("", "", NOW + 300_000, refused, Failure.REFUSED)
    assert resolved(zone, "a.example", allow_net=("0.0.0.0/0",)).ip in addresses


def test_private_ipv6_addresses_refuse_the_host_too() -> None:
    zone = {("a.example", A): Reply(), ("a.example", AAAA): a("a.example", "2a00:1450:4001::5", "64:ff9b::7f00:1")}
    assert resolved(zone, "a.example").failure is Failure.REFUSED


@pytest.mark.parametrize(
    ("host", "ip", "key"),
    [
        ("93.184.9.3", "93.184.9.3", "93.184.9.3"),
        ("[2a00:1450:4001::5]", "2a00:1450:4001::5", "2a00:1450:4001::/64"),
        ("2a00:1450:4001:0::5", "2a00:1450:4001::5", "2a00:1450:4001::/64"),
    ],
)
def test_an_address_needs_no_look_up(host: str, ip: str, key: str) -> None:
    assert resolved({}, host) == Resolved(ip, key, NOW + 6 * 3_600_000)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:7f00:1]"])
def test_a_private_address_is_refused_without_a_look_up(host: str) -> None:
    assert resolved({}, host).failure is Failure.REFUSED


def test_static_hosts_are_not_looked_up() -> None:
    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        names = ["a.demo.test", "b.c.demo.test", "x.c.demo.test", "demo.test", "wiki", "private.test", "a.local"]
        found = [await resolver.resolve(name) for name in names]
        assert [each.ip for each in found] == ["93.0.0.1", "93.0.0.3", "93.0.0.2", "", "93.0.0.4", "", "93.0.0.5"]
        assert found[5].failure is Failure.REFUSED
        assert server.names == [("demo.test", A)]

    table = {
        "*.demo.test": "93.0.0.1", "*.c.demo.test": "93.0.0.2", "b.c.demo.test": "93.0.0.3", "wiki": "93.0.0.4",
        "private.test": "127.0.0.1", "*.local": "93.0.0.5",
    }  # fmt: skip
    against({}, test, static_hosts=TextTable(table))
