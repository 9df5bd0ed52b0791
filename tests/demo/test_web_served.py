"""The synthetic web over real sockets: every behaviour that it can show."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit
from zlib import decompressobj

import pytest

from support.raw_client import Connection, get
from weft.demo.web.answering.hostile import BOMB_BYTES
from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.kinds import ERRORS, PageKind
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.definition.traits import Encoding, RobotsKind, Session
from weft.demo.web.server.serving import Served, serving

PROFILE = replace(
    PROFILES["all"], slow_seconds=0.2, retry_after_seconds=0.5, change_seconds=1e6, vanishing=0.0, changing=0.0
)
PLAN = WebPlan(seed=5, hosts=60, pages=12, page_bytes=(500, 8_000), links=(3, 20), tls=True, profile=PROFILE)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(PLAN, tmp_path_factory.mktemp("served") / "web.log") as running:
        yield running


def one(served: Served, kind: PageKind) -> str:
    """The URL of a resource of this kind, on a host that hides nothing."""
    for host in served.world.all_hosts():
        for number in range(host.layout.count):
            if host.layout.kind(number) is kind and not host.traits.is_soft_404:
                return served.url(host.number, number)
    raise AssertionError(f"no {kind} in this web; choose another seed")


def host_with(served: Served, **traits: object) -> DemoHost:
    for host in served.world.all_hosts():
        if all(getattr(host.traits, name) == value for name, value in traits.items()) and host.number:
            return host
    raise AssertionError(f"no host with {traits} in this web; choose another seed")


def test_a_page_has_what_pages_have(served: Served) -> None:
    answer = get(served, served.url(0))
    text = answer.body.decode()
    assert answer.status == 200
    assert all(part in text for part in ("<title>", '<meta name="description"', "<h1>", "<p>", "<nav>", "p0x0"))
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert parsedate_to_datetime(answer.headers["date"])


def test_sizes_and_links_are_within_the_plan() -> None:
    with serving(WebPlan(hosts=3, pages=20)) as served:
        sizes = [len(get(served, served.url(1, number)).body) for number in range(10)]
    assert min(sizes) > 2_000
    assert max(sizes) < 40_000


def test_content_is_packed_for_those_who_ask(served: Served) -> None:
    for encoding in Encoding:
        url = served.url(host_with(served, encoding=encoding, is_secure=False).number)
        plain, packed = get(served, url), get(served, url, Accept_Encoding="zstd, br;q=0.5, gzip")
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == encoding
        assert packed.content == plain.body
        assert get(served, url, Accept_Encoding="gzip").headers["content-encoding"] == "gzip"


def test_a_head_request_gets_the_head_alone(served: Served) -> None:
    with Connection(served, served.url(0)) as connection:
        connection.send(served.url(0), "HEAD")
        assert int(connection.receive("HEAD").headers["content-length"]) > 100
        connection.send(served.url(0))
        assert connection.receive().body


def test_a_connection_serves_many_requests_also_sent_ahead(served: Served) -> None:
    with Connection(served, served.url(0)) as connection:
        for _ in range(5):
            connection.send(served.url(0))
        bodies = {connection.receive().body for _ in range(5)}
        assert len(bodies) == 1


def test_a_connection_is_closed_when_asked(served: Served) -> None:
    with Connection(served, served.url(0)) as connection:
        connection.send(served.url(0), Connection="close")
        assert connection.receive().headers["connection"] == "close"
        assert connection.sock.recv(1) == b""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
    ],
)
def test_what_is_no_request_is_refused(served: Served, sent: bytes, status: int) -> None:
    with Connection(served, served.url(0)) as connection:
        connection.sock.sendall(sent)
        assert connection.head()[0] == status


def test_an_unknown_host_is_told_so(served: Served) -> None:
    answer = get(served, f"http://nobody.test:{served.plan.port}/")
    assert (answer.status, answer.body) == (404, b"There is no such host.\n")


def test_validators_give_304_until_the_page_changes(served: Served) -> None:
    for way, header, name in ((0, "etag", "If_None_Match"), (2, "last-modified", "If_Modified_Since")):
        number = next(
            host.number for host in served.world.all_hosts() if host.number % 4 == way and not host.traits.is_secure
        )
        url = served.url(number, 1)
        first = get(served, url)
        again = get(served, url, **{name: first.headers[header]})
        assert (again.status, again.body, again.headers[header]) == (304, b"", first.headers[header])
        served.change(url)
        changed = get(served, url, **{name: first.headers[header]})
        assert changed.status == 200
        assert changed.headers[header] != first.headers[header]
        assert changed.body != first.body


def test_a_page_without_validators_is_always_sent(served: Served) -> None:
    number = next(h.number for h in served.world.all_hosts() if h.number % 4 == 3 and not h.traits.is_secure)
    answer = get(served, served.url(number, 1), If_None_Match="*", If_Modified_Since="Thu, 01 Jan 2026 00:00:00 GMT")
    assert answer.status == 200
    assert not {"etag", "last-modified"} & set(answer.headers)


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_have_their_status(served: Served, kind: PageKind) -> None:
    assert get(served, one(served, kind)).status == ERRORS[kind]


def test_retry_after_is_told_in_seconds_or_as_a_date(served: Served) -> None:
    assert get(served, one(served, PageKind.LIMITED)).headers["retry-after"] == "1"
    date = get(served, one(served, PageKind.UNAVAILABLE)).headers["retry-after"]
    assert parsedate_to_datetime(date).timestamp() > time.time() - 60


def test_a_recovering_page_comes_when_its_time_is_over(served: Served) -> None:
    url = one(served, PageKind.RECOVERING)
    assert get(served, url).status == 503
    deadline = time.monotonic() + 20
    while get(served, url).status == 503:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert get(served, url).is_html


def test_redirects_lead_on(served: Served) -> None:
    for kind in (PageKind.MOVED, PageKind.MOVED_AWAY, PageKind.CHAIN):
        url, hops = one(served, kind), 0
        while (answer := get(served, url)).status in (301, 302, 303, 307, 308):
            location = answer.headers["location"]
            url = location if "://" in location else "{0.scheme}://{0.netloc}".format(urlsplit(url)) + location
            hops += 1
        assert answer.status == 200
        assert hops >= (2 if kind is PageKind.CHAIN else 1)


def test_a_loop_comes_back(served: Served) -> None:
    url = one(served, PageKind.LOOP)
    back = [get(served, url + hop).headers["location"] for hop in ("", "/1")]
    assert back[0].endswith("/1")
    assert urlsplit(url).path == urlsplit(back[1]).path
    assert get(served, url + "/2").status == 404


def test_http_leads_to_https_on_secure_hosts(served: Served) -> None:
    host = host_with(served, is_secure=True, robots=RobotsKind.PLAIN)
    for path in ("/", "/robots.txt", "/any/thing?x=1"):
        answer = get(served, f"http://{host.name}:{served.plan.port}{path}")
        assert answer.status == 301
        assert answer.headers["location"] == f"https://{host.name}:{served.plan.tls_port}{path}"
    assert get(served, served.url(host.number)).status == 200
    plain = host_with(served, is_secure=False)
    assert get(served, f"https://{plain.name}:{served.plan.tls_port}/").status == 421


def test_soft_404s_are_pages(served: Served) -> None:
    soft = host_with(served, is_soft_404=True, is_secure=False)
    answers = [get(served, served.url(soft.number) + path) for path in ("nonsense", "other-nonsense")]
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].body == answers[1].body
    assert get(served, served.url(0) + "nonsense").status == 404


def test_variants_and_sessions_are_the_same_page(served: Served) -> None:
    host = host_with(served, has_variants=True, is_secure=False, session=Session.NONE)
    url = served.url(host.number, 2)
    bodies = {get(served, url + query).body for query in ("", "?lang=en", "?lang=en&lang=en", "?ref=nav&lang=en")}
    assert len(bodies) == 1
    assert get(served, url + ";jsessionid=abc").body in bodies


def test_a_session_trap_gives_new_links_each_time(served: Served) -> None:
    host = host_with(served, session=Session.TRAP, is_secure=False)
    url, seen = served.url(host.number), set()
    for _ in range(5):
        text = get(served, url).body.decode()
        session = text.partition("?sid=")[2][:16]
        seen.add(session)
        url = f"{served.url(host.number)}?sid={session}"
    assert len(seen) == 5


def test_a_calendar_and_a_deep_folder_never_end(served: Served) -> None:
    calendar = host_with(served, has_calendar=True, is_secure=False)
    deep = host_with(served, has_deep_trap=True, is_secure=False)
    text = get(served, served.url(calendar.number) + "calendar/9999/12/").body.decode()
    assert 'href="/calendar/9999/11/"' in text
    assert 'href="/calendar/0000/01/"' in text
    folder = "deep/" + "more/" * 50
    assert 'href="more/"' in get(served, served.url(deep.number) + folder).body.decode()


def test_files_are_what_they_say(served: Served) -> None:
    beginnings = {PageKind.IMAGE: b"\x89PNG", PageKind.DOCUMENT: b"%PDF-", PageKind.TEXT: b""}
    media = {
        PageKind.IMAGE: "image/png",
        PageKind.DOCUMENT: "application/pdf",
        PageKind.TEXT: "text/plain; charset=utf-8",
    }
    for kind, beginning in beginnings.items():
        answer = get(served, one(served, kind))
        assert answer.headers["content-type"] == media[kind]
        assert answer.body.startswith(beginning)


def received(connection: Connection, limit: int = 1 << 30) -> bytes:
    """Everything until the end, a reset or the limit."""
    blocks, size = [connection.buffer], 0
    while size < limit and (block := connection.sock.recv(1 << 18)):
        blocks.append(block)
        size += len(block)
    return b"".join(blocks)


def asked(served: Served, kind: PageKind) -> Connection:
    url = one(served, kind)
    connection = Connection(served, url)
    connection.send(url)
    return connection


def test_a_slow_page_comes_in_drips_and_whole(served: Served) -> None:
    with asked(served, PageKind.SLOW) as connection:
        assert b"</html>" in connection.receive().body


def test_an_endless_body_goes_on(served: Served) -> None:
    with asked(served, PageKind.ENDLESS) as connection:
        assert len(received(connection, 4 << 20)) >= 4 << 20


def test_endless_headers_go_on(served: Served) -> None:
    with asked(served, PageKind.ENDLESS_HEADERS) as connection:
        assert b"\r\n\r\n" not in received(connection, 100_000)


def test_a_silent_page_says_nothing(served: Served) -> None:
    with asked(served, PageKind.SILENT) as connection:
        connection.sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.more()


def test_lengths_can_be_wrong_both_ways(served: Served) -> None:
    for kind, is_short in ((PageKind.TOO_SHORT, True), (PageKind.TOO_LONG, False)):
        with asked(served, kind) as connection:
            head, _, body = received(connection).partition(b"\r\n\r\n")
            named = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            assert (len(body) < named) == is_short
            assert len(body) != named


def test_a_reset_is_a_reset(served: Served) -> None:
    with asked(served, PageKind.RESET) as connection, pytest.raises(ConnectionResetError):
        received(connection)


def test_a_bomb_is_small_on_the_wire_and_large_in_memory(served: Served) -> None:
    with asked(served, PageKind.BOMB) as connection:
        answer = connection.receive()
    unpacked, packed, size = decompressobj(wbits=31), answer.body, 0
    while packed:
        size += len(unpacked.decompress(packed, 1 << 20))
        packed = unpacked.unconsumed_tail
    assert size == BOMB_BYTES
    assert len(answer.body) < BOMB_BYTES / 500


def test_other_connections_go_on_beside_hostile_ones(served: Served) -> None:
    with asked(served, PageKind.SILENT), asked(served, PageKind.ENDLESS), asked(served, PageKind.ENDLESS_HEADERS):
        for _ in range(20):
            assert get(served, served.url(0)).status == 200


def robots_way(served: Served, host: DemoHost) -> tuple[list[str], int, bytes]:
    """The URLs on the way to a host's robots.txt, the last status, and the text."""
    url, way = served.url(host.number)[:-1] + "/robots.txt", []
    while True:
        way.append(url)
        answer = get(served, url)
        if answer.status != 301:
            return way, answer.status, answer.body
        url = answer.headers["location"]


