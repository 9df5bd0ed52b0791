"""The story of the control plane's document, played on a real one: six links from unknown to served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from weft.errors import MgmtError
from weft.mgmt.api import Mgmt
from weft.mgmt.relations import DOCUMENTED
from weft.mgmt.values import Chunk, ClaimedLink, NewLink, NodeType, Result, WarcPosition
from weft.model.fetch_error import FetchError
from weft.model.url import UrlRules

CRAWLER: Final = "10.10.127.100:5000"
BUILDER: Final = "10.10.127.101:5000"
SERVER: Final = "10.10.127.102:5000"

Table = Sequence[Mapping[str, object]]


class StoryStep(NamedTuple):
    """What happened, and all relations afterwards."""

    title: str
    tables: Mapping[str, Table]


def story(mgmt: Mgmt) -> Iterator[StoryStep]:
    """Play it on an empty control plane, one step at a time."""
    crawler = mgmt.register(NodeType.CRAWLER, CRAWLER)
    builder = mgmt.register(NodeType.INDEX_BUILDER, BUILDER)
    server = mgmt.register(NodeType.INDEX_SERVER, SERVER, row=1)
    mgmt.add([_link(number) for number in range(1, 7)])
    yield _step(mgmt, "Six links are inserted: pending, without a chunk")
    chunk = _required(mgmt.claim(crawler))
    yield _step(mgmt, "The crawler requests links: the first five become a chunk, crawling")
    bad = chunk.links[4]
    mgmt.report([Result(doc_id=bad.doc_id, claim=bad.claim, error=FetchError.NETWORK)])
    instead = mgmt.outcomes([bad.doc_id])[bad.doc_id].replacement
    yield _step(
        mgmt, f"Link {bad.doc_id} fails: it is kept as an error, and a pending link takes its place in the chunk"
    )
    mgmt.report([_archived(link) for link in (*chunk.links[:4], instead) if link is not None])
    yield _step(mgmt, "The others are fetched: no link of the chunk is crawling any more, so it is crawled")
    (taken,) = mgmt.take_crawled(builder)
    yield _step(mgmt, "The index builder requests chunks and gets this one: building")
    mgmt.built(builder, taken.id, taken.attempt, seq=1)
    yield _step(mgmt, "It is built, and distributed to the index server")
    mgmt.acknowledge(server, seq=1)
    yield _step(mgmt, "The index server has committed what the index held by then: indexed")


def _link(number: int) -> NewLink:
    page = UrlRules().identify(f"https://www.example_{number}.com")
    return NewLink(page.uri, page.url, f"www.example_{number}.com")


def _archived(link: ClaimedLink) -> Result:
    position = WarcPosition(CRAWLER, "example.warc.gz", 1000 * link.doc_id, 1000)
    return Result(doc_id=link.doc_id, claim=link.claim, status=200, position=position)


def _required(chunk: Chunk | None) -> Chunk:
    if chunk is None or chunk.id != 1:
        raise MgmtError("the story needs a control plane that nobody has used; expected an empty one")
    return chunk


def _step(mgmt: Mgmt, title: str) -> StoryStep:
    return StoryStep(title, {relation: mgmt.table(relation) for relation in DOCUMENTED})
