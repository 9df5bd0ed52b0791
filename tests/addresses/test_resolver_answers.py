"""How a resolver reads answers: aliases, TCP, answers to other questions, damage, several servers."""

from __future__ import annotations

from itertools import pairwise

import pytest

from support.name_server import (
    AAAA,
    CNAME,
    SERVFAIL,
    A,
    Asked,
    NameServer,
    Reply,
    Zone,
    a,
    closed_port,
    silent_port,
    zone_end,
)
from support.resolving import NOW, against, resolved, run, settings_for
from weft.addresses.resolver import Failure, Resolved, Resolver
from weft.clock import ManualClock


def chain(*names: str, ttl: int = 300) -> list[tuple[str, int, int, str | bytes]]:
    """Aliases, each of the next one."""
    return [(name, CNAME, ttl, to) for name, to in pairwise(names)]


def test_aliases_in_an_answer_are_followed_in_any_order_and_the_shortest_time_counts() -> None:
    answers = chain("a.example", "B.example", ttl=500) + chain("b.example", "c.example", ttl=120)
    answers += a("c.example", "93.184.9.3", ttl=300).answers + a("other.example", "93.0.0.1", ttl=70).answers
    found = resolved({("a.example", A): Reply(answers[::-1])}, "a.example")
    assert found == Resolved("93.184.9.3", "93.184.9.3", NOW + 120_000)


def test_addresses_of_another_name_do_not_count() -> None:
    wrong = a("evil.example", "93.0.0.1")
    assert resolved({("a.example", A): wrong, ("a.example", AAAA): wrong}, "a.example").failure is Failure.UNKNOWN


def test_an_alias_that_leads_out_of_the_answer_is_asked_for() -> None:
    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        assert (await resolver.resolve("a.example")).ip == "93.184.9.3"
        assert server.names == [("a.example", A), ("c.example", A)]

    zone = {
        ("a.example", A): Reply(chain("a.example", "b.example", "c.example")),
        ("c.example", A): a("c.example", "93.184.9.3"),
    }
    against(zone, test)


def test_an_alias_of_a_name_without_addresses_is_final_if_the_zone_says_so() -> None:
    nothing = Reply(chain("a.example", "b.example"), authorities=[zone_end(100, 100)])

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        assert (await resolver.resolve("a.example")).failure is Failure.UNKNOWN
        assert server.names == [("a.example", A), ("a.example", AAAA)]

    against({("a.example", A): nothing, ("a.example", AAAA): nothing}, test)


@pytest.mark.parametrize("names", [("a.example", "a.example"), ("a.example", "b.example", "a.example")])
def test_aliases_in_a_circle_end(names: tuple[str, ...]) -> None:
    circle = Reply(chain(*names))
    assert resolved({("a.example", A): circle, ("a.example", AAAA): circle}, "a.example").failure is Failure.UNKNOWN


def test_aliases_without_an_end_are_not_followed_for_ever() -> None:
    async def handler(asked: Asked) -> Reply:
        return Reply(chain(asked.name, f"x{asked.name}"))

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        found = await resolver.resolve("a.example")
        assert (found.failure, found.reason) == (Failure.UNANSWERED, "a.example: too many aliases")
        assert len(server.asked) == 8

    against(handler, test)


def test_an_answer_that_does_not_fit_is_asked_for_over_tcp() -> None:
    addresses = [f"93.{number >> 8}.{number & 255}.9" for number in range(250)]

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        assert (await resolver.resolve("a.example")).ip == "93.0.0.9"
        assert [asked.is_tcp for asked in server.asked] == [False, True]

    against({("a.example", A): Reply(a("a.example", *addresses).answers, only_over_tcp=True)}, test)


def test_answers_that_are_far_too_large_are_failures() -> None:
    addresses = [f"93.{number >> 8}.{number & 255}.9" for number in range(2400)]

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        for name, why in (("tcp.example", "bytes; expected at most"), ("udp.example", "more than 16384 bytes or 256")):
            found = await resolver.resolve(name)
            assert found.failure is Failure.UNANSWERED
            assert why in found.reason

    zone = {
        ("tcp.example", A): Reply(a("tcp.example", *addresses).answers, only_over_tcp=True),
        ("udp.example", A): a("udp.example", *addresses[:300]),
    }
    against(zone, test)


