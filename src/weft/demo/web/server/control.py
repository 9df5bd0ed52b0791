"""Control calls: change a page, let it vanish and come back, switch a host, move the clock."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Final, Protocol

import msgspec

from weft.demo.web.answering.responses import DemoRequest, DemoResponse, whole
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.state import Change
from weft.demo.web.definition.world import World
from weft.errors import UsageError, WeftError

_JSON: Final = (("Content-Type", "application/json"),)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a control call: `do` is one of Change's, or `flush` (the log), or `count` (requests so far)."""

    do: str
    url: str = ""
    host: str = ""
    status: int = 404
    traits: dict[str, Any] = {}
    seconds: float = 0.0


class Controlled(Protocol):
    """What control calls reach."""

    @property
    def world(self) -> World: ...

    def apply(self, change: Change) -> None: ...

    def flush(self) -> None: ...

    def count(self) -> int: ...


class ControlSite:
    """Takes `POST /` with a Call in JSON; answers `{"ok": true}` or `{"ok": false, "error": sentence}`."""

    name, address = "control", "127.0.0.1"

    def __init__(self, server: Controlled) -> None:
        self._server = server

    def answer(self, request: DemoRequest) -> DemoResponse:
        # A web page that a browser shows must not be able to steer this.
        if request.method != "POST" or b"origin" in request.headers:
            return _answer(405, {"ok": False, "error": "expected POST, and not from a web page"})
        try:
            call = msgspec.json.decode(request.body, type=Call)
            return _answer(200, {"ok": True, **self._done(call)})
        except (msgspec.DecodeError, WeftError) as error:
            return _answer(400, {"ok": False, "error": str(error)})

    def _done(self, call: Call) -> dict[str, Any]:
        if call.do == "flush":
            self._server.flush()
        elif call.do == "count":
            return {"requests": self._server.count()}
        else:
            self._server.apply(change_of(self._server.world, call))
        return {}


def change_of(world: World, call: Call) -> Change:
    """The change that a call means, at this moment."""
    change = Change(
        do=call.do, status=call.status, traits=call.traits, seconds=call.seconds, at=time.time(), start=time.monotonic()
    )
    if call.url:
        host, number = world.place(call.url)
        return msgspec.structs.replace(change, host=host.number, number=number)
    if call.host:
        found = world.hosts.named(call.host)
        if found is None:
            raise UsageError(f"there is no host {call.host!r}; expected one such as {world.hosts.numbered(0).name}")
        return msgspec.structs.replace(change, host=found.number)
    if call.do != "advance":
        raise UsageError(f"{call.do!r} needs a url or a host")
    return change


def _answer(status: int, said: dict[str, Any]) -> DemoResponse:
    return replace(whole(PageKind.UNKNOWN, status, _JSON, msgspec.json.encode(said)))
