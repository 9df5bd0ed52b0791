"""The endpoint of an index server: what it answers, and what it answers to nonsense."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.search_servers import page
from support.search_world import SearchWorld
from support.shards_endpoint import endpoint
from weft.errors import SearchDamaged, UsageError
from weft.search import server_http
from weft.search.query_language import parse
from weft.search.search import _replaced
from weft.search.served_shards import ServedShards
from weft.search.server_messages import AskShards, problem_of
from weft.search.shard_reader import ShardQuestion, ShardReader

FOX = {"groups": [[["word", "fox"]]]}
ASK = {"shards": [0, 1], "count": 2, "question": {"query": FOX}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchWorld]:
    made = SearchWorld(tmp_path_factory.mktemp("http") / "row", shards=2)
    made.load(*(page(f"http://s{number}.com/", text=f"a fox number{number}") for number in range(10)))
    made.indexer.finish()
    yield made
    made.close()


@pytest.fixture(scope="module")
def served(world: SearchWorld) -> ServedShards:
    made = ServedShards(world.indexer.directory)
    made.serve([0, 1])
    return made


@pytest.fixture(scope="module")
def port(served: ServedShards) -> Iterator[int]:
    with endpoint(served, 2) as found:
        yield found


def ask(port: int, path: str, body: object = None, method: str = "POST", **headers: str) -> tuple[int, str]:
    content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def answer(port: int, path: str, body: object) -> dict[str, Any]:
    status, content = ask(port, path, body)
    assert status == 200, content
    return dict(json.loads(content))


def test_every_shard_that_is_named_answers_in_their_order(port: int) -> None:
    first, second = answer(port, "/shards/ask", ASK)["answers"]
    assert first["total"] + second["total"] == 10
    again = {**ASK, "shards": [1]}
    assert answer(port, "/shards/ask", again)["answers"][0]["total"] == second["total"]


def test_words_are_corrected_and_scores_explained(port: int) -> None:
    found = answer(port, "/shards/correct", {"shards": [0, 1], "count": 2, "word": "nubmer3"})["answers"]
    assert [one[2] for some in found for one in some if one[0] == 1] == ["number3"]
    told = answer(port, "/shards/explain", {"shards": [0, 1], "count": 2, "query": FOX, "uri": "com.s3"})["answers"]
    assert sorted(map(bool, told)) == [False, True]
    assert "fox" in {part["name"] for parts in told for part in parts}


def test_one_connection_serves_many_questions(port: int) -> None:
    with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        for _ in range(5):
            connection.request("POST", "/shards/ask", json.dumps(ASK).encode())
            assert connection.getresponse().read()
        connection.request("GET", "/nothing")
        assert connection.getresponse().read()
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"


EXPLAIN = {"shards": [0], "count": 2, "uri": "com.a"}


def asking(query: object) -> dict[str, Any]:
    return {**ASK, "question": {"query": query}}


MANY = [[["word", f"w{number}"]] for number in range(300)]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/shards/ask", b"", 400, "not a question"),
        ("POST", "/shards/ask", b"{", 400, "not a question"),
        ("POST", "/shards/ask", b"\xff\xfe", 400, "not a question"),
        ("POST", "/shards/ask", b"[" * 60_000, 400, "not a question"),
        ("POST", "/shards/ask", [1, 2], 400, "Expected `object`"),
        ("POST", "/shards/ask", {}, 400, "missing required field"),
        ("POST", "/shards/ask", {**ASK, "shards": []}, 400, "length >= 1"),
        ("POST", "/shards/ask", {**ASK, "shards": [-1]}, 400, ">= 0"),
        ("POST", "/shards/ask", {**ASK, "shards": [2]}, 400, "from 0 to 1"),
        ("POST", "/shards/ask", {**ASK, "shards": [0, 0]}, 400, "different shards"),
        ("POST", "/shards/ask", {**ASK, "shards": "0"}, 400, "Expected `array`"),
        ("POST", "/shards/ask", {**ASK, "shards": list(range(1000))}, 400, "length <= 256"),
        ("POST", "/shards/ask", {**ASK, "count": 3}, 400, "divides the index into 2 shards, not 3"),
        ("POST", "/shards/ask", {**ASK, "question": {"query": FOX, "most": 100_000}}, 400, "at most 1000 hits"),
        ("POST", "/shards/ask", {**ASK, "question": {"query": FOX, "most": -1}}, 400, "at most 1000 hits"),
        ("POST", "/shards/ask", {**ASK, "question": {"query": {"groups": MANY}}}, 400, "at most 32 words"),
        ("POST", "/shards/ask", asking({"groups": [[["word", f"w{n}"] for n in range(9)]]}), 400, "8 alternatives"),
        ("POST", "/shards/ask", asking({**FOX, "excluded": [["word", f"w{n}"] for n in range(32)]}), 400, "at most 32"),
        ("POST", "/shards/ask", asking({"groups": [[["phrase", "a " * 20_000]]]}), 400, "at most 2048 characters"),
        ("POST", "/shards/ask", asking({"groups": [[["phrase", "a b " * 9]]]}), 400, "at most 16 words"),
        ("POST", "/shards/ask", asking({"groups": [[["word", "a,b;" * 9]]]}), 400, "at most 16 words"),
        ("POST", "/shards/ask", asking({"groups": [[["prefix", "日本語" * 20]]]}), 400, "at most 16 words"),
        ("POST", "/shards/ask", asking({"sites": [f"s{n}.com" for n in range(17)]}), 400, "at most 16 filters"),
        (
            "POST",
            "/shards/explain",
            {**EXPLAIN, "query": {"groups": [[["phrase", "a " * 99]]]}},
            400,
            "at most 16 words",
        ),
        ("POST", "/shards/ask", {**ASK, "question": {"query": {"groups": [[]]}}}, 400, "is empty"),
        ("POST", "/shards/ask", {**ASK, "question": {"query": {"groups": [[["sound", "x"]]]}}}, 400, "Invalid enum"),
        ("POST", "/shards/ask", {**ASK, "more": "x" * 65_536}, 413, "at most 65536 bytes"),
        ("POST", "/shards/correct", {"shards": [0], "count": 2, "word": "x" * 1000}, 400, "length <= 200"),
        ("POST", "/shards/explain", {"shards": [0], "count": 2, "uri": "com.a"}, 400, "missing required field"),
        ("GET", "/shards/ask", None, 405, "expected POST"),
        ("POST", "/healthz", {}, 405, "expected GET"),
        ("POST", "/", {}, 404, "expected /shards/ask"),
        ("GET", "/shards/ask?x=1", None, 404, "expected /shards/ask"),
        ("GET", "/../etc/passwd", None, 404, "expected /shards/ask"),
        ("DELETE", "/shards/ask", None, 405, "expected POST"),
    ],
)
def test_nonsense_is_answered_with_a_sentence(
    port: int, method: str, path: str, body: object, status: int, words: str
) -> None:
    found, content = ask(port, path, body, method)
    assert found == status
    assert words in content
    assert content.count("\n") == 1
    assert answer(port, "/shards/ask", ASK)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/2\r\nHost: localhost\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"421"),
        (b"GET /healthz HTTP/1.1\r\n\r\n", b"421"),
        (b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 9000, b"431"),
        (b"POST /shards/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /shards/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n", b"413"),
        (b"POST /shards/ask HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"POST / HTTP/1.1\r\nHost: [::1]:1\r\nExpect: 100-continue\r\nContent-Length: 70000\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\nHost: [::1]:1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}no\r\n\r\n", b"100"),
    ],
)
def test_broken_requests_are_answered_and_closed(port: int, sent: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(sent)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    assert received.startswith(b"HTTP/1.1 " + status)


def test_with_a_token_it_must_be_shown_but_for_its_health(served: ServedShards) -> None:
    with endpoint(served, 2, "s3cret") as port:
        assert ask(port, "/shards/ask", ASK)[0] == 401
        assert ask(port, "/shards/ask", ASK, Authorization="Bearer wrong")[0] == 401
        assert ask(port, "/shards/ask", ASK, Authorization="Bearer s3cret", Host="any.example")[0] == 200
        assert ask(port, "/healthz", method="GET") == (200, "ok\n")
        assert ask(port, "/nothing", method="GET")[0] == 401


def test_a_shard_that_is_not_there_is_null_and_told(world: SearchWorld) -> None:
    served = ServedShards(world.indexer.directory)
    served.serve([1])
    with endpoint(served, 2) as port:
        found = answer(port, "/shards/ask", ASK)
        assert found["answers"][0] is None
        assert found["answers"][1]["total"]
        assert "not ready" in found["problems"]["0"]
        assert ask(port, "/healthz", method="GET") == (503, "not ready yet: shard 0\n")


def test_too_many_questions_are_refused_in_time_and_those_before_are_answered(
    served: ServedShards, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    really = ShardReader.ask
    monkeypatch.setattr(ShardReader, "ask", lambda self, question: (gate.wait(10), really(self, question))[1])
    monkeypatch.setattr(server_http, "MOST_WAITING", 3)
    found: list[tuple[int, str]] = []
    threads = [threading.Thread(target=lambda: found.append(ask(port, "/shards/ask", ASK))) for _ in range(5)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 10
    while len(found) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert [status for status, _ in found] == [503, 503]
    assert "3 requests are being answered" in found[0][1]
    gate.set()
    for thread in threads:
        thread.join()
    assert [status for status, _ in found] == [503, 503, 200, 200, 200]


def test_a_question_that_takes_too_long_is_given_up_and_still_counted(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    really = ShardReader.ask
    monkeypatch.setattr(ShardReader, "ask", lambda self, question: (gate.wait(10), really(self, question))[1])
    monkeypatch.setattr(server_http, "SECONDS", 0.1)
    monkeypatch.setattr(server_http, "MOST_WAITING", 1)
    assert ask(port, "/shards/ask", ASK)[1].startswith("no answer within")
    assert "requests are being answered" in ask(port, "/shards/ask", ASK)[1]
    gate.set()
    monkeypatch.setattr(server_http, "SECONDS", 5.0)
    until = time.monotonic() + 10
    while ask(port, "/shards/ask", ASK)[0] != 200:
        assert time.monotonic() < until


def test_a_question_that_fails_makes_its_shard_suspect_and_others_answer(
    served: ServedShards, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, bad = ShardReader.ask, served.reader(0)

    def broken(self: ShardReader, question: object) -> object:
        if self is bad:
            raise SearchDamaged("here", "a bit fell over")
        return really(self, question)  # type: ignore[arg-type]

    monkeypatch.setattr(ShardReader, "ask", broken)
    found = answer(port, "/shards/ask", ASK)
    assert found["answers"][0] is None
    assert found["answers"][1]["total"]
    assert found["problems"] == {"0": SearchDamaged("here", "a bit fell over").problem}
    assert served.take_suspects() == {0}


def test_what_nobody_thought_of_is_a_sentence_too(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: ShardReader, question: object) -> object:
        raise RuntimeError("odd")

    monkeypatch.setattr(ShardReader, "ask", broken)
    status, content = ask(port, "/shards/ask", ASK)
    assert (status, "log of this server" in content) == (500, True)


def test_searches_that_hang_are_late_and_keep_no_process() -> None:
    code = """
