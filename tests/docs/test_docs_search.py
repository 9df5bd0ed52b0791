"""The session in docs/search.md, on a crawl of the handbook in examples."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from docs.test_docs_examples import follow

PROJECT = Path(__file__).resolve().parents[2]
SESSION = re.compile(r"^```shell-session\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: the test reads what weft says."""


@pytest.fixture
def handbook() -> Iterator[str]:
    """Its port."""
    handler = functools.partial(QuietHandler, directory=str(PROJECT / "examples" / "handbook"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield str(server.server_address[1])
        server.shutdown()


def test_the_session_shows_what_it_says(handbook: str, tmp_path: Path) -> None:
    (session,) = SESSION.findall((PROJECT / "docs" / "search.md").read_text(encoding="utf-8"))
    assert session.count("$ weft search") >= 4
    follow(f"```console\n{session.replace('8931', handbook)}```\n", tmp_path)
