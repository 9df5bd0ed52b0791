"""Questions to a URL server over TLS."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import uvloop

from support.certificates import Authority
from weft.config import Settings
from weft.config.settings import settings_with
from weft.errors import WeftError
from weft.roles.listener import open_listener
from weft.roles.tls import server_context
from weft.urlserver.view.questions import NoUrlServer, ask_host, serve_questions
from weft.urlserver.view.snapshot import HostView, Snapshot

HOST = "127.0.0.2"


class Silent:
    def explain(self, web_host: str, url: str) -> HostView:
        raise WeftError(f"nothing is known of {web_host}")

    def queues(self) -> Snapshot:
        raise WeftError("there are no queues")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def answer(server: Settings, asker: Settings) -> str:
    """What somebody with other settings is told."""

    async def story() -> str:
        with open_listener("urlserver.listen", HOST, 0, "s3cret") as listener:
            port = await serve_questions(listener, "s3cret", Silent(), server_context(server, HOST))
            address = f"{HOST}:{listener.getsockname()[1]}"
            try:
                await asyncio.to_thread(ask_host, asker, "a.test", "", address)
            except NoUrlServer as error:
                return str(error).replace(address, "HERE")
            finally:
                port.close()
        raise AssertionError("nobody knows that host")

    return uvloop.run(story())


def settings_of(values: dict[str, str], **more: Any) -> Settings:
    return settings_with({"spider.token": "s3cret", **values, **more})


def test_it_is_answered_over_tls(authority: Authority) -> None:
    settings = settings_of(authority.tls(HOST))
    assert answer(settings, settings) == "URL server HERE: nothing is known of a.test"


def test_the_ca_is_enough_to_ask(authority: Authority) -> None:
    asker = settings_of({"tls.ca": str(authority.file)})
    assert answer(settings_of(authority.tls(HOST)), asker) == "URL server HERE: nothing is known of a.test"


def test_another_ca_another_name_and_an_old_certificate_are_refused(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other, asker = Authority(tmp_path / "other"), settings_of(authority.tls(HOST))
    assert "its certificate is not of the CA in tls.ca" in answer(settings_of(other.tls(HOST)), asker)
    assert "its certificate does not name 127.0.0.2" in answer(settings_of(authority.tls("127.0.0.3")), asker)
    assert "its certificate has expired" in answer(settings_of(authority.tls(HOST, days=-1)), asker)


def test_tls_is_not_answered_in_the_clear_nor_the_other_way_round(authority: Authority, caplog: Any) -> None:
    tls, clear = settings_of(authority.tls(HOST)), settings_of({})
    assert answer(clear, tls).startswith("URL server HERE: it does not speak TLS, or hung up in the handshake")
    assert "it speaks TLS, and this port does not" in caplog.records[-1].getMessage()
    assert answer(tls, clear).startswith("URL server HERE: it hung up without an answer; perhaps it speaks TLS")
    assert "it does not speak TLS, and this port speaks nothing else" in caplog.records[-1].getMessage()


def test_roles_of_a_run_are_asked_in_the_clear_on_loopback(authority: Authority) -> None:
    run = settings_of(authority.tls("10.0.0.2"), **{"tls.loopback": False})
    assert answer(run, run) == "URL server HERE: nothing is known of a.test"
