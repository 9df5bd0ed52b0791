"""Pages that try to take over the terminal of whoever asks about them."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import pty
import subprocess
import sys
import tty
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest

from support.webservers import WebServer, ok, web_server
from support.weft_command import weft
from weft.cli.output import TerminalBytes
from weft.model.shown_text import shown_text

HOSTILE = "a\x1b]0;owned\x07b\x1b[2J\x9b31m\u202ec\u2066d\u2028e\nf\tg[red]h\x7f\x00"
IN_HEADER = b"b\x1b[2J\x9b31m\x7f"
CLI = Path(__file__).parents[2] / "src/weft/cli"


def assert_tame(output: bytes) -> None:
    text = output.decode()
    wild = [character for character in text if character != "\n" and not (character.isprintable() or character == " ")]
    assert not wild, (wild, text)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with imported and crawled pages, all of them hostile."""
    directory = tmp_path_factory.mktemp("hostile")
    links = [{"url": "https://b.test/\x1b[2J?q=\u202e", "text": HOSTILE}, {"url": "https://c.test/", "text": HOSTILE}]
    pages = [{"url": "https://a.test/", "title": HOSTILE, "text": HOSTILE, "links": links}]
    (directory / "pages.jsonl").write_text("\n".join(map(json.dumps, pages)) + "\n{" + json.dumps(HOSTILE) + "\n")
    assert weft("import", "pages.jsonl", cwd=directory).returncode == 0
    asyncio.run(crawl_hostile(directory))
    return directory


async def crawl_hostile(directory: Path) -> None:
    async with web_server() as web:
        body = f"<title>{HOSTILE}</title><a href='/moved'>{HOSTILE}</a><a href='/\x1b[2J\u202e'>x</a>".encode()
        web.answers("/", ok(body, b"Content-Type: text/html"))
        web.answers("/robots.txt", ok(b"User-agent: *\nDisallow: /\x1b[31m\xe2\x80\xae\n", b"Content-Type: text/plain"))
        moved = b"HTTP/1.1 301 " + IN_HEADER + b"\r\nLocation: /x" + IN_HEADER + b"\r\nContent-Length: 0\r\n\r\n"
        web.answers("/moved", moved)
        await crawl(directory, web)


async def crawl(directory: Path, web: WebServer) -> None:
    (directory / "weft-data/weft.toml").write_text(
        f"[urlserver]\nstatic_hosts = {{ 'a.test' = '127.0.0.1' }}\nallow_net = ['127.0.0.0/8']\n"
        f"allow_ports = [{web.port}]\nreq_host_per_sec = 50\n"
    )
    command = [sys.executable, "-m", "weft", "crawl", web.url("/"), "--seconds", "20"]
    process = await asyncio.create_subprocess_exec(*command, cwd=directory, stdout=-1, stderr=-1)
    told, complained = await process.communicate()
    assert process.returncode == 0, complained
    assert_tame(told)
    assert_tame(complained)
    (directory / "url").write_text(web.url("/"))


COMMANDS = [
    ("top",),
    ("top", "--fold"),
    ("links", "https://c.test/"),
    ("links", "https://a.test/", "--out"),
    ("page", "https://a.test/"),
    ("page", "CRAWLED"),
    ("links", "CRAWLED", "--out"),
    ("why", "CRAWLED"),
    ("why", "CRAWLEDmoved"),
    ("segment", "CRAWLED"),
    ("changes",),
    ("changes", "https://c.test/"),
    ("domains",),
    ("status",),
    ("status", "--tables"),
    ("nodes",),
    ("sites",),
    ("rules",),
    ("rules", "--explain", "https://a.test/\x1b[2J"),
    ("url", "https://a.test/\x1b[2J?\u202e", "http://\x1b[2J"),
    ("add", "ftp://\x1b[2J\u202e/"),
    ("page", "https://unknown.test/\x1b[2J\u202e"),
    ("import", "pages.jsonl"),
    ("import", "\x1b[2J\u202e"),
    ("verify", "--archive"),
    *(("scan", table, "--limit", "0") for table in ("fluo", "query", "domains", "links", "docs", "changes", "meta")),
]


