"""A robots.txt that cannot be had closes its host and is asked for later and later, in simulated time."""

from __future__ import annotations

import pytest

from support.simulated_web import SimulatedWeb
from support.simulation import Simulation
from weft.clock import ManualClock
from weft.config.sections import UrlserverSettings
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NewLink, Robots
from weft.robots.policy import FIRST_RETRY, LONGEST
from weft.urlserver.mgmt_gateway import failures_before

START = 1_700_000_000_000
ORIGIN = "https://h0.example"
REFUSED = ("robots", "network")
"""With a robots.txt that is an error, and with none because the server does not answer."""


class Story:
    """One host; each link that is added makes the URL server look at robots.txt."""

    def __init__(self, kind: str) -> None:
        self.clock = ManualClock(START)
        self.web = SimulatedWeb(hosts=1, ips=1, pages_per_host=1, seed=1)
        self.host = self.web.by_name["h0.example"]
        self.host.robots, self.host.trouble, self.host.is_unknown = kind, 0.0, False
        self.mgmt = MemoryMgmt(self.clock)
        self.simulation = Simulation(self.web, self.mgmt, self.clock, UrlserverSettings())
        self.added = 0

    @property
    def robots(self) -> Robots:
        return self.mgmt.robots([ORIGIN])[ORIGIN]

    def crawl(self) -> str:
        """How a new link ends."""
        self.added += 1
        uri = f"h0.example/{self.added}"
        self.mgmt.add([NewLink(uri, f"https://{uri}", "h0.example")])
        self.simulation.run(until=self.clock.now() + 600_000)
        facts = self.mgmt.known([uri])[uri]
        return facts.error or facts.state.value

    def wait_from_now_on(self) -> int:
        """Crawl when the last robots.txt has expired; returns for how long the new one holds."""
        self.clock.advance((self.robots.expires - self.clock.now()) / 1000)
        assert self.crawl() in REFUSED
        return self.robots.expires - self.robots.fetched


@pytest.mark.parametrize("kind", ["broken", "dead"])
def test_the_wait_doubles_with_every_failure_up_to_a_day(kind):
    story = Story(kind)
    assert story.crawl() == ("network" if kind == "dead" else "robots")
    waits = [story.robots.expires - story.robots.fetched]
    waits += [story.wait_from_now_on() for _ in range(10)]
    assert waits == [min(FIRST_RETRY << number, LONGEST) for number in range(11)]


def test_before_its_time_it_is_not_asked_for_again():
    story = Story("broken")
    story.crawl()
    fetched = story.robots.fetched
    story.clock.advance((story.robots.expires - story.clock.now()) / 1000 - 30)
    assert story.crawl() == "robots"
    assert story.robots.fetched == fetched


def test_a_restart_does_not_begin_with_the_first_wait_again():
    story = Story("broken")
    story.crawl()
    assert story.wait_from_now_on() == 2 * FIRST_RETRY
    story.simulation.kill_server()
    assert story.wait_from_now_on() == 4 * FIRST_RETRY


def test_an_answer_opens_the_host_and_makes_good():
    story = Story("broken")
    story.crawl()
    story.wait_from_now_on()
    story.host.robots = "rules"
    story.clock.advance((story.robots.expires - story.clock.now()) / 1000)
    assert story.crawl() == "crawled"
    story.host.robots = "broken"
    assert story.wait_from_now_on() == FIRST_RETRY


@pytest.mark.parametrize(
    ("status", "wait", "failures"),
    [(200, LONGEST, 0), (404, LONGEST, 0), (503, 0, 0), (503, FIRST_RETRY, 1), (0, 4 * FIRST_RETRY, 3)],
)
def test_the_last_wait_tells_how_many_failures_there_were(status, wait, failures):
    assert failures_before(Robots(origin=ORIGIN, status=status, fetched=START, expires=START + wait)) == failures
