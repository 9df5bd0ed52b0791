"""What the running URL servers know of a host at this moment."""

from __future__ import annotations

import msgspec

from weft.clock import SystemClock
from weft.config import Settings
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import NodeState, NodeType
from weft.model.host import web_host_of
from weft.urlserver.view.host_text import host_text
from weft.urlserver.view.questions import NoUrlServer, ask_host
from weft.urlserver.view.snapshot import HostView


class HostNow(HostView, frozen=True, kw_only=True, tag_field="told", tag="now"):
    server: str
    """Who answered."""
    words: list[str]
    """The same for people."""


class HostSilent(msgspec.Struct, frozen=True, tag_field="told", tag="nothing"):
    """Nobody can tell."""

    host: str
    problem: str


def host_now(mgmt: OperatorCalls, settings: Settings, url: str) -> HostNow | HostSilent:
    """A host belongs to one URL server at a time, so at most one of them has a queue for it."""
    name, best, problem = web_host_of(url), None, "no URL server is running, so nothing is fetched from it now"
    for address in _url_servers(mgmt):
        try:
            view = ask_host(settings, name, url, address)
        except NoUrlServer as error:
            problem = str(error)
            continue
        if best is None or view.queue is not None:
            best = address, view
    if best is None:
        return HostSilent(name, problem)
    address, view = best
    return HostNow(**msgspec.structs.asdict(view), server=address, words=host_text(view, SystemClock().now()))


def _url_servers(mgmt: OperatorCalls) -> list[str]:
    nodes = [node for node in mgmt.nodes() if node.type is NodeType.CRAWLER]
    return [node.address for node in nodes if node.state is not NodeState.OFFLINE]
