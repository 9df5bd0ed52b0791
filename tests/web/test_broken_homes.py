"""Homes that are written to, not there yet, damaged or lost while the app runs: an answer, or 503 with a sentence."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.web_app import HUB, PATIENCE, RunningApp, new_token, pages, running_app
from support.weft_command import weft
from weft.home import Home

ALL = (
    "/api/totals",
    "/api/top",
    "/api/domains",
    f"/api/page?url={HUB}",
    f"/api/links?url={HUB}",
    f"/api/why?url={HUB}",
    "/api/search?q=weft",
    "/api/changes",
    "/api/status",
    "/metrics",
    "/readyz",
    "/",
    "/top",
    "/domains",
    "/search?q=weft",
)
OF_CONTROL = ("/api/status", "/metrics", "/readyz")


def answers_or_says_why(app: RunningApp, path: str) -> int:
    answer = app.ask(path)
    assert answer.status in (200, 404, 503), (path, answer.status, answer.body[:300])
    assert b"Traceback" not in answer.body
    assert b"its log says why" not in answer.body
    if answer.status == 503 and path.startswith("/api/"):
        assert answer.sentence
    return answer.status


@contextmanager
def quiet_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No traceback is written while it lasts."""
    yield
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def is_listed(app: RunningApp) -> bool:
    nodes = app.ask("/api/nodes").json["items"]
    return any(node["type"] == "Web App" and node["health"] == "healthy" for node in nodes)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.02)


def test_a_home_with_nothing_in_it_is_answered_and_what_comes_is_seen(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    assert weft("init", "--home", str(home), cwd=tmp_path).returncode == 0
    with quiet_log(caplog), running_app(home, is_node=True) as app:
        for path in ALL:
            answers_or_says_why(app, path)
        assert app.ask("/api/totals").json["pages"] == 0
        assert "there is none yet" in app.ask("/api/search?q=weft").sentence
        assert app.ask("/search?q=weft").status == 200, "the page tells it, too"
        token = new_token(home)
        assert app.change("/api/retry", {}, Authorization=f"Bearer {token}").status == 200, "made a moment ago"
        (tmp_path / "pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages(1)))
        assert weft("import", "pages.jsonl", "--home", str(home), cwd=tmp_path).returncode == 0
        wait_for(lambda: is_listed(app), "the app in the control plane that came with the token")
        wait_for(lambda: app.ask("/api/totals").json["pages"] > 0, "the pages")
        wait_for(lambda: app.ask("/api/search?q=weft").status == 200, "the search index")


def test_answers_are_whole_while_the_store_is_written(own_home: Path, tmp_path: Path) -> None:
    """What `seq` an answer names, it is of that state: the same seq is the same answer."""
    lines = "".join(json.dumps(page) + "\n" for page in pages(3))
    (tmp_path / "more.jsonl").write_text(lines)
    seen: dict[int, set[bytes]] = {}
    is_over = threading.Event()
    done = []

    def write() -> None:
        command = ("import", str(tmp_path / "more.jsonl"), "--home", str(own_home), "--incremental")
        done.append(weft(*command, "--set", "index.round_pages=2", cwd=tmp_path))
        is_over.set()

    with running_app(own_home) as app:

        def ask() -> bool:
            answer = app.ask("/api/domains", limit=100)
            assert answer.status == 200, answer.body
            seen.setdefault(answer.json["seq"], set()).add(answer.body)
            return is_over.is_set() and len(seen) > 1

        ask()
        writer = threading.Thread(target=write)
        writer.start()
        # A reader catches up a moment after the last round: asking goes on until the app shows what was written.
        wait_for(ask, "a state that came while it was asked")
        writer.join()
        assert done[0].returncode == 0, done[0].stderr
    assert [seq for seq, bodies in seen.items() if len(bodies) > 1] == []


@pytest.mark.parametrize("damage", ["missing", "empty", "damaged", "foreign"])
def test_a_control_plane_that_is_lost_or_damaged_is_told_and_the_index_still_answers(
    own_home: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    token = new_token(own_home)
    database = own_home / "mgmt.db"
    (own_home / "mgmt.db-locks").mkdir(exist_ok=True)
    with quiet_log(caplog), running_app(own_home, "mgmt.heartbeat=0.1", is_node=True) as app:
        assert app.ask("/api/status").status == 200
        wait_for(lambda: is_listed(app), "the app among its own nodes")
        for file in own_home.glob("mgmt.db-*"):
            if file.is_file():
                file.unlink()
        kept = database.read_bytes()
        database.unlink()
        if damage == "empty":
            database.write_bytes(b"")
        elif damage == "damaged":
            database.write_bytes(kept[:100] + b"\xff" * (len(kept) - 100))
        elif damage == "foreign":
            database.write_bytes(b"this is no database\n" * 100)
        time.sleep(1.1)  # status is as of a second ago at most
        for path in ALL:
            answers_or_says_why(app, path)
        assert "control plane" in app.ask("/api/status").sentence
        for path in ("/api/totals", "/api/top", "/api/domains", "/api/search?q=weft", "/api/changes", "/healthz"):
            assert app.ask(path).status == 200, path
        assert app.ask("/readyz").status == 503
        refused = app.change("/api/retry", {}, Authorization=f"Bearer {token}")
        assert refused.status in (401, 503)
        for file in own_home.glob("mgmt.db*"):
            if file.is_file():
                file.unlink()
        database.write_bytes(kept)
        wait_for(lambda: app.ask("/api/status").status == 200, "the control plane that was put back")
        assert app.change("/api/retry", {}, Authorization=f"Bearer {token}").status == 200
        wait_for(lambda: is_listed(app), "the app among its own nodes again")
    assert caplog.text.count("not known to the control plane") == 1


def test_a_store_that_is_lost_is_told_or_answered_from_what_is_open(
    own_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with quiet_log(caplog), running_app(own_home) as app:
        kept = own_home.parent / "kept"
        shutil.copytree(Home(own_home).store, kept)
        shutil.rmtree(Home(own_home).store)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for path in ALL:
                answers_or_says_why(app, path)
        shutil.copytree(kept, Home(own_home).store)
        wait_for(lambda: all(app.ask(path).status == 200 for path in ("/api/totals", "/api/top", "/api/changes")), "it")


def test_a_damaged_store_is_told_with_a_sentence(own_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    with quiet_log(caplog), running_app(own_home) as app:
        for file in Home(own_home).store.rglob("*.sst"):
            file.write_bytes(b"\xff" * file.stat().st_size)
        for file in Home(own_home).store.rglob("*.log"):
            file.write_bytes(b"\xff" * file.stat().st_size)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for path in ALL:
                answers_or_says_why(app, path)


def test_a_search_index_that_is_missing_or_damaged_is_told(own_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = own_home / "search"
    assert place.is_dir()
    for file in place.rglob("*"):
        if file.is_file() and file.suffix not in (".lock",):
            file.write_bytes(b"\xff" * 100)
    with quiet_log(caplog), running_app(own_home) as app:
        answers_or_says_why(app, "/api/search?q=weft")
        answers_or_says_why(app, "/search?q=weft")
        assert app.ask("/api/top").status == 200
    shutil.rmtree(place)
    with quiet_log(caplog), running_app(own_home) as app:
        answer = app.ask("/api/search?q=weft")
        assert answer.status == 503
        assert "weft rebuild" in answer.sentence
        assert app.ask("/search?q=weft").status == 200