def test_a_tcp_answer_that_is_none_is_a_failure() -> None:
    async def handler(asked: Asked) -> Reply | None:
        if not asked.is_tcp:
            return Reply(only_over_tcp=True)
        if asked.name.startswith("closed"):
            asked.respond(b"")
        elif asked.name.startswith("short"):
            asked.respond(asked.message(a(asked.name, "93.0.0.1"))[:-3])
        elif asked.name.startswith("other"):
            asked.respond(asked.message(a(asked.name, "93.0.0.1"), id_=asked.id ^ 1))
        else:
            asked.respond(asked.id.to_bytes(2) + b"\x83\x80\0\1\0\0\0\0\0\0" + asked.question)
        return None

    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        found = [await resolver.resolve(f"{name}.example") for name in ("closed", "short", "other", "parts")]
        assert [each.failure for each in found] == [Failure.UNANSWERED] * 4
        assert [each.reason.partition(": ")[2] for each in found] == [
            "name server 127.0.0.1 closed the connection",
            "a record ends behind the message",
            "name server 127.0.0.1 answered other questions",
            "name server 127.0.0.1 answered in parts",
        ]

    against(handler, test)


def test_only_the_answer_to_the_question_counts() -> None:
    async def handler(asked: Asked) -> Reply:
        evil = a(asked.name, "93.66.66.66")
        asked.respond(asked.message(evil, id_=asked.id ^ 1))
        asked.respond(asked.message(evil, question=b"\4evil\0\0\1\0\1"))
        asked.respond(asked.message(evil, question=asked.question[:-4] + b"\0\x1c\0\1"))
        asked.respond(asked.message(Reply(evil.answers))[:2] + b"\1" + asked.message(evil)[3:])
        asked.respond(b"")
        asked.respond(b"\0" * 500)
        asked.respond(asked.message(evil)[:14])
        with silent_port() as other:
            assert asked.client is not None
            other.sendto(asked.message(evil), asked.client)
        return a(asked.name, "93.184.9.3")

    assert resolved(handler, "a.example").ip == "93.184.9.3"


def test_a_flood_of_wrong_answers_is_a_failure() -> None:
    async def handler(asked: Asked) -> None:
        for number in range(100):
            asked.respond(asked.message(a(asked.name, "93.66.66.66"), id_=asked.id ^ (number + 1)))

    found = resolved(handler, "a.example")
    assert found.reason == "a.example: name server 127.0.0.1 answered other questions"


def test_a_damaged_answer_is_a_failure() -> None:
    async def handler(asked: Asked) -> None:
        asked.respond(asked.message(a(asked.name, "93.0.0.1"))[:-1])

    assert resolved(handler, "a.example").reason == "a.example: a record ends behind the message"


def test_a_server_that_cannot_read_the_question_need_not_repeat_it() -> None:
    async def handler(asked: Asked) -> None:
        asked.respond(asked.id.to_bytes(2) + b"\x80\1" + b"\0" * 8)

    assert "FORMERR" in resolved(handler, "a.example").reason


@pytest.mark.parametrize("host", ["", ".", "a..b", "a" * 64 + ".example", "a." * 127 + "example", "ä.example"])
def test_what_is_no_name_is_not_asked_for(host: str) -> None:
    async def test(resolver: Resolver, server: NameServer, clock: ManualClock) -> None:
        found = await resolver.resolve(host)
        assert found.failure is Failure.UNKNOWN
        assert "is no name" in found.reason
        assert server.asked == []

    against({}, test)


def test_the_longest_names_are_asked_for() -> None:
    name = ".".join(["a" * 63] * 3 + ["b" * 61])
    assert len(name) == 253
    assert resolved({(name, A): a(name, "93.184.9.3")}, name).ip == "93.184.9.3"


def test_the_next_server_is_asked_when_one_fails() -> None:
    async def main() -> None:
        failing: Zone = {("a.example", A): Reply(code=SERVFAIL), ("b.example", A): Reply(code=SERVFAIL)}
        working: Zone = {(name, A): a(name, "93.184.9.3") for name in ("a.example", "b.example")}
        async with NameServer(failing) as first, NameServer(working) as second:
            servers = (f"127.0.0.1:{closed_port()}", first.address, second.address)
            resolver = Resolver(settings_for(*servers), ManualClock(NOW))
            assert (await resolver.resolve("a.example")).ip == "93.184.9.3"
            assert (await resolver.resolve("b.example")).ip == "93.184.9.3"
            assert first.names == [("a.example", A)], "what failed once is asked last"

    run(main())


def test_a_silent_server_does_not_keep_others_from_answering() -> None:
    async def main() -> None:
        with silent_port() as silent:
            async with NameServer({("a.example", A): a("a.example", "93.184.9.3")}) as second:
                servers = (f"127.0.0.1:{silent.getsockname()[1]}", second.address)
                resolver = Resolver(settings_for(*servers, dns_timeout=3.0), ManualClock(NOW))
                assert (await resolver.resolve("a.example")).ip == "93.184.9.3"

    run(main())


def test_servers_that_all_fail_are_a_failure() -> None:
    async def main() -> Resolved:
        return await Resolver(settings_for(f"127.0.0.1:{closed_port()}"), ManualClock(NOW)).resolve("a.example")

    assert run(main()).failure is Failure.UNANSWERED