@pytest.mark.parametrize(
    "command", COMMANDS, ids=lambda command: " ".join(command[:2]).encode("unicode_escape").decode()
)
def test_no_command_lets_a_page_speak_to_the_terminal(home: Path, command: tuple[str, ...]) -> None:
    crawled = (home / "url").read_text()
    arguments = [argument.replace("CRAWLED", crawled) for argument in command]
    run = weft(*arguments, cwd=home)
    assert_tame(run.stdout.encode())
    assert_tame(run.stderr.encode())
    assert "unexpected" not in run.stderr


@pytest.mark.parametrize(
    "command", [("links", "https://c.test/"), ("page", "https://a.test/"), ("changes",), ("why", "https://a.test/")]
)
def test_json_has_the_exact_value_and_nothing_that_a_terminal_obeys(home: Path, command: tuple[str, ...]) -> None:
    run = weft(*command, "--json", cwd=home)
    assert_tame(run.stdout.encode())
    json.loads(run.stdout)
    if command[0] == "page":
        assert "\u202e" in json.loads(run.stdout)["title"]


EXPORTS = [(subject, form) for subject in ("links", "pages", "domains") for form in ("csv", "jsonl", "safe-csv")]


def exporting(subject: str, form: str) -> list[str]:
    chosen = ["--safe-csv"] if form == "safe-csv" else ["--format", form]
    return [sys.executable, "-m", "weft", "export", subject, "--output", "-", *chosen]


@pytest.mark.parametrize(("subject", "form"), EXPORTS)
def test_an_export_to_a_terminal_is_tame_and_to_a_pipe_or_a_file_exact(
    home: Path, tmp_path: Path, subject: str, form: str
) -> None:
    command = exporting(subject, form)
    piped = subprocess.run(command, cwd=home, capture_output=True, check=True, timeout=60).stdout
    with (tmp_path / "file").open("wb") as file:
        subprocess.run(command, cwd=home, stdout=file, stderr=subprocess.DEVNULL, check=True, timeout=60)
    assert (tmp_path / "file").read_bytes() == piped
    seen = on_a_terminal(command, home)
    assert_tame(seen.replace(b"\r\n", b"\n"))
    if form == "jsonl":
        lines = seen.replace(b"\r\n", b"\n").splitlines()
        assert [json.loads(line) for line in lines] == [json.loads(line) for line in piped.splitlines()]
    if subject == "links":
        with pytest.raises(AssertionError):
            assert_tame(piped)


def on_a_terminal(command: list[str], place: Path) -> bytes:
    """What a terminal is sent as standard output."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    with subprocess.Popen(command, cwd=place, stdout=theirs, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL):
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # the end of a terminal is an error
            while data := os.read(ours, 65_536):
                seen += data
    os.close(ours)
    return seen


def test_a_character_that_is_written_in_two_halves_is_shown_whole() -> None:
    shown = BytesIO()
    terminal = TerminalBytes(shown, shown_text)
    for byte in "Ü\u202e\x1b[2J\r\nx".encode():
        assert terminal.write(bytes([byte])) == 1
    terminal.flush()
    assert shown.getvalue().decode() == "Ü\\u202e\\x1b[2J\nx"


def test_a_line_feed_in_a_title_makes_no_row(home: Path) -> None:
    rows = weft("links", "https://c.test/", cwd=home).stdout.splitlines()
    assert len([row for row in rows if "owned" in row]) == 1


def test_logs_hold_no_control_characters(home: Path) -> None:
    for log in (home / "weft-data/logs").glob("*.log"):
        assert_tame(log.read_bytes())


def test_commands_print_through_one_door_only() -> None:
    """Whoever prints past `cli/output` prints what a page sent."""
    for file in CLI.glob("*.py"):
        if file.name == "output.py":
            continue
        calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        names = {ast.unparse(call) for call in calls}
        assert not names & {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"}, file.name
        assert "sys.stdout.buffer" not in file.read_text(), file.name
