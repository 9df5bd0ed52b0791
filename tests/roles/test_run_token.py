"""The token of a run: new each time, for its own roles alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from weft.config.settings import DEFAULTS, settings_with
from weft.errors import HomeError
from weft.roles.run_token import TOKEN_FILE, run_token, with_run_token


def token_of(home: Path) -> str:
    return with_run_token(DEFAULTS, home).spider.token


def test_every_run_has_a_token_of_its_own_and_leaves_none_behind(tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        with run_token(tmp_path):
            seen.append(token_of(tmp_path))
        assert not (tmp_path / TOKEN_FILE).exists()
    assert len(set(seen)) == 2
    assert all(len(token) >= 43 for token in seen), "32 random bytes"


def test_no_other_user_can_read_it(tmp_path: Path) -> None:
    with run_token(tmp_path):
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / TOKEN_FILE, (tmp_path / TOKEN_FILE).parent)]
    assert modes == [0o600, 0o700]


def test_what_a_killed_run_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / TOKEN_FILE
    path.parent.mkdir()
    for left in (path, path.with_suffix(".new")):
        left.write_text("old\n")
        left.chmod(0o644)
    with run_token(tmp_path):
        assert token_of(tmp_path) != "old"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_token_in_the_settings_wins(tmp_path: Path) -> None:
    settings = settings_with({"spider.token": "ours"})
    with run_token(tmp_path):
        assert with_run_token(settings, tmp_path).spider.token == "ours"


def test_roles_of_a_run_use_no_tls_among_themselves(tmp_path: Path) -> None:
    for settings in (DEFAULTS, settings_with({"spider.token": "ours"})):
        assert with_run_token(settings, tmp_path).tls.loopback
        with run_token(tmp_path):
            assert not with_run_token(settings, tmp_path).tls.loopback


def test_without_a_run_there_is_none(tmp_path: Path) -> None:
    assert with_run_token(DEFAULTS, tmp_path) is DEFAULTS


@pytest.mark.parametrize("held", [b"", b"\n", b"two words\n", b"\xff\xfe", b"a\0b"])
def test_a_damaged_token_is_a_sentence_and_never_no_token(tmp_path: Path, held: bytes) -> None:
    path = tmp_path / TOKEN_FILE
    path.parent.mkdir()
    path.write_bytes(held)
    with pytest.raises(HomeError, match="this is no token"):
        with_run_token(DEFAULTS, tmp_path)


def test_a_home_that_cannot_hold_one_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / TOKEN_FILE.parent).write_text("a file")
    with pytest.raises(HomeError, match="cannot be written"), run_token(tmp_path):
        pass
