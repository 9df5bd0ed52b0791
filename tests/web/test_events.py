"""Streams of events over real sockets: nothing is missed or told twice, and nothing is left behind."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from support.web_app import PATIENCE, Answer, RunningApp, running_app
from support.web_live import Event, EventClient, WrittenHome, asking, streaming, written_home
from weft.web import event_feed
from weft.web.limits import WebLimits

SITES = "abcdefgh"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WrittenHome]:
    with written_home(tmp_path) as made:
        made.load(("https://a.com/", "A", [("https://b.com/", "b")]))
        yield made


@pytest.fixture
def live(home: WrittenHome) -> Iterator[RunningApp]:
    with running_app(home.path) as app:
        yield app


def linked(home: WrittenHome, number: int, links: int = 30) -> None:
    """A batch of a few pages with many links, other ones each time."""
    pages = [
        (f"https://{site}.com/", f"{site} {number}", [(f"https://t{number}.com/{n}", f"to {n}") for n in range(links)])
        for site in SITES[: 1 + number % 4]
    ]
    home.load(*pages)


def changes_of(events: list[Event]) -> list[dict[str, Any]]:
    return [item for event in events if event.name == "changes" for item in event.data]


def whole_history(app: RunningApp, **asked: Any) -> list[dict[str, Any]]:
    """All changes, oldest first, as the API lists them."""
    with app.web.index.borrowed() as index:
        items = index.changes(limit=10_000, **asked).items
    return msgspec.to_builtins(items[::-1])


def until_read(app: RunningApp, links: int) -> None:
    """Wait until the app sees so many changes."""
    end = time.monotonic() + PATIENCE
    while len(whole_history(app)) < links:
        assert time.monotonic() < end, "the app does not follow the index"
        time.sleep(0.05)


def written(app: RunningApp, home: WrittenHome) -> str:
    """A mark of now, as pages have it."""
    with app.web.index.borrowed() as index:
        return str(index.totals().seq)


def until_open(app: RunningApp, **asked: Any) -> EventClient:
    """A stream, as soon as there is a place for one."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with streaming(app, **asked) as client:
                return client
        except AssertionError:
            assert time.monotonic() < end, "no place became free"
            time.sleep(0.05)


@pytest.mark.parametrize("seed", range(4))
def test_cuts_anywhere_neither_lose_nor_double_a_change(
    home: WrittenHome, live: RunningApp, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(event_feed, "_MOST_CHANGES", 7)
    chance = random.Random(seed)
    mark, known, found = written(live, home), len(whole_history(live)), []
    for number in range(12):
        linked(home, number)
        with streaming(live, mark, topics="changes") as client:
            found += changes_of(client.take(chance.randrange(1, 6000)))
            mark = client.mark or mark
    until_read(live, known + 1)
    with streaming(live, mark, topics="changes") as client:
        while len(found) < len(whole_history(live)) - known:
            event = client.next()
            assert event, "the stream ended"
            found += changes_of([event])
    assert found == whole_history(live)[known:]


def test_whoever_was_cut_off_before_the_first_event_misses_nothing(home: WrittenHome, live: RunningApp) -> None:
    known = len(whole_history(live))
    with streaming(live, topics="changes") as client:
        mark = client.until_marked()
    linked(home, 1, links=3)
    until_read(live, known + 1)
    with streaming(live, mark, topics="changes") as client:
        event = client.next()
    assert event
    assert event.data == whole_history(live)[known:]


def test_a_page_goes_on_from_the_seq_of_its_answer(home: WrittenHome, live: RunningApp) -> None:
    shown = live.ask("/api/changes").json
    linked(home, 1, links=3)
    until_read(live, len(shown["items"]) + 1)
    with streaming(live, topics="changes", after=shown["seq"]) as client:
        event = client.next()
    assert event
    assert shown["items"][::-1] + event.data == whole_history(live)


def test_the_last_id_of_a_browser_counts_more_than_where_its_page_began(home: WrittenHome, live: RunningApp) -> None:
    linked(home, 1, links=3)
    until_read(live, 4)
    known, mark = len(whole_history(live)), written(live, home)
    linked(home, 2, links=3)
    until_read(live, known + 1)
    with streaming(live, mark, topics="changes", after="0") as client:
        event = client.next()
    assert event
    assert event.data == whole_history(live)[known:]


@pytest.mark.parametrize(
    "asked", [{"kind": "pages"}, {"kind": "links"}, {"of": "t1.com"}, {"of": "https://t1.com/2"}, {"of": "a.com"}]
)
def test_a_stream_can_be_of_what_the_page_of_changes_shows(
    home: WrittenHome, live: RunningApp, asked: dict[str, str]
) -> None:
    linked(home, 1, links=4)
    until_read(live, 4)
    expected = whole_history(live, **asked)
    assert 0 < len(expected) < len(whole_history(live))
    with streaming(live, topics="changes", after="0", **asked) as client:
        found: list[dict[str, Any]] = []
        while len(found) < len(expected):
            event = client.next()
            assert event
            found += event.data
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_times_without_changes_have_a_comment_with_the_newest_id(
    home: WrittenHome, live: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_feed, "_QUIET_SECONDS", 0.1)
    with streaming(live, topics="changes", of="https://elsewhere.com/", after="0") as client:
        client.until_comment()
        assert client.mark == written(live, home)


def test_the_mark_of_another_index_is_told_and_the_stream_begins_anew(
    home: WrittenHome, live: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_feed, "_AHEAD_SECONDS", 0.0)
    known = len(whole_history(live))
    with streaming(live, "999999.3", topics="changes") as client:
        event = client.next()
        assert event
        assert event.name == "restarted"
        assert event.mark == written(live, home)
        linked(home, 1, links=3)
        after = client.next()
    assert after
    assert after.data == whole_history(live)[known:]


def test_status_and_figures_come_without_ids(live: RunningApp) -> None:
    with streaming(live, topics="status,figures") as client:
        events = {event.name: event for event in (client.next(), client.next()) if event}
    assert set(events) == {"status", "figures"}
    assert events["status"].data["links"] == live.ask("/api/status").json["links"]
    assert events["figures"].data["waiting"] == 0
    assert not client.mark


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"topics": "weather"}, "topics: there is no 'weather'; expected status, figures, changes"),
        ({"topics": "changes,"}, "topics: there is no ''; expected status, figures, changes"),
        ({"topics": "changes", "after": "yesterday"}, "'yesterday' is not a mark"),
        ({"topics": "changes", "kind": "people"}, "kind: invalid enum value 'people'"),
        ({"topics": "changes", "of": "mailto:me"}, "mailto"),
        ({"topic": "changes"}, "there is no parameter 'topic'"),
    ],
)
def test_what_cannot_be_followed_is_refused(live: RunningApp, asked: dict[str, str], sentence: str) -> None:
    answer: Answer = live.ask(f"/api/events?{urlencode(asked)}")
    assert answer.status == 400
    assert sentence in answer.sentence


