"""Pages that are made to cost search much: its processes keep to their memory, and other pages are found at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from support import warcs
from support.crawled_home import fill_home, index_process, peak_of, role_process
from support.free_ports import free_port
from support.run_web import run_web
from support.weft_command import weft

PEAK_OF_A_COMMAND = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
"""
INDEX_SERVER, WEB_APP = 700 << 20, 300 << 20
"""Bytes that they may hold."""


def page(title: str, body: str) -> bytes:
    return f"<html lang=en><title>{title}</title>{body}".encode()


def heavy(number: int, size: int) -> Iterator[tuple[str, bytes]]:
    """Pages of about `size` characters each, of which each does something else; no two of another number are alike."""
    words = " ".join(f"w{number}n{each:x}" for each in range(size // 4))
    pages = {
        "one-word": page("one word", "<p>" + "x" * (3 * size)),
        "words": page("many words", f"<p>{words}"),
        "headings": page("headings", "".join(f"<h2>heading {number} {each}</h2>" for each in range(size // 20))),
        "marks": page("\u0301" * 2_000, "<p>" + "\u0301\u200d" * (size // 2)),
        "turned": page("\u202e" * 300 + "\u200b" * 2_000, "<p>" + "a\u202eb\u200b " * (size // 5)),
        "unspaced": page("漢字" * 300, f"<p>{number}" + "漢字" * (size // 2)),
        "unfolding": page("\ufdfa" * 512, f"<p>{number}" + "\ufdfa" * size),
        "accents": page("ΐ" * 512, f"<p>{number}" + "ΐ" * size),
    }
    for name, body in pages.items():
        yield f"https://{name}{number}.com/", body


def web(heavy_pages: int, size: int, farm: int) -> Iterator[tuple[str, bytes]]:
    for number in range(heavy_pages):
        yield from heavy(number, size)
        yield f"https://innocent{number}.com/", page(f"Innocent {number}", "<p>quiet words")
    for number in range(farm):
        yield f"https://farm{number % 50}.com/{number}", page("farm", "<a href=https://target.com/>best casino</a>")
    for number in range(5):
        yield f"https://friend{number}.com/", page("friend", "<a href=https://target.com/>honest bakery</a>")


def answers(port: int, words: str) -> list[str]:
    with urlopen(f"http://127.0.0.1:{port}/api/search?{urlencode({'q': words})}", timeout=60) as answer:
        return [item["url"] for item in json.load(answer)["items"]]


def found_by(home: Path, heavy_pages: int, size: int, farm: int, seconds: float) -> tuple[int, int]:
    """What index server and web app held at most, when all of these pages are searchable."""
    count = fill_home(home, web(heavy_pages, size, farm), chunk=500)
    with index_process(home) as index:
        assert index.until_built(count, seconds)["pages"] == count
    port = free_port()
    listen = ("--set", f'indexserver.listen="127.0.0.1:{port}"', "--set", "indexserver.commit_every=0.1")
    with role_process(home, "indexserver", *listen) as server, run_web(home) as (app, web_port, _):
        end = time.monotonic() + seconds
        wanted = f"https://innocent{heavy_pages - 1}.com/"
        while not (answered := _answered(web_port, f"innocent {heavy_pages - 1}")) and time.monotonic() < end:
            assert server.poll() is None, "it ended by itself"
            time.sleep(0.5)
        assert wanted in answered
        assert "https://target.com/" in answers(web_port, "honest bakery"), "whatever a farm says"
        assert "https://target.com/" in answers(web_port, "best casino")
        assert answers(web_port, "w0n1f") == ["https://words0.com/"]
        for name in ("one-word", "words", "headings", "marks", "turned", "unspaced", "unfolding", "accents"):
            assert f"https://{name}0.com/" in answers(web_port, f"site:{name}0.com"), name
        for words in ("漢字", "heading", "quiet", "\ufdfa"):
            answers(web_port, words)
        return peak_of(server), peak_of(app)


def _answered(port: int, words: str) -> list[str]:
    try:
        return answers(port, words)
    except OSError:
        return []


def test_pages_that_cost_search_much_leave_the_others_findable(tmp_path: Path) -> None:
    server, app = found_by(tmp_path / "home", 1, 100_000, 200, 200.0)
    print(server >> 20, app >> 20)
    assert server < INDEX_SERVER, f"{server >> 20} MB"
    assert app < WEB_APP, f"{app >> 20} MB"


@pytest.mark.long
def test_pages_of_nine_megabytes_and_a_farm_of_ten_thousand_do_not_fill_the_memory(tmp_path: Path) -> None:
    server, app = found_by(tmp_path / "home", 3, 2_900_000, 10_000, 900.0)
    print(server >> 20, app >> 20)
    assert server < INDEX_SERVER, f"{server >> 20} MB"
    assert app < WEB_APP, f"{app >> 20} MB"


@pytest.mark.long
def test_importing_such_pages_keeps_to_its_memory_and_all_are_found(tmp_path: Path) -> None:
    records = [warcs.response(url, body) for url, body in web(1, 2_900_000, 1_000)]
    (tmp_path / "heavy.warc").write_bytes(b"".join(records))
    command = [sys.executable, "-m", "weft", "import", "heavy.warc", "--home", "home"]
    measured = [sys.executable, "-c", PEAK_OF_A_COMMAND, *command]
    peak = int(subprocess.run(measured, cwd=tmp_path, stdout=subprocess.PIPE, check=True).stdout)
    print(peak >> 20)
    assert peak < INDEX_SERVER, f"{peak >> 20} MB"
    for words, wanted in (("innocent", "https://innocent0.com/"), ("honest bakery", "https://target.com/")):
        assert wanted in weft("search", words, "--home", "home", cwd=tmp_path).stdout
    verified = weft("verify", "--search", "--home", "home", cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout
