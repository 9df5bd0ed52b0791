"""A node tells at its start that others will refuse its certificate."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.certificates import Authority
from weft.config.settings import settings_with
from weft.roles.own_certificate import warn_of_certificate
from weft.roles.tls import server_context


def warnings(caplog: pytest.LogCaptureFixture, values: dict[str, str], host: str) -> list[str]:
    settings = settings_with(values)
    warn_of_certificate(settings, server_context(settings), host)
    return [record.getMessage().replace(settings.tls.certificate, "FILE") for record in caplog.records]


def test_a_good_one_is_no_event(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    values = Authority(tmp_path).tls("10.0.0.2", "spider.example", days=100)
    assert not warnings(caplog, values, "10.0.0.2")
    assert not warnings(caplog, values, "spider.example")
    assert not warnings(caplog, values, "0.0.0.0"), "nobody knows it by that name"


def test_one_that_has_expired_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (said,) = warnings(caplog, Authority(tmp_path).tls("10.0.0.2", days=-1), "10.0.0.2")
    assert said.startswith("other nodes will refuse this one (FILE): its certificate has expired")


def test_one_that_expires_soon_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert warnings(caplog, Authority(tmp_path).tls("10.0.0.2", days=3), "10.0.0.2") == [
        "tls.certificate FILE expires in 2 days"
    ]


def test_one_for_another_name_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (said,) = warnings(caplog, Authority(tmp_path).tls("10.0.0.2", days=100), "10.0.0.3")
    assert said.startswith("other nodes will refuse this one (FILE): its certificate does not name 10.0.0.3")


def test_one_of_another_ca_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "other").mkdir()
    values = Authority(tmp_path).tls("10.0.0.2", days=100) | {"tls.ca": str(Authority(tmp_path / "other").file)}
    (said,) = warnings(caplog, values, "10.0.0.2")
    assert said.startswith("other nodes will refuse this one (FILE): its certificate is not of the CA in tls.ca")
