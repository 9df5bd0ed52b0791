"""The log of a role: where it goes and how large it gets."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from weft.roles import log_output


def test_a_log_never_grows_beyond_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_output, "_LOG_BYTES", 1000)
    monkeypatch.setenv("WEFT_LOG", str(tmp_path / "role.log"))
    handler = log_output._handler()
    logger = logging.Logger("bounded")
    logger.addHandler(handler)
    for number in range(500):
        logger.warning("event %d %s", number, "x" * 50)
    handler.close()
    files = list(tmp_path.glob("role.log*"))
    assert len(files) == 1 + log_output._LOG_FILES
    assert all(file.stat().st_size <= 1000 for file in files)
    assert "event 499" in (tmp_path / "role.log").read_text()
