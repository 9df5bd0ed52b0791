"""Control calls, and the process in which a web is served."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.raw_client import Connection, get
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES, Profile
from weft.demo.web.fates import Fate
from weft.demo.web.log import RequestLine, read_log, world_of
from weft.demo.web.server.serving import Served, ServerDied, serving
from weft.demo.web.truth import Truth
from weft.errors import UsageError

PLAN = WebPlan(hosts=4, pages=6, page_bytes=(300, 2_000), links=(3, 9), profile=Profile(slow=1.0, slow_seconds=30.0))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(PLAN, tmp_path_factory.mktemp("controlled") / "web.log") as running:
        yield running


def test_a_page_changes(served: Served) -> None:
    url = served.url(1, 2)
    first = get(served, url).body
    served.change(url)
    second = get(served, url).body
    served.change(url)
    assert len({first, second, get(served, url).body}) == 3
    assert b"edition 2" in get(served, url).body


def test_a_page_vanishes_and_comes_back(served: Served) -> None:
    url = served.url(1, 3)
    page = get(served, url)
    for status in (404, 410):
        served.vanish(url, status)
        assert get(served, url).status == status
    served.bring_back(url)
    assert get(served, url).body == page.body


def test_a_host_is_switched_and_back(served: Served) -> None:
    name, url = served.world.hosts.numbered(2).name, served.url(2)
    served.switch(name, overloaded=7.0)
    assert get(served, url).headers["retry-after"] == "7"
    served.switch(name, overloaded=0.0, robots="missing")
    assert (get(served, url).status, get(served, url + "robots.txt").status) == (200, 404)
    served.switch(name, robots="plain", crawl_delay=3.0, closed_paths=["/shut"])
    text = get(served, url + "robots.txt").body.lower()
    assert b"crawl-delay: 3" in text
    assert b"/shut" in text
    served.switch(name, is_down=True)
    with pytest.raises(ConnectionResetError):
        get(served, url)
    served.switch(name, is_down=False, latency=0.01)
    assert get(served, url).status == 200
    served.switch(name, latency=0.0)
    assert get(served, served.url(1)).status == 200, "other hosts are as they were"


def test_time_can_be_moved() -> None:
    profile = Profile(changing=1.0, vanishing=1.0, change_seconds=1e6)
    with serving(replace(PLAN, profile=profile)) as served:
        seen = set()
        for _ in range(12):
            answer = get(served, served.url(1, 1))
            seen.add(answer.body if answer.status == 200 else answer.status)
            served.advance(5e5)
    assert 404 in seen
    assert len(seen) > 3


def test_the_truth_after_control_calls_is_in_the_log(served: Served) -> None:
    gone, changed = served.url(3, 1), served.url(3, 2)
    served.vanish(gone)
    served.change(changed)
    served.flush()
    assert served.log
    before, after = (Truth(world) for world in (served.world, world_of(served.log)))
    fates = {page.url: page for page in after.walk([served.url(3)])}
    old = {page.url: page for page in before.walk([served.url(3)])}
    assert (old[gone].fate, fates[gone].fate, fates[gone].status) == (Fate.PAGE, Fate.ERROR, 404)
    assert old[changed].outlinks != fates[changed].outlinks
    said = get(served, changed).body.decode()
    assert all(link.anchor.isascii() is False or link.anchor in said for link in fates[changed].outlinks)
    served.bring_back(gone)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"do": "nonsense", "host": "site00001.demo00000.test"}, "a web cannot 'nonsense'"),
        ({"do": "change"}, "'change' needs a url or a host"),
        ({"do": "change", "url": "http://elsewhere.test/"}, "is on no host of this web"),
        ({"do": "change", "url": "http://site00001.demo00000.test/nonsense"}, "is no page of this web"),
        ({"do": "switch", "host": "nobody.test"}, "there is no host 'nobody.test'"),
        ({"do": "switch", "host": "site00000.demo00000.test", "traits": {"is_secure": True}}, "no trait 'is_secure'"),
        ({"do": "switch", "host": "site00000.demo00000.test", "traits": {"robots": 1}}, "cannot be switched so"),
        ({"do": 1}, "Expected `str`"),
    ],
)
def test_a_call_that_makes_no_sense_is_one_sentence(served: Served, call: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        served.call(**call)


def test_a_web_page_cannot_make_control_calls(served: Served) -> None:
    for method, headers in (("GET", {}), ("POST", {"Origin": "http://evil.test"})):
        connection = http.client.HTTPConnection("127.0.0.1", served.control_port, timeout=10)
        connection.request(method, "/", b'{"do": "flush"}', headers)
        assert connection.getresponse().status == 405
        connection.close()


def test_requests_are_counted_and_logged(served: Served) -> None:
    assert served.log
    before = served.count()
    for _ in range(3):
        get(served, served.url(0), agent="counter/1", If_None_Match="x")
    assert served.count() == before + 3
    served.flush()
    found = [line for line in read_log(served.log) if isinstance(line, RequestLine) and line.agent == "counter/1"]
    assert len(found) == 3
    assert len({line.connection for line in found}) == 3
    assert all(line.is_conditional and line.start <= line.end and line.status == 200 for line in found)


def slow_url(served: Served) -> str:
    layout = served.world.hosts.numbered(1).layout
    return served.url(1, next(number for number in range(layout.count) if layout.kind(number) == "slow"))


CLIENT = """
import socket, sys, time
sock = socket.create_connection((sys.argv[1], int(sys.argv[2])))
sock.sendall(sys.argv[3].encode().decode("unicode_escape").encode())
sock.recv(1)
print("reading", flush=True)
time.sleep(60)
"""


def test_a_client_that_is_killed_leaves_its_requests_in_the_log(served: Served) -> None:
    url, host = slow_url(served), served.world.hosts.numbered(1)
    target = url.partition(f":{served.plan.port}")[2]
    request = rf"GET {target} HTTP/1.1\r\nHost: {host.name}\r\nUser-Agent: killed/1\r\n\r\n"
    command = [sys.executable, "-c", CLIENT, host.address, str(served.plan.port), request]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
        assert client.stdout
        assert client.stdout.readline() == b"reading\n"
        client.kill()
    lines = wait_for(lambda: killed_lines(served))
    assert [(line.status, line.is_complete) for line in lines] == [(200, False)]


def killed_lines(served: Served) -> list[RequestLine]:
    assert served.log
    return [line for line in read_log(served.log) if isinstance(line, RequestLine) and line.agent == "killed/1"]


def wait_for(look):
    """What `look` finds, once it finds something: the log is flushed by itself when the server is idle."""
    deadline = time.monotonic() + 30
    while not (found := look()):
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.02)
    return found


def is_gone(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_the_process_ends_with_the_block_and_its_log_is_whole(tmp_path: Path) -> None:
    with serving(PLAN, tmp_path / "web.log") as served:
        get(served, served.url(0))
        slow = Connection(served, slow_url(served))
        slow.send(slow_url(served))
        slow.head()
    assert is_gone(served.process_id)
    lines = [line for line in read_log(tmp_path / "web.log") if isinstance(line, RequestLine)]
    assert [(line.kind, line.is_complete) for line in lines] == [("page", True), ("slow", False)]
    with pytest.raises(ServerDied, match="does not answer control calls"):
        served.flush()


PARENT = """
import os, sys, time
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.server.serving import serving
with serving(WebPlan(hosts=1, pages=1)) as served:
    if sys.argv[1] == "fork" and os.fork() == 0:
        time.sleep(30)  # holds the pipe to the server open
        os._exit(0)
    print(served.process_id, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("way", ["alone", "fork"])
def test_the_process_ends_when_its_parent_is_killed(way: str) -> None:
    command = [sys.executable, "-c", PARENT, way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout
        server = int(parent.stdout.readline())
        assert not is_gone(server)
        os.kill(parent.pid, signal.SIGKILL)
        wait_for(lambda: is_gone(server))
        os.killpg(parent.pid, signal.SIGKILL)


def test_an_idle_server_uses_no_time_worth_naming(served: Served) -> None:
    """No busy loop: far less than half of the time that passes."""

    def used() -> float:
        fields = Path(f"/proc/{served.process_id}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(0.5)
    assert used() - before < 0.25


def test_extra_sites_are_served_beside_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sites_of_a_test.py").write_text(EXTRA)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    plan = replace(PLAN, extra_sites="sites_of_a_test:make", profile=PROFILES["plain"])
    with serving(plan, tmp_path / "web.log") as served:
        url = f"http://echo.test:{served.plan.port}/a/b?c=d"
        assert get(served, url).body == b"you asked for /a/b?c=d"
        assert get(served, url.replace("/a/b?c=d", "/fault")).status == 500
        assert get(served, served.url(0)).status == 200
    targets = [line.target for line in read_log(tmp_path / "web.log") if isinstance(line, RequestLine)]
    assert targets == ["/a/b?c=d", "/fault", "/"]


def test_extra_sites_that_are_not_there_are_one_sentence() -> None:
    with (
        pytest.raises(UsageError, match="extra sites 'nowhere:make' cannot be found"),
        serving(replace(PLAN, extra_sites="nowhere:make")),
    ):
        raise AssertionError("nothing can be served")


EXTRA = """
from weft.demo.web.answering.responses import whole
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.robots import RobotsRules

class Echo:
    name, address, rules = "echo.test", "127.0.0.1", RobotsRules()

    def answer(self, request):
        if request.path == "/fault":
            raise ValueError("a fault of the site")
        return whole(PageKind.PAGE, 200, [("Content-Type", "text/plain")], f"you asked for {request.target}".encode())

def make(plan):
    return [Echo()]
"""
