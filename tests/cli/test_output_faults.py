"""What happens when a command is misspelt, or its output goes nowhere."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from rich.cells import cell_len

from support.weft_command import one_sentence, weft

PAGE = {"url": "https://a.com/page1", "links": [{"url": f"https://c.com/{'x' * 100}", "text": "漢字" * 60}]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that stays as it is."""
    made = tmp_path_factory.mktemp("place")
    (made / "pages.jsonl").write_text(json.dumps(PAGE))
    assert weft("import", "pages.jsonl", cwd=made).returncode == 0
    return made


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tpo"], "weft: There is no command 'tpo' (did you mean top?); see `weft --help`\n"),
        (["lniks", "a.com"], "weft: There is no command 'lniks' (did you mean links?); see `weft --help`\n"),
        (["qqqqq"], "weft: There is no command 'qqqqq'; see `weft --help`\n"),
    ],
)
def test_a_misspelt_command_gets_a_suggestion(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = weft(*arguments, cwd=tmp_path)
    assert (done.returncode, one_sentence(done)) == (2, said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["top"], ["top", "--json"], ["--help"]])
def test_output_that_cannot_be_written_is_no_bug_in_weft(place: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "weft", *arguments], cwd=place, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"weft: the output cannot be written: the disk is full; make room and try again\n"


def test_a_reader_that_has_seen_enough_is_no_error(place: Path) -> None:
    command = f"set -o pipefail; {sys.executable} -m weft top | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "references  crawled  url\n", "")


def _in_shell(command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `weft …`, with whatever the shell makes of its streams."""
    line = f'weft() {{ {sys.executable} -m weft "$@"; }}; {command}'
    changed = {**os.environ, **environment}
    return subprocess.run(["bash", "-c", line], cwd=cwd, env=changed, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", ["import pages.jsonl", "top"])
def test_a_closed_stream_is_no_error(place: Path, arguments: str, closed: str) -> None:
    done = _in_shell(f"weft {arguments} {closed}", place)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (">&-" not in closed.replace("2>&-", ""))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("add -", "weft: - cannot be read: standard input is closed\n"),
        ("add --file -", "weft: - cannot be read: standard input is closed\n"),
        ("add http://127.0.0.1/", "Created weft-data\nweft: http://127.0.0.1/ is local"),
    ],
)
def test_a_question_to_a_closed_input_is_answered_by_no(tmp_path: Path, arguments: str, said: str) -> None:
    done = _in_shell(f"weft {arguments} <&-", tmp_path)
    assert (done.returncode, done.stderr[: len(said)]) == (2, said)


def test_no_file_gets_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    """What libraries print would else be written into it."""
    program = (
        "import os\nfrom weft.cli.main import main\nos.close(0), os.close(1), os.close(2)\n"
        "try:\n    main(['--version'])\n"
        "except SystemExit:\n    os._exit(os.open('.', os.O_RDONLY))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False)
    assert done.returncode > 2


def test_a_terminal_that_lacks_a_character_gets_its_number(place: Path) -> None:
    done = _in_shell("weft links a.com/page1 --out | cat", place, PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u6f22\\u5b57" in done.stdout


def test_a_current_directory_that_is_gone_is_no_bug_in_weft(place: Path) -> None:
    command = f"mkdir gone && cd gone && rmdir ../gone && weft export links --home {place / 'weft-data'}"
    done = _in_shell(command, place)
    said = "weft: the current directory does not exist any more; change to another one\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_too_few_open_files_are_no_bug_in_weft(tmp_path: Path) -> None:
    program = (
        "import resource\nfrom weft.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\nmain(['config'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    said = "weft: too many open files: this process may have 3 open at a time; raise that with `ulimit -n`\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize("arguments", [["top"], ["links", "a.com/page1", "--out"], ["changes"], ["scan", "query"]])
def test_a_table_fits_the_terminal_and_is_whole_in_a_file(place: Path, arguments: list[str]) -> None:
    assert "x" * 100 in weft(*arguments, cwd=place).stdout
    for columns in (80, 40):
        *lines, _ = _on_terminal(place, columns, arguments).splitlines()  # the last one is a sentence
        assert max(map(cell_len, lines)) <= columns
        assert any("…" in line for line in lines)


def _on_terminal(place: Path, columns: int, arguments: list[str]) -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "PYTHONUTF8": "1"}
    process = subprocess.Popen([sys.executable, "-m", "weft", *arguments], cwd=place, env=environment, stdout=theirs)
    os.close(theirs)
    read = b""
    # Linux tells by an error that nobody writes any more.
    with suppress(OSError):
        while some := os.read(ours, 65536):
            read += some
    os.close(ours)
    assert process.wait(60) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", read.decode())
