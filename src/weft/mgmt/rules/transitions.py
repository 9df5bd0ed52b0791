"""Every change of state that is allowed, in one place; any other raises and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto, unique
from types import MappingProxyType
from typing import Final

from weft.errors import TransitionRefused
from weft.mgmt.values import BuilderTask, CrawlerTask, LinkState, NodeState


@unique
class Cause(Enum):
    """Why a state changes."""

    CLAIM = auto()
    OPEN = auto()
    """A URL server opens a robots link, which nobody claims."""
    ARCHIVE = auto()
    FAIL = auto()
    RELEASE = auto()
    LEASE_END = auto()
    LOSS = auto()
    """DONE without a stored result."""
    REOPEN = auto()
    SEAL = auto()
    """The last link of a chunk is finished or given back."""
    TAKE = auto()
    BUILD = auto()
    WAIT = auto()
    """Its records cannot be reached."""
    BUILD_AGAIN = auto()
    """The index was lost."""
    RETRY = auto()
    PAUSE = auto()
    DRAIN = auto()
    GO_ON = auto()
    LEAVE = auto()
    REGISTER = auto()


LINK: Final[Mapping[tuple[LinkState, Cause], LinkState]] = MappingProxyType(
    {
        (LinkState.PENDING, Cause.CLAIM): LinkState.CRAWLING,
        (LinkState.CRAWLING, Cause.ARCHIVE): LinkState.CRAWLED,
        (LinkState.CRAWLING, Cause.FAIL): LinkState.ERROR,
        (LinkState.CRAWLING, Cause.RELEASE): LinkState.PENDING,
        (LinkState.CRAWLING, Cause.LEASE_END): LinkState.PENDING,
        (LinkState.CRAWLING, Cause.LOSS): LinkState.PENDING,
        (LinkState.CRAWLED, Cause.REOPEN): LinkState.PENDING,
        (LinkState.ERROR, Cause.REOPEN): LinkState.PENDING,
    }
)

ROBOTS_LINK: Final[Mapping[tuple[LinkState, Cause], LinkState]] = MappingProxyType(
    {
        (LinkState.PENDING, Cause.OPEN): LinkState.CRAWLING,
        (LinkState.CRAWLING, Cause.OPEN): LinkState.CRAWLING,
        (LinkState.CRAWLED, Cause.OPEN): LinkState.CRAWLING,
        (LinkState.ERROR, Cause.OPEN): LinkState.CRAWLING,
        (LinkState.CRAWLING, Cause.ARCHIVE): LinkState.CRAWLED,
        (LinkState.CRAWLING, Cause.FAIL): LinkState.ERROR,
        (LinkState.CRAWLING, Cause.RELEASE): LinkState.PENDING,
        (LinkState.CRAWLING, Cause.LEASE_END): LinkState.PENDING,
        (LinkState.CRAWLING, Cause.LOSS): LinkState.PENDING,
    }
)

CRAWLER: Final[Mapping[tuple[CrawlerTask, Cause], CrawlerTask]] = MappingProxyType(
    {(CrawlerTask.CRAWLING, Cause.SEAL): CrawlerTask.CRAWLED}
)

# A chunk whose build failed or whose builder was lost is in error too while it is offered again.
BUILDER: Final[Mapping[tuple[BuilderTask | None, Cause], BuilderTask]] = MappingProxyType(
    {
        (None, Cause.TAKE): BuilderTask.BUILDING,
        (BuilderTask.ERROR, Cause.TAKE): BuilderTask.BUILDING,
        (BuilderTask.WAITING, Cause.TAKE): BuilderTask.BUILDING,
        (BuilderTask.BUILDING, Cause.WAIT): BuilderTask.WAITING,
        (BuilderTask.BUILDING, Cause.BUILD): BuilderTask.BUILT,
        (BuilderTask.BUILDING, Cause.FAIL): BuilderTask.ERROR,
        (BuilderTask.BUILDING, Cause.RELEASE): BuilderTask.ERROR,
        (BuilderTask.BUILDING, Cause.LEASE_END): BuilderTask.ERROR,
        (BuilderTask.ERROR, Cause.RETRY): BuilderTask.ERROR,
        (BuilderTask.BUILT, Cause.BUILD_AGAIN): BuilderTask.ERROR,
    }
)

NODE: Final[Mapping[tuple[NodeState, Cause], NodeState]] = MappingProxyType(
    {
        (NodeState.ONLINE, Cause.PAUSE): NodeState.PAUSED,
        (NodeState.ONLINE, Cause.DRAIN): NodeState.DRAINING,
        (NodeState.ONLINE, Cause.GO_ON): NodeState.ONLINE,
        (NodeState.PAUSED, Cause.PAUSE): NodeState.PAUSED,
        (NodeState.PAUSED, Cause.DRAIN): NodeState.DRAINING,
        (NodeState.PAUSED, Cause.GO_ON): NodeState.ONLINE,
        (NodeState.DRAINING, Cause.PAUSE): NodeState.PAUSED,
        (NodeState.DRAINING, Cause.DRAIN): NodeState.DRAINING,
        (NodeState.DRAINING, Cause.GO_ON): NodeState.ONLINE,
        (NodeState.ONLINE, Cause.LEAVE): NodeState.OFFLINE,
        (NodeState.PAUSED, Cause.LEAVE): NodeState.OFFLINE,
        (NodeState.DRAINING, Cause.LEAVE): NodeState.OFFLINE,
        (NodeState.ONLINE, Cause.LEASE_END): NodeState.OFFLINE,
        (NodeState.PAUSED, Cause.LEASE_END): NodeState.OFFLINE,
        (NodeState.DRAINING, Cause.LEASE_END): NodeState.OFFLINE,
        (NodeState.OFFLINE, Cause.REGISTER): NodeState.ONLINE,
    }
)

ASKED: Final[Mapping[NodeState, Cause]] = MappingProxyType(
    {
        NodeState.ONLINE: Cause.GO_ON,
        NodeState.PAUSED: Cause.PAUSE,
        NodeState.DRAINING: Cause.DRAIN,
        NodeState.OFFLINE: Cause.LEAVE,
    }
)
"""The cause that leads to a state which a node tells or is asked for."""


def link_after(state: LinkState, cause: Cause, what: object = "", *, is_robots: bool = False) -> LinkState:
    after = (ROBOTS_LINK if is_robots else LINK).get((state, cause))
    if after is None:
        raise _refused("link", what, state, cause)
    return after


def builder_after(task: BuilderTask | None, cause: Cause, what: object = "") -> BuilderTask:
    after = BUILDER.get((task, cause))
    if after is None:
        raise _refused("chunk", what, task, cause)
    return after


def node_after(state: NodeState, cause: Cause, what: object = "") -> NodeState:
    after = NODE.get((state, cause))
    if after is None:
        raise _refused("node", what, state, cause)
    return after


def _refused(kind: str, what: object, state: Enum | None, cause: Cause) -> TransitionRefused:
    change, found = cause.name.lower().replace("_", " "), state.value if state else "new"
    return TransitionRefused(f"{kind} {what}: a {kind} that is {found} cannot change by {change}; nothing was changed")
