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
    """A home that is only read."""
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
