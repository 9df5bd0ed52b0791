"""A code that logs in to the web app: once, for an hour, for whoever can read the home."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from weft.actions.web_login import LOGIN_FILE, LOGIN_SECONDS, login_url, new_login_code, take_login_code
from weft.clock import ManualClock
from weft.config.sections import WebSettings
from weft.errors import HomeError, UsageError
from weft.home import Home

RACERS = 4
ROUNDS = 10
# Waits for a line, then tries the code that it holds, and says whether it won.
RACER = """
import sys
from pathlib import Path
from weft.actions.web_login import take_login_code
from weft.home import Home
for line in sys.stdin:
    print(take_login_code(Home(Path(sys.argv[1])), line.strip()), flush=True)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_code_works_once(home: Home) -> None:
    code = new_login_code(home)
    assert len(code) >= 43, "32 random bytes"
    assert [take_login_code(home, code) for _ in range(3)] == [True, False, False]


def test_the_home_holds_a_hash_alone_that_no_other_user_can_read(home: Home) -> None:
    code = new_login_code(home)
    (file,) = home.path.iterdir()
    assert file.name == LOGIN_FILE
    assert code not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    take_login_code(home, code)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("wrong", ["", "x", "é" * 50, "\udcff", "a" * 1_000_000])
def test_a_wrong_code_neither_works_nor_uses_up_the_right_one(home: Home, wrong: str) -> None:
    assert not take_login_code(home, wrong), "no code was made yet"
    code = new_login_code(home)
    assert not take_login_code(home, wrong)
    assert not take_login_code(home, code + wrong if wrong else code[:-1])
    assert take_login_code(home, code)


def test_a_newer_code_takes_the_place_of_an_older_one(home: Home) -> None:
    older, newer = new_login_code(home), new_login_code(home)
    assert older != newer
    assert not take_login_code(home, older)
    assert take_login_code(home, newer)


def test_a_code_works_for_an_hour_and_no_longer_when_the_clock_is_set_back(home: Home) -> None:
    clock = ManualClock(10_000_000)
    code = new_login_code(home, clock)
    clock.advance(LOGIN_SECONDS)
    assert not take_login_code(home, code, clock), "an hour later"
    clock.advance(-2 * LOGIN_SECONDS)
    assert not take_login_code(home, code, clock), "an hour before it was made"
    clock.advance(2 * LOGIN_SECONDS - 1)
    assert take_login_code(home, code, clock)


@pytest.mark.parametrize("held", [b"", b"{", b"[]", b'{"digest":1}', b"\xff", b"\0" * 10_000])
def test_a_damaged_file_lets_nobody_in(home: Home, held: bytes) -> None:
    (home.path / LOGIN_FILE).write_bytes(held)
    assert not take_login_code(home, "")
    assert take_login_code(home, new_login_code(home)), "and a new code replaces it"


def test_a_home_that_cannot_hold_one_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError, match="the login code cannot be written: Not a directory"):
        new_login_code(Home(tmp_path / "file"))
    (tmp_path / LOGIN_FILE).mkdir()
    with pytest.raises(HomeError, match="the login code cannot be read: Is a directory"):
        take_login_code(Home(tmp_path), "x")


def test_of_several_processes_that_show_a_code_at_once_one_gets_in(home: Home) -> None:
    words = [sys.executable, "-c", RACER, str(home.path)]
    racers = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for _ in range(RACERS)
    ]
    try:
        for _ in range(ROUNDS):
            code = new_login_code(home)
            for racer in racers:
                assert racer.stdin
                racer.stdin.write(f"{code}\n")
                racer.stdin.flush()
            won = [racer.stdout.readline().strip() for racer in racers if racer.stdout]
            assert sorted(won) == ["False"] * (RACERS - 1) + ["True"]
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()


@pytest.mark.parametrize(
    ("listen", "reached"),
    [
        ("127.0.0.1:8765", "http://127.0.0.1:8765/login?code=c"),
        ("localhost:80", "http://localhost:80/login?code=c"),
        ("0.0.0.0:8765", "http://127.0.0.1:8765/login?code=c"),
        ("[::]:8765", "http://[::1]:8765/login?code=c"),
        ("[fd00::5]:1", "http://[fd00::5]:1/login?code=c"),
    ],
)
def test_the_url_leads_to_where_the_web_app_listens(listen: str, reached: str) -> None:
    assert login_url(WebSettings(listen=listen), "c") == reached


def test_the_port_in_use_is_told_where_the_settings_leave_it_open() -> None:
    settings = WebSettings(listen="127.0.0.1:0")
    assert login_url(settings, "c", 4711) == "http://127.0.0.1:4711/login?code=c"
    with pytest.raises(UsageError, match="takes any free port"):
        login_url(settings, "c")