def test_a_last_id_that_is_none_is_refused(live: RunningApp) -> None:
    answer = live.ask("/api/events", topics="changes", headers={"Last-Event-ID": "1.2.3"})
    assert answer.status == 400
    assert "is not a mark" in answer.sentence


def test_streams_are_bounded_and_a_closed_one_makes_room(home: WrittenHome) -> None:
    with running_app(home.path, "web.streams=2") as app:
        with streaming(app), streaming(app, topics="changes"):
            with asking(app) as client:
                assert client.head().startswith("HTTP/1.1 503 ")
            answer = app.ask("/api/events")
            assert answer.sentence == "2 streams are open already (web.streams)"
            assert answer.headers["retry-after"] == "5"
        until_open(app)


def test_a_request_that_was_refused_takes_no_place(home: WrittenHome) -> None:
    with running_app(home.path, "web.streams=1") as app:
        for _ in range(3):
            assert app.ask("/api/events", topics="changes", after="x").status == 400
        until_open(app)


def test_somebody_who_does_not_read_gives_the_place_back(home: WrittenHome) -> None:
    links = [(f"https://t{number}.com/", "y" * 400) for number in range(100)]
    home.load(*((f"https://s{number}.com/", "", links) for number in range(300)))
    with running_app(home.path, "web.streams=1", limits=WebLimits(taking_seconds=0.2)) as app, socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", app.port))
        raw.sendall(b"GET /api/events?topics=changes&after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert raw.recv(10) == b"HTTP/1.1 2"
        until_open(app)


def test_a_server_that_stops_ends_its_streams(home: WrittenHome) -> None:
    with running_app(home.path, limits=WebLimits(last_answers=1000)) as app:
        quiet, busy = streaming(app, topics="changes"), streaming(app, topics="status")
        first, second = quiet.__enter__(), busy.__enter__()
    # It stopped, or the app would have complained; both ends were told as HTTP demands.
    for client in (first, second):
        while client.next():
            pass
        assert client.is_over
    quiet.__exit__(None, None, None)
    busy.__exit__(None, None, None)


def test_a_control_plane_that_cannot_be_read_is_a_problem_and_the_end(home: WrittenHome) -> None:
    with running_app(home.path) as app:
        (home.path / "mgmt.db").write_bytes(b"no database" * 1000)
        with streaming(app, topics="status") as client:
            events = []
            while event := client.next():
                events.append(event)
    assert [event.name for event in events][-1] == "problem"
    assert "control plane" in events[-1].data
    assert client.is_over
