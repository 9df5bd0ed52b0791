"""What every control plane promises about the tokens of the web app."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from support.mgmt_engines import Engine
from weft.errors import MgmtError
from weft.mgmt.api import Mgmt
from weft.mgmt.rules.web_tokens import MOST_WEB_TOKENS
from weft.mgmt.values import WebToken

ONE, OTHER = WebToken("1", "one", 10), WebToken("2", "", 5)


def test_tokens_are_listed_by_digest_the_oldest_first(mgmt: Mgmt) -> None:
    assert mgmt.web_tokens() == {}
    assert mgmt.add_web_token(ONE, "d1")
    assert mgmt.add_web_token(OTHER, "d2")
    assert list(mgmt.web_tokens().items()) == [("d2", OTHER), ("d1", ONE)]


def test_a_token_is_added_once_and_its_id_is_its_own(mgmt: Mgmt) -> None:
    assert mgmt.add_web_token(ONE, "d1")
    assert mgmt.add_web_token(ONE, "d1"), "the same call again is harmless"
    assert not mgmt.add_web_token(WebToken("1", "thief", 99), "d9")
    assert not mgmt.add_web_token(WebToken("3", "thief", 99), "d1")
    assert mgmt.web_tokens() == {"d1": ONE}


def test_the_newest_use_is_kept(mgmt: Mgmt) -> None:
    mgmt.add_web_token(ONE, "d1")
    for used in (500, 700, 600):
        mgmt.use_web_token("1", used)
    mgmt.use_web_token("unknown", 800)
    assert mgmt.web_tokens() == {"d1": WebToken("1", "one", 10, 700)}


def test_a_revoked_token_is_gone(mgmt: Mgmt) -> None:
    mgmt.add_web_token(ONE, "d1")
    mgmt.add_web_token(OTHER, "d2")
    assert mgmt.revoke_web_token("1")
    assert not mgmt.revoke_web_token("1")
    mgmt.use_web_token("1", 800)
    assert mgmt.web_tokens() == {"d2": OTHER}


def test_names_may_be_in_any_script(mgmt: Mgmt) -> None:
    named = WebToken("1", "Ops – 運用 🔑 'quoted'", 10)
    mgmt.add_web_token(named, "d1")
    assert mgmt.web_tokens() == {"d1": named}


def test_there_are_at_most_a_thousand(mgmt: Mgmt) -> None:
    for number in range(MOST_WEB_TOKENS):
        mgmt.add_web_token(WebToken(str(number), "", number), f"d{number}")
    with pytest.raises(MgmtError, match="there are 1,000 tokens already; revoke one"):
        mgmt.add_web_token(WebToken("more", "", 1), "more")
    assert mgmt.add_web_token(WebToken("7", "", 7), "d7"), "one that is there is no further one"
    mgmt.revoke_web_token("7")
    assert mgmt.add_web_token(WebToken("more", "", 1), "more")


def test_of_many_that_take_one_id_at_once_one_gets_it(engine: Engine) -> None:
    with ThreadPoolExecutor(4) as threads:
        openings = [engine.another() for _ in range(4)]
        added = list(
            threads.map(lambda n: openings[n].add_web_token(WebToken("1", str(n), n), f"d{n}"), range(len(openings)))
        )
    assert sorted(added) == [False, False, False, True]
    assert list(engine.another().web_tokens()) == [f"d{added.index(True)}"]


def test_tokens_outlive_the_process_that_made_them(engine: Engine) -> None:
    engine.another().add_web_token(ONE, "d1")
    assert engine.another().web_tokens() == {"d1": ONE}
