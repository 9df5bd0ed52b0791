"""Parse workers: real processes, killed by their limits, by the test, and with their parent."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from support import warcs
from weft.config.sections import LimitsSettings
from weft.intake.page_parser import PageParser, ParseTask
from weft.intake.parser_pool import MESSAGES, LocalFirstParsers, decode_answer, encode_answer, parser_command
from weft.intake.record_heads import ArchiveRecord
from weft.intake.skip_reasons import Refused, SkipReason
from weft.intake.workers.worker_pool import AnswerRoom, WorkerPool
from weft.intake.workers.worker_process import WorkerCommand, WorkerProcess, WorkersUnusable
from weft.linkindex.loaded import load_gone
from weft.model.url import UrlRules
from weft.reading.settings import ReadingSettings

SETTINGS = ReadingSettings((), 2048, LimitsSettings(), 10 << 20, "weft")
SLOW = b"<a>" * 800_000
"""Takes more than half a second."""
LARGE = b"<li>x" * 2_000_000
"""Takes some hundred MiB."""


def response(number, body=None):
    body = warcs.page(number) if body is None else body
    return ArchiveRecord("response", f"https://a.com/{number}", warcs.DATE, "", False, warcs.http(body))


def task(*records):
    return ParseTask(0, records=list(records))


def workers(count=1, seconds=5.0, memory=1 << 30, patience=30.0):
    return WorkerPool(count, parser_command(SETTINGS, seconds, memory), MESSAGES, patience)


def children():
    lists = Path("/proc/self/task").glob("*/children")
    return [int(child) for listed in lists for child in listed.read_text().split()]


def uris(answer):
    return [None if isinstance(found, Refused | str) else found.uri.decode() for found in answer]


def test_where_a_page_moved_is_part_of_an_answer():
    (moved,) = decode_answer(
        encode_answer([load_gone(UrlRules().identify("https://a.com/old"), 5, moved_to="com.a/new")])
    )
    assert (moved.uri, moved.is_gone, moved.moved_to) == (b"com.a/old", True, b"com.a/new")


def test_what_a_worker_answers_is_what_is_parsed_here():
    asked = ParseTask(7, [b'{"url": "https://a.com/", "links": ["/x"]}', None, b"{"], [response(1), response(2, b"")])
    here = PageParser(SETTINGS).answer(asked)
    assert decode_answer(encode_answer(here)) == here
    with workers() as parsing:
        assert parsing.give(asked).take() == here
    assert [type(found).__name__ for found in here] == ["LoadedPage", "Refused", "Refused", "LoadedPage", "LoadedPage"]


def test_answers_come_in_the_order_of_the_tasks():
    with workers(count=2) as parsing:
        # The first one takes longest.
        given = [parsing.give(task(response(0, SLOW)))] + [parsing.give(task(response(n))) for n in range(1, 30)]
        assert [uris(one.take()) for one in given] == [[f"com.a/{n}"] for n in range(30)]
    assert children() == []


def test_a_page_that_takes_too_long_is_refused_and_its_neighbours_are_not():
    with workers(seconds=0.2) as parsing:
        answer = parsing.give(task(response(1), response(2, SLOW), response(3))).take()
        assert uris(answer) == ["com.a/1", None, "com.a/3"]
        assert answer[1] == Refused(SkipReason.SLOW, "reading it takes more than 0.2 s of processor time")
        assert uris(parsing.give(task(response(4))).take()) == ["com.a/4"]


def test_a_page_that_takes_too_much_memory_is_refused_and_its_neighbours_are_not():
    with workers(memory=64 << 20, seconds=30) as parsing:
        answer = parsing.give(task(response(1), response(2, LARGE), response(3))).take()
        assert uris(answer) == ["com.a/1", None, "com.a/3"]
        assert answer[1].reason in (SkipReason.MEMORY, SkipReason.CRASH)
        assert uris(parsing.give(task(response(4))).take()) == ["com.a/4"]


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_pages_whose_worker_was_killed_from_outside_are_all_parsed(name):
    killed: list[int] = []
    with workers(count=2) as parsing:
        given = [parsing.give(task(*(response(20 * n + at) for at in range(20)))) for n in range(40)]
        found = uris(given[0].take())
        for one in given[1:]:
            for child in set(children()) - set(killed):
                # No page can be hit more than twice.
                if len(killed) < 3:
                    os.kill(child, signal.Signals[name])
                    killed.append(child)
            found += uris(one.take())
    assert found == [f"com.a/{n}" for n in range(800)]
    assert len(killed) > 1
    assert children() == []


def test_a_worker_that_stands_still_is_replaced():
    with workers(seconds=1, patience=3) as parsing:
        assert uris(parsing.give(task(response(1))).take()) == ["com.a/1"]
        (child,) = children()
        os.kill(child, signal.SIGSTOP)
        assert uris(parsing.give(task(response(2), response(3))).take()) == ["com.a/2", "com.a/3"]
        assert children() != [child]


def test_leaving_while_pages_are_parsed_ends_the_workers_at_once():
    with workers(count=2, seconds=60) as parsing:
        parsing.give(task(response(0))).take()
        for number in range(20):
            parsing.give(task(response(number, SLOW * 4)))
    assert children() == []


def test_a_dropped_task_holds_up_nobody():
    with workers() as parsing:
        first, second, third = (parsing.give(task(response(number, SLOW))) for number in range(3))
        first.drop()
        second.drop()
        assert uris(third.take()) == ["com.a/2"]


def test_a_worker_that_cannot_start_is_said():
    orders = WorkerCommand("weft.intake.no_such_module", b"", 1.0)
    with pytest.raises(WorkersUnusable, match=r"a parse worker did not start \(status 1\)"):
        WorkerProcess(orders)
    with WorkerPool(1, orders, MESSAGES) as parsing:
        given = parsing.give(task(response(1)))
        with pytest.raises(WorkersUnusable):
            given.take()


def test_a_file_in_the_current_directory_takes_no_modules_place(tmp_path, monkeypatch):
    (tmp_path / "msgspec.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    with workers() as parsing:
        assert uris(parsing.give(task(response(1))).take()) == ["com.a/1"]


PARENT = """
import sys, time
sys.path.insert(0, {folder!r})
import test_worker_pool as tests
with tests.workers(count=2, seconds=600) as parsing:
    parsing.give(tests.task(tests.response(1))).take()
    for number in range(2):
        parsing.give(tests.task(*[tests.response(number, tests.SLOW * 4)] * 6))
    while len(tests.children()) < 2:
        time.sleep(0.01)
    print(*tests.children(), flush=True)
    time.sleep(600)