import asyncio, time
from weft.search import server_http
from weft.search.search_query import Kind, SearchQuery, Term
from weft.search.server_messages import AskShards
from weft.search.shard_reader import ShardQuestion
server_http.SECONDS = 0.2
begun = []
class Hanging:
    def ask(self, question):
        begun.append(question)
        time.sleep(1000)
class Served:
    def reader(self, number):
        return Hanging()
async def main():
    desk = server_http.ShardsDesk(Served(), lambda: range(8), 8)
    question = ShardQuestion(query=SearchQuery(groups=((Term(Kind.WORD, "fox"),),)))
    answer = await desk.answer(AskShards(shards=list(range(8)), count=8, question=question))
    print(answer.status, answer.body.decode().strip(), len(begun))
    desk.close()
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "503 no answer within 0.2 s 4\n", "")


def test_what_nobody_waits_for_any_more_is_not_begun(
    served: ServedShards, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun = threading.Event(), list[int]()
    really = ShardReader.ask

    def slow(reader: ShardReader, question: Any) -> Any:
        begun.append(1)
        gate.wait(10)
        return really(reader, question)

    monkeypatch.setattr(ShardReader, "ask", slow)
    monkeypatch.setattr(server_http, "SECONDS", 0.2)
    threads = [threading.Thread(target=lambda: ask(port, "/shards/ask", ASK)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(begun) == server_http.THREADS
    assert ask(port, "/healthz", method="GET") == (200, "ok\n"), "the port answers meanwhile"
    monkeypatch.setattr(ShardReader, "ask", really)
    gate.set()
    monkeypatch.setattr(server_http, "SECONDS", 10.0)
    assert answer(port, "/shards/ask", ASK)["answers"]
    assert len(begun) == server_http.THREADS


@given(st.lists(st.sampled_from([*'ab"|*-:.( ', "aabb ", "OR ", "site:", "日", "本", "é"]), max_size=300).map("".join))
def test_whatever_somebody_types_is_a_query_for_a_server(typed: str) -> None:
    try:
        query = parse(typed)
    except UsageError:
        return
    for asked in (query, _replaced(query, {"aabb": "aabbcc", "ab": "b"})):
        assert problem_of(AskShards(shards=[0], count=1, question=ShardQuestion(query=asked)), 1) == ""
