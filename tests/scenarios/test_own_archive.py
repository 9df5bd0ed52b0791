"""A crawl and an import of its own archive make the same index, whatever servers sent."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from support.validating_web import Resource, ValidatingWeb, validating_web
from support.weft_command import weft

MAX_BODY = 20_000
SMALL = ("--set", f"spider.max_body={MAX_BODY}")
HTML = "text/html; charset=utf-8"


def page(name: str, *links: str, size: int = 100) -> bytes:
    anchors = "".join(f'<a href="{link}">to {link}</a>' for link in links)
    return f"<!doctype html><title>{name}</title>{anchors}<p>{name} {'words ' * (size // 6)}</p>".encode()


class LyingResource(Resource):
    """Its body is not what its Content-Encoding says, or ends before that does."""

    @property
    def sent(self) -> bytes:
        return self.body


def site() -> dict[str, Resource]:
    cut_gzip = gzip.compress(page("cut gzip", "/from-cut-gzip", size=9000) + bytes(range(256)) * 8, mtime=0)[:-40]
    named = {
        "/long": Resource(page("long", "/from-long", size=2 * MAX_BODY)),
        "/long-chunked": Resource(page("long chunked", "/from-long-chunked", size=2 * MAX_BODY), is_chunked=True),
        "/grows": Resource(page("grows", "/from-grows")),
        "/goes": Resource(page("goes", "/from-goes")),
        "/returns": Resource(page("returns", "/from-returns"), has_etag=False),
        "/changes": Resource(page("changes", "/before")),
        "/same": Resource(page("same", "/from-same"), has_etag=False),
        "/bomb": Resource(page("bomb") + b" " * 2_000_000, is_gzip=True),
        "/list": Resource(page("list", "/from-list"), f"text/html, {HTML}"),
        "/lines": Resource(page("lines", "/from-lines"), f"text/plain\n{HTML}"),
        "/cut-gzip": LyingResource(cut_gzip, is_gzip=True),
        "/not-gzip": LyingResource(page("not gzip", "/from-not-gzip"), is_gzip=True),
        "/file.pdf": Resource(b"%PDF-1.4", "application/pdf"),
    }
    robots = {"/robots.txt": Resource(page("robots", "/from-robots"), HTML, has_etag=False)}
    return {"/": Resource(page("start", *named)), **named, **robots}


def told(place: Path, *arguments: str) -> dict:
    done = weft(*arguments, "--json", cwd=place)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def crawl(place: Path, *arguments: str) -> None:
    done = weft("crawl", *arguments, "--home", "home", *SMALL, cwd=place)
    assert done.returncode in (0, 1), done.stderr


def change(web: ValidatingWeb) -> None:
    """What the site is when it is crawled for the second time."""
    web.resources["/grows"] = Resource(page("grows", "/from-grows-later", size=2 * MAX_BODY))
    web.resources["/changes"] = Resource(page("changes", "/after"))
    del web.resources["/goes"], web.resources["/returns"]


def test_a_crawl_and_an_import_of_its_archive_have_the_same_digest(tmp_path: Path) -> None:
    with validating_web(site()) as web:
        web.make_home(tmp_path / "home")
        crawl(tmp_path, web.url())
        change(web)
        crawl(tmp_path, "--again", "0")
        web.resources["/returns"] = site()["/returns"]
        crawl(tmp_path, "--again", "0")
        pages = {item["uri"] for item in told(tmp_path, "top", "--home", "home", "--limit", "100")["items"]}
        assert {uri.rpartition("/")[2] for uri in pages} >= {"from-grows", "from-cut-gzip", "from-list", "after"}
        assert not [uri for uri in pages if uri.endswith(("from-long", "from-grows-later", "from-robots", "before"))]
    imported = told(tmp_path, "import", "home/warc", "--home", "copy", *SMALL)
    assert imported["skipped"] == 0
    assert {"refused: too_large", "refused: robots.txt", "refused: bad_encoding"} <= set(imported["passed"])
    assert imported["passed"]["refused: too_large"] >= 4
    digests = [told(tmp_path, "digest", "--home", home)["digest"] for home in ("home", "copy")]
    assert digests[0] == digests[1]