"""


def test_workers_die_with_their_parent_even_while_they_parse():
    code = PARENT.format(folder=str(Path(__file__).parent))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        started = [int(child) for child in parent.stdout.readline().split()]
        assert len(started) == 2
        parent.kill()
    for _ in range(500):
        if not any(map(is_running, started)):
            return
        time.sleep(0.01)
    pytest.fail("workers outlived their parent")


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_without_room_only_the_oldest_question_goes_on():
    room, waited = AnswerRoom(10), []

    def work(turn):
        room.wait(turn)
        waited.append(turn)
        room.hold(turn, 10)

    work(1)
    blocked = threading.Thread(target=work, args=[2])
    blocked.start()
    work(0)
    assert waited == [1, 0]
    room.taken()
    room.taken()
    blocked.join(timeout=10)
    assert waited == [1, 0, 2]


def test_the_first_lines_of_an_import_start_no_process():
    with workers() as started:
        parsing = LocalFirstParsers(PageParser(SETTINGS), started)
        lines = ParseTask(
            0, lines=[b'{"url": "https://a.com/"}', b'{"url": "https://a.com/", "text": "%b"}' % (b"x" * 5_000_000)]
        )
        assert uris(parsing.give(lines).take()) == ["com.a", "com.a"]
        assert parsing.give(ParseTask(0)).take() == []
        assert children() == []
        assert uris(parsing.give(ParseTask(0, lines=[b'{"url": "https://b.com/"}'])).take()) == ["com.b"]
        assert len(children()) == 1
    with workers() as started:
        assert uris(LocalFirstParsers(PageParser(SETTINGS), started).give(task(response(1))).take()) == ["com.a/1"]
        assert len(children()) == 1
