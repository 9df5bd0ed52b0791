"""`weft token`: what people see of tokens and logins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.weft_command import one_sentence, weft
from weft.actions.web_login import take_login_code
from weft.actions.web_tokens import find_token
from weft.home import Home
from weft.mgmt.sqlite import SqliteMgmt

HOME = ("--home", "home")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    assert weft("init", *HOME, cwd=tmp_path).returncode == 0
    return tmp_path


def test_a_token_works_from_its_making_until_it_is_revoked(place: Path) -> None:
    made = weft("token", "create", "--name", "deploy", *HOME, cwd=place)
    text = made.stdout.strip()
    mgmt = SqliteMgmt(place / "home" / "mgmt.db")
    found = find_token(mgmt, text, now=1_700_000_000_000)
    assert found is not None
    assert made.stderr == f"weft: this is shown only now; `weft token revoke {found.id}` ends it\n"
    listed = json.loads(weft("token", "list", "--json", *HOME, cwd=place).stdout)
    (item,) = listed["items"]
    assert (item["id"], item["name"], item["used"]) == (found.id, "deploy", "2023-11-14T22:13:20Z")
    revoked = weft("token", "revoke", found.id, *HOME, cwd=place)
    assert revoked.stdout == f"Revoked {found.id} (deploy).\n"
    assert find_token(mgmt, text) is None
    mgmt.close()


def test_a_login_works_once(place: Path) -> None:
    url = weft("token", "login", "--set", "web.listen=[::1]:99", *HOME, cwd=place).stdout.strip()
    address, _, code = url.partition("?code=")
    assert address == "http://[::1]:99/login"
    assert [take_login_code(Home(place / "home"), code) for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["revoke", "0123abcd"], 1, "0123abcd is not the id of a token"),
        (["create", "--name", "two\nlines"], 2, "one line of at most 100 characters"),
        (["login", "--set", "web.listen=127.0.0.1:0"], 2, "takes any free port"),
        (["list", "--home", "nowhere"], 2, "no weft home here"),
        (["login", "--home", "nowhere"], 2, "no weft home here"),
    ],
)
def test_what_cannot_be_is_one_sentence(place: Path, words: list[str], status: int, sentence: str) -> None:
    done = weft("token", words[0], *HOME, *words[1:], cwd=place)
    assert done.returncode == status
    assert sentence in one_sentence(done)
    assert not (place / "home/web-login.json").exists(), "nothing is made that cannot be used"


def test_a_home_that_nobody_used_has_no_tokens(place: Path) -> None:
    done = weft("token", "list", "--json", *HOME, cwd=place)
    assert json.loads(done.stdout) == {"count": 0, "items": []}
    assert not (place / "home" / "mgmt.db").exists(), "a question makes nothing"
