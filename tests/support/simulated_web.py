"""A web of hosts, addresses, robots.txt and failures, made from a seed; and what each request to it leads to."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from weft.mgmt.values import DocId, NewLink, Result, WarcPosition

ROBOTS_KINDS = {
    "none": 45,
    "rules": 20,
    "delay": 10,
    "too slow": 2,
    "broken": 4,
    "dead": 3,
    "elsewhere": 6,
    "loop": 2,
    "chain": 8,
}
RULES = b"User-agent: *\nDisallow: /private/\n"
DELAY, TOO_LONG = 3, 100


@dataclass
class Behaviour:
    """How one fetch goes."""

    latency: int
    result: Result | None
    """None: the spider stores nothing."""
    is_silent: bool = False
    """DONE never comes."""
    done_after: int = 0
    """Time from the end of the fetch until DONE."""


@dataclass
class SimulatedHost:
    name: str
    ip: str
    robots: str
    is_unknown: bool = False
    trouble: float = 0.0
    """Share of requests that fail."""
    ttl: int = 60_000
    elsewhere: str = ""


@dataclass
class SimulatedWeb:
    hosts: int
    ips: int
    pages_per_host: int
    seed: int
    trouble: float = 0.05
    by_name: dict[str, SimulatedHost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        for number in range(self.hosts):
            host = self._host(f"h{number}.example")
            self.by_name[host.name] = host

    def _host(self, name: str) -> SimulatedHost:
        choose = self.random
        kind = choose.choices(list(ROBOTS_KINDS), list(ROBOTS_KINDS.values()))[0]
        trouble = choose.choice([0.0, 0.0, self.trouble, 4 * self.trouble])
        elsewhere = f"h{choose.randrange(self.hosts)}.example"
        is_unknown, ttl = choose.random() < 0.02, choose.randrange(20_000, 90_000)
        return SimulatedHost(name, self.any_ip(), kind, is_unknown, trouble, ttl, elsewhere)

    def any_ip(self) -> str:
        number = self.random.randrange(self.ips)
        return f"198.51.{number // 256}.{number % 256}"

    def links(self) -> list[NewLink]:
        made = []
        for host in self.by_name.values():
            scheme = self.random.choice(["http", "https", "https"])
            for page in range(self.random.randrange(1, 2 * self.pages_per_host)):
                folder = "private" if self.random.random() < 0.15 else "p"
                uri = f"{host.name}/{folder}/{page}"
                made.append(NewLink(uri, f"{scheme}://{uri}", host.name))
        return made

    def is_allowed(self, url: str) -> bool:
        parts = urlsplit(url)
        body = self._final_robots(f"{parts.scheme}://{parts.netloc}/robots.txt")
        return not (body and b"/private/" in body and parts.path.startswith("/private/"))

    def _final_robots(self, url: str) -> bytes:
        for _ in range(6):
            status, body, location = self.robots(url)
            if not location:
                return body if status == 200 else b""
            url = location
        return b""

    def delay_of(self, origin: str) -> int:
        body = self._final_robots(f"{origin}/robots.txt")
        return DELAY * 1000 if f"Crawl-delay: {DELAY}\n".encode() in body else 0

    def robots(self, url: str) -> tuple[int, bytes, str]:
        """Status (0: no answer), body, location."""
        parts = urlsplit(url)
        host = self.by_name[parts.netloc]
        delay = {"delay": DELAY, "too slow": TOO_LONG}.get(host.robots, 0)
        to_secure = f"https://{host.name}/robots.txt" if parts.scheme == "http" else ""
        answers = {
            "none": (404, b"", ""),
            "broken": (503, b"", ""),
            "dead": (0, b"", ""),
            "elsewhere": (301, b"", f"https://{host.elsewhere}/robots.txt"),
            "loop": (302, b"", url),
            "chain": (301, b"", to_secure) if to_secure else (200, RULES, ""),
        }
        return answers.get(host.robots, (200, RULES + b"Crawl-delay: %d\n" % delay, ""))

    def fetch(self, doc_id: DocId, claim: int, url: str) -> Behaviour:
        choose = self.random
        latency = choose.randrange(20, 400) if choose.random() < 0.95 else choose.randrange(400, 25_000)
        if urlsplit(url).path == "/robots.txt":
            return Behaviour(latency, self._robots_result(doc_id, claim, url))
        if choose.random() < 0.01:
            return self._strange(latency, doc_id, claim)
        host = self.by_name[urlsplit(url).netloc]
        is_trouble = choose.random() < host.trouble
        result = self._failed(doc_id, claim) if is_trouble else self._archived(doc_id, claim, 200)
        return Behaviour(latency, result, done_after=choose.choice([0, 0, 0, 17]))

    def _strange(self, latency: int, doc_id: DocId, claim: int) -> Behaviour:
        kind = self.random.choice(["silent", "lost", "late", "silent but stored"])
        result = self._archived(doc_id, claim, 200)
        if kind == "silent":
            return Behaviour(latency, None, is_silent=True)
        if kind == "silent but stored":
            return Behaviour(latency, result, is_silent=True)
        if kind == "lost":
            return Behaviour(latency, None, done_after=5)
        return Behaviour(latency, result, done_after=40_000)

    def _robots_result(self, doc_id: DocId, claim: int, url: str) -> Result:
        status, body, location = self.robots(url)
        if not status:
            return Result(doc_id=doc_id, claim=claim, error="network")
        return self._archived(doc_id, claim, status, body=body, location=location)

    def _failed(self, doc_id: DocId, claim: int) -> Result:
        kind = self.random.choice(["network", "timeout", "429", "503", "503 later"])
        if kind in ("network", "timeout"):
            return Result(doc_id=doc_id, claim=claim, error=kind)
        later = self.random.randrange(1, 60) * 1000 if kind != "503" else 0
        return self._archived(doc_id, claim, 429 if kind == "429" else 503, retry_after=later)

    def _archived(self, doc_id: DocId, claim: int, status: int, **more: Any) -> Result:
        position = WarcPosition("simulated", "0.warc.gz", 0, 1)
        return Result(doc_id=doc_id, claim=claim, status=status, position=position, **more)
