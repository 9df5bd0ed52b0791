"""`weft crawl` over sites of a real nginx: compressed and unchanged pages, redirects, passwords, an own authority."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.nginx import Nginx, NginxSite, running_nginx
from support.weft_command import weft
from support.whole_crawl import check_proof, crawl, told

PAGES = {
    "/": '<title>Home</title><a href="/a.html">first</a> <a href="/b.html">second</a>',
    "/a.html": '<title>A</title><a href="/">home</a> ' + "many words " * 500,
    "/b.html": '<title>B</title><a href="/a.html">first</a>',
}


def prepare(nginx: Nginx, place: Path, further: str = "") -> None:
    home = place / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "weft.toml").write_text(nginx.settings_text + further)


def set_site(place: Path, url: str, *settings: str) -> None:
    name = url.split("/")[2]
    words = [word for text in settings for word in ("--setting", text)]
    assert weft("add", url, "--home", "home", cwd=place).returncode == 0
    done = weft("sites", name, *words, "--home", "home", cwd=place)
    assert done.returncode == 0, done.stderr


def urls_crawled(place: Path) -> set[str]:
    return {item["url"] for item in told(place, "top")["items"] if item["crawled"]}


def test_compressed_pages_are_read_and_unchanged_ones_cost_a_304(nginx_program: Path, tmp_path: Path) -> None:
    site = NginxSite("docs.test", PAGES)
    with running_nginx(nginx_program, tmp_path / "nginx", site) as nginx:
        prepare(nginx, tmp_path)
        crawl(tmp_path, nginx.url("docs.test"))
        assert {request.encoding for request in nginx.requests("/a.html")} == {"gzip"}
        assert nginx.requests("/a.html")[0].bytes < len(PAGES["/a.html"]) / 10
        assert told(tmp_path, "page", nginx.url("docs.test", "/a.html"))["title"] == "A"
        nginx.write(site, "/b.html", '<title>B, rewritten</title><a href="/">home</a>')
        crawl(tmp_path, "--again", "0")
        assert {path: nginx.statuses(path) for path in PAGES} == {
            "/": [200, 304],
            "/a.html": [200, 304],
            "/b.html": [200, 200],
        }
        assert told(tmp_path, "page", nginx.url("docs.test", "/a.html"))["title"] == "A"
        assert told(tmp_path, "page", nginx.url("docs.test", "/b.html"))["title"] == "B, rewritten"
    check_proof(tmp_path)


def test_a_site_with_a_password_and_an_authority_of_its_own_is_crawled(nginx_program: Path, tmp_path: Path) -> None:
    site = NginxSite("intranet.test", PAGES, secure=True, auth="reader:canary-password")
    with running_nginx(nginx_program, tmp_path / "nginx", site) as nginx:
        prepare(nginx, tmp_path)
        url = nginx.url("intranet.test", scheme="https")
        set_site(tmp_path, url, 'auth="reader:canary-password"', f'ca="{nginx.authority.file}"')
        done = crawl(tmp_path)
        assert {request.user for request in nginx.requests("/a.html")} == {"reader"}
        assert {request.status for request in nginx.requests()} <= {200, 404}
        assert urls_crawled(tmp_path) == {nginx.url("intranet.test", path, "https") for path in PAGES}
        assert "canary" not in done.stdout + done.stderr


def test_an_apex_that_leads_to_https_and_to_www_is_crawled_there(nginx_program: Path, tmp_path: Path) -> None:
    sites = (
        NginxSite("example.test", redirect="https://example.test"),
        NginxSite("example.test", secure=True, redirect="https://www.example.test"),
        NginxSite("www.example.test", PAGES, secure=True),
    )
    with running_nginx(nginx_program, tmp_path / "nginx", *sites) as nginx:
        prepare(nginx, tmp_path, f'[spider]\nca_file = "{nginx.authority.file}"\n')
        done = crawl(tmp_path, nginx.url("example.test"))
        assert urls_crawled(tmp_path) == {nginx.url("www.example.test", path, "https") for path in PAGES}
        assert "which is crawled too, without credentials" in done.stdout
        assert "www.example.test" in weft("sites", "--home", "home", cwd=tmp_path).stdout
    check_proof(tmp_path)


@pytest.mark.long
def test_hundreds_of_compressed_pages_over_tls_are_all_read(nginx_program: Path, tmp_path: Path) -> None:
    count = 500
    pages = {
        f"/{n}.html": "".join(f'<a href="/{(n * 7 + step) % count}.html">{step}</a>' for step in range(20))
        for n in range(count)
    }
    site = NginxSite("large.test", {"/": '<a href="/1.html">start</a>', **pages}, secure=True)
    with running_nginx(nginx_program, tmp_path / "nginx", site) as nginx:
        prepare(nginx, tmp_path, f'[spider]\nca_file = "{nginx.authority.file}"\n')
        crawl(tmp_path, nginx.url("large.test", scheme="https"))
        assert {request.encoding for request in nginx.requests() if request.status == 200} == {"gzip"}
        assert told(tmp_path, "domains")["items"][0]["pagecount"] == count + 1
    check_proof(tmp_path)
