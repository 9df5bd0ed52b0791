"""What the app tells of its requests: each is counted once, however it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.web_app import RunningApp, running_app
from support.web_changes import until
from weft.web.limits import WebLimits


def figures(app: RunningApp) -> dict[str, Any]:
    """As of its last heartbeat; empty before the first one."""
    nodes = app.web.control.read(lambda mgmt: mgmt.nodes())
    return next((node.figures for node in nodes if node.address == f"127.0.0.1:{app.port}"), {})


def test_answers_refusals_and_streams_are_counted(own_home: Path) -> None:
    limits = WebLimits(head_bytes=1000)
    with running_app(own_home, "mgmt.heartbeat=0.1", limits=limits, is_node=True) as app:
        until(lambda: app.web.control.read(lambda mgmt: len(mgmt.nodes())) == 2, "the app among the nodes")
        assert app.ask("/api/totals").status == 200
        assert app.ask("/go", q="weft").status in (302, 303, 307)
        assert app.ask("/nothing").status == 404
        assert app.ask("/", headers={"Host": "elsewhere.example"}).status == 421
        assert app.change("/api/retry", {}).status == 401
        assert b" 431 " in app.say(b"GET /" + b"x" * 2000)
        with app.connected() as stream:
            stream.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b" 200 " in stream.recv(1 << 16)
            until(lambda: figures(app)["streams"] == 1, "the stream")
            found = figures(app)
            assert found["answers"] == {"2xx": 2, "3xx": 1, "4xx": 4, "5xx": 0}
            assert {code: count for code, count in found["refused"].items() if count} == {"401": 1, "421": 1, "431": 1}
            assert sum(found["answer_seconds"]["counts"]) == 6, "whatever is no HTTP takes no time"
            assert found["seq"] == app.ask("/api/totals").json["seq"]
        until(lambda: figures(app)["streams"] == 0, "the end of the stream")


def test_connections_beyond_the_limit_count_as_refused(own_home: Path) -> None:
    with running_app(own_home, "mgmt.heartbeat=0.1", limits=WebLimits(connections=2), is_node=True) as app:
        with app.connected() as first, app.connected() as second, app.connected() as third:
            for each in (first, second, third):
                each.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert any(b" 503 " in each.recv(1 << 16) for each in (first, second, third))
        until(lambda: figures(app).get("refused", {}).get("503"), "the refusal")
