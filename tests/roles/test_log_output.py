"""The log of a role: where it goes and how large it gets."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
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


def test_a_log_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    program = (
        "import logging\nfrom weft.roles.log_output import begin_logging\n"
        "begin_logging()\nlogging.info('a page of \u6f22')"
    )
    changed = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "utf-8"}
    environment = {**os.environ, **changed, "WEFT_LOG": str(tmp_path / "role.log")}
    done = subprocess.run(
        [sys.executable, "-"], input=program.encode(), env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "role.log").read_text(encoding="utf-8").endswith("a page of \u6f22\n")
