"""A crawler as a process of its own: claims, reports, and writes down what was acknowledged. Made to be killed.

crawl_worker.py DATABASE ADDRESS LOG STOP
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

from weft import failpoints
from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost
from weft.mgmt.api import Mgmt
from weft.mgmt.values import ClaimedLink, Lease, NodeType, Result, WarcPosition

QUICK = MgmtSettings(heartbeat=0.5, lease=2.0)


def open_database(database: str) -> Mgmt:
    if database.startswith("postgresql:"):
        from weft.mgmt.postgres import PostgresMgmt

        return PostgresMgmt(database, QUICK)
    from weft.mgmt.sqlite import SqliteMgmt

    return SqliteMgmt(Path(database), settings=QUICK)


def main(database: str, address: str, log: str, stop: str) -> None:
    failpoints.arm(os.environ.get("WEFT_FAIL", ""))
    mgmt, random = open_database(database), Random(os.getpid())
    lease = mgmt.register(NodeType.CRAWLER, address)
    with Path(log).open("a") as acknowledged:
        while not Path(stop).exists():
            try:
                links = crawl(mgmt, lease, random)
                mgmt.heartbeat(lease)
            except LeaseLost:
                lease = mgmt.register(NodeType.CRAWLER, address)
                continue
            acknowledged.writelines(f"{link.doc_id} {link.claim}\n" for link in links)
            acknowledged.flush()
    mgmt.close()


def crawl(mgmt: Mgmt, lease: Lease, random: Random) -> list[ClaimedLink]:
    """One chunk; the links whose results the control plane said it has."""
    chunk = mgmt.claim(lease, 8)
    if chunk is None:
        mgmt.seal_finished(lease)
        return []
    results = [result(link, random) for link in chunk.links]
    answers = mgmt.report(results)
    outcomes = mgmt.outcomes([link.doc_id for link in chunk.links])
    mgmt.release(lease, [outcome.replacement.doc_id for outcome in outcomes.values() if outcome.replacement])
    return [link for link, taken in zip(chunk.links, answers, strict=True) if taken]


def result(link: ClaimedLink, random: Random) -> Result:
    if random.random() < 0.1:
        return Result(doc_id=link.doc_id, claim=link.claim, error="network")
    position = WarcPosition("spider:1", "a.warc.gz", link.doc_id, 1)
    return Result(doc_id=link.doc_id, claim=link.claim, status=200, position=position)


if __name__ == "__main__":
    main(*sys.argv[1:])
