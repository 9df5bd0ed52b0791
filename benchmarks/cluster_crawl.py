"""A whole crawl of the synthetic web, embedded and in a cluster: pages a second and CPU of all processes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cluster_places import Place, used_by
from cluster_reading import Traced, crawl_questions, tombstones
from crawl import crawl
from weft.clock import SystemClock
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.server.serving import serving
from weft.store.cassandra.address import parse_address
from weft.store.cassandra.cluster_session import ClusterSession
from weft.store.cassandra.schema import make_keyspace


class Crawled(NamedTuple):
    pages: int
    wall: float
    roles: dict[str, float]
    cassandra: float
    postgresql: float
    traced: dict[str, Traced]

    @property
    def cpu(self) -> float:
        return sum(self.roles.values()) + self.cassandra + self.postgresql


def crawled(place: Place, hosts: int, pages: int, directory: Path) -> Crawled:
    """CPU in seconds; starting and stopping are part of it."""
    directory.mkdir()
    with serving(WebPlan(hosts=hosts, pages=pages, addresses=20, profile=PROFILES["plain"])) as served:
        if not place.is_cluster:
            watch, seconds, status = crawl(served, directory)
            return Crawled(status.get("pages") or 1, seconds, watch.by_role(), 0.0, 0.0, {})
        url = place.new_store_url()
        session = ClusterSession(parse_address(url), patience=60.0)
        try:
            make_keyspace(session, place.replication, SystemClock().now())
            used = used_by(place.cassandra_cpu, place.postgresql_cpu)
            more = {"WEFT_STORE_URL": url, "WEFT_MGMT_URL": place.new_mgmt_url()}
            watch, seconds, status = crawl(served, directory, more)
            cassandra, postgresql = used()
            traced = tombstones(url, crawl_questions(served.url(0)))
        finally:
            session.run(f"DROP KEYSPACE IF EXISTS {session.address.keyspace}")
            session.close()
    return Crawled(status.get("pages") or 1, seconds, watch.by_role(), cassandra, postgresql, traced)