def test_robots_txt_comes_in_every_way(served: Served) -> None:
    def way(kind: RobotsKind) -> tuple[list[str], int, bytes]:
        return robots_way(served, host_with(served, robots=kind))

    assert way(RobotsKind.PLAIN)[1] == 200
    assert way(RobotsKind.MISSING)[1] == 404
    assert way(RobotsKind.FORBIDDEN)[1] == 403
    assert way(RobotsKind.FAILING)[1] == 503
    assert len(way(RobotsKind.HUGE)[2]) > 500 << 10
    assert len(way(RobotsKind.MOVED)[0]) == 2
    assert len(way(RobotsKind.CHAIN)[0]) == 5
    assert len(way(RobotsKind.LONG_CHAIN)[0]) == 9
    assert len({urlsplit(url).hostname for url in way(RobotsKind.AWAY)[0]}) == 2
    assert way(RobotsKind.SLOW)[1] == 200
    with pytest.raises(ConnectionResetError):
        way(RobotsKind.RESET)


def test_robots_txt_says_what_the_host_is(served: Served) -> None:
    host = host_with(served, robots=RobotsKind.PLAIN, has_closed=True, has_sitemap=True, crawl_delay=2.0)
    text = robots_way(served, host)[2].lower()
    assert b"crawl-delay: 2" in text
    assert b"allow: /" in text
    assert f"sitemap: {served.url(host.number)}sitemap.xml".encode() in text


def test_the_rules_that_are_kept_elsewhere_are_the_hosts_own(served: Served) -> None:
    host = host_with(served, robots=RobotsKind.AWAY, has_sitemap=True)
    assert f"sitemap: {served.url(host.number)}sitemap.xml".encode() in robots_way(served, host)[2].lower()


def test_a_web_listens_on_all_its_addresses_with_one_port(served: Served) -> None:
    for number in range(served.plan.addresses):
        socket.create_connection((served.plan.address(number), served.plan.port), timeout=5).close()
        socket.create_connection((served.plan.address(number), served.plan.tls_port), timeout=5).close()
    assert len({host.address for host in served.world.all_hosts()}) == served.plan.addresses


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Exception, match=f"127.0.0.1:{port} cannot be listened on"), serving(WebPlan(port=port)):
            raise AssertionError("nothing can be served here")
