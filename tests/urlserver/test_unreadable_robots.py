"""A robots.txt that came but cannot be read closes its host: from the response to the spider's result to the rules."""

from __future__ import annotations

import gzip
import zlib

import pytest

from support.simulated_web import SimulatedWeb
from support.simulation import Simulation
from weft.archive.body_decoding import DecodeLimits
from weft.clock import ManualClock
from weft.config.sections import UrlserverSettings
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import Details, DocId, LinkKind, NewLink, Result, Robots, WarcPosition
from weft.robots.policy import FIRST_RETRY, LONGEST
from weft.spider.fetching import Response
from weft.spider.request_builder import RequestBuilder
from weft.spider.response_reader import ResponseReader

START = 1_700_000_000_000
ORIGIN = "https://h0.example"
LIMIT = 500 << 10
REQUESTS = RequestBuilder("weft/1", 10 << 20, LIMIT)
READER = ResponseReader(DecodeLimits(), LIMIT)
CLOSED = b"User-agent: *\nDisallow: /\n" + b"# a comment that makes it longer\n" * 40
PRIVATE = b"User-agent: *\nDisallow: /private\n"


class WebOfResponses(SimulatedWeb):
    """Every robots.txt is one response, read by a real spider's reader."""

    response = Response(b"", b"", None)

    def _robots_result(self, doc_id: DocId, claim: int, url: str) -> Result:
        details = Details(doc_id, LinkKind.ROBOTS, url, claim)
        request = REQUESTS.build("192.0.2.1", details)
        result = READER.read(details, request, self.response, START, START).result
        return Result(
            doc_id=doc_id,
            claim=claim,
            status=result.status,
            error=result.error,
            body=result.body,
            position=WarcPosition("simulated", "0.warc.gz", 0, 1),
        )


class Story:
    def __init__(self, body: bytes, *headers: str, status: int = 200, is_cut: bool = False) -> None:
        self.clock = ManualClock(START)
        self.web = WebOfResponses(hosts=1, ips=1, pages_per_host=1, seed=1)
        host = self.web.by_name["h0.example"]
        host.trouble, host.is_unknown = 0.0, False
        self.mgmt = MemoryMgmt(self.clock)
        self.simulation = Simulation(self.web, self.mgmt, self.clock, UrlserverSettings())
        self.simulation.web.is_allowed = lambda url: True  # type: ignore[method-assign]
        self.answer(body, *headers, status=status, is_cut=is_cut)

    def answer(self, body: bytes, *headers: str, status: int = 200, is_cut: bool = False) -> None:
        head = "\r\n".join([f"HTTP/1.1 {status} X", *headers, "", ""]).encode()
        self.web.response = Response(head, body, None, is_cut)

    @property
    def robots(self) -> Robots:
        return self.mgmt.robots([ORIGIN])[ORIGIN]

    def crawl(self, path: str) -> str:
        """How a new link ends."""
        uri = f"h0.example{path}"
        self.mgmt.add([NewLink(uri, f"https://{uri}", "h0.example")])
        self.simulation.run(until=self.clock.now() + 600_000)
        facts = self.mgmt.known([uri])[uri]
        return facts.error or facts.state.value


UNREADABLE = {
    "plain under the name of gzip": (CLOSED, "Content-Encoding: gzip"),
    "plain under the name of brotli": (CLOSED, "Content-Encoding: br"),
    "plain under the name of zstd": (CLOSED, "Content-Encoding: zstd"),
    "an encoding that nobody knows": (zlib.compress(CLOSED), "Content-Encoding: strange"),
    "three encodings": (CLOSED, "Content-Encoding: gzip, gzip, gzip"),
    "gzip that breaks off": (gzip.compress(CLOSED)[:-20], "Content-Encoding: gzip"),
    "gzip that is damaged": (gzip.compress(CLOSED)[:15] + b"\xff" * 30, "Content-Encoding: gzip"),
    "gzip without a word of its content": (gzip.compress(CLOSED)[:9], "Content-Encoding: gzip"),
    "chunks that break off": (b"20\r\n" + CLOSED[:32] + b"\r\n400\r\nUser", "Transfer-Encoding: chunked"),
    "chunks without an end": (b"10\r\n" + b"#" * 16 + b"\r\n", "Transfer-Encoding: chunked"),
    "chunks that are none": (CLOSED, "Transfer-Encoding: chunked"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_unreadable_robots_txt_closes_its_host_and_is_asked_for_again(kind: str) -> None:
    body, *headers = UNREADABLE[kind]
    story = Story(body, *headers)
    assert story.crawl("/1") == "robots"
    assert (story.robots.status, story.robots.body) == (0, b"")
    assert story.robots.expires - story.robots.fetched == FIRST_RETRY
    story.clock.advance(FIRST_RETRY / 1000)
    assert story.crawl("/2") == "robots"
    assert story.robots.expires - story.robots.fetched == 2 * FIRST_RETRY


def test_when_it_can_be_read_again_its_rules_count() -> None:
    story = Story(CLOSED, "Content-Encoding: gzip")
    assert story.crawl("/1") == "robots"
    story.answer(gzip.compress(PRIVATE), "Content-Encoding: gzip")
    story.clock.advance(FIRST_RETRY / 1000)
    assert story.crawl("/2") == "crawled"
    assert story.crawl("/private") == "robots"
    assert story.robots.expires - story.robots.fetched == LONGEST


@pytest.mark.parametrize("name", ["", "identity", "none", "UTF-8"])
def test_names_that_stand_for_no_encoding_do_no_harm(name: str) -> None:
    story = Story(PRIVATE, f"Content-Encoding: {name}")
    assert story.crawl("/1") == "crawled"
    assert story.crawl("/private") == "robots"


@pytest.mark.parametrize("status", [404, 403])
def test_the_body_of_an_error_page_need_not_be_readable(status: int) -> None:
    assert Story(CLOSED, "Content-Encoding: gzip", status=status).crawl("/1") == "crawled"


def test_what_our_own_limit_cuts_is_used_up_to_the_limit() -> None:
    rule = b"User-agent: *\nDisallow: /private\n"
    plain = rule + b"#" * (LIMIT + 1 - len(rule))
    packed = gzip.compress(rule + b"\n" + b"# filler\n" * 400_000)[:600]
    for story in (Story(plain, is_cut=True), Story(packed, "Content-Encoding: gzip", is_cut=True)):
        assert story.crawl("/1") == "crawled"
        assert story.crawl("/private") == "robots"


def test_a_rule_that_our_limit_cuts_in_two_does_not_count() -> None:
    before = b"User-agent: *\nDisallow: /\n"
    beginning = b"\nAllow: /p"
    body = before + b"#" * (LIMIT - len(before) - len(beginning)) + beginning + b"rivate/guests"
    assert Story(body[: REQUESTS.build("", _robots_link()).most], is_cut=True).crawl("/public") == "robots"


def _robots_link() -> Details:
    return Details(DocId(1), LinkKind.ROBOTS, f"{ORIGIN}/robots.txt", 1)
