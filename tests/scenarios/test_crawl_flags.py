"""Flags of `weft crawl` with a real nginx: what they ask for happens, is stored for the site, and can be corrected."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from support.nginx import Nginx, NginxSite, running_nginx
from support.weft_command import weft
from support.whole_crawl import SETS, told

PAGES: dict[str, str | bytes] = {
    "/docs/": "".join(
        f'<a href="{path}">x</a>' for path in ("/docs/a.html", "/docs/old/b.html", "/blog/", "/docs/p.pdf")
    ),
    "/docs/a.html": "<a href='/docs/deep.html'>deep</a> <a href='/docs/picture'>picture</a>",
    "/docs/deep.html": "deep",
    "/docs/old/b.html": "old",
    "/docs/p.pdf": b"%PDF-1.4",
    "/docs/picture": b"colours" * 2_000_000,
    "/blog/": "blog",
}
PICTURE = "location = /docs/picture { default_type image/png; }"


def run(place: Path, nginx: Nginx, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = place / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "weft.toml").write_text(nginx.settings_text)
    done = weft("crawl", nginx.url("flags.test", "/docs/"), *arguments, "--home", "home", *SETS, cwd=place)
    assert done.returncode in (0, 1), done.stderr
    return done


def asked(nginx: Nginx) -> set[str]:
    return {request.path for request in nginx.requests()} - {"/robots.txt"}


def test_flags_are_obeyed_stored_and_replaced_by_later_ones(nginx_program: Path, tmp_path: Path) -> None:
    site = NginxSite("flags.test", PAGES, lines=(PICTURE,))
    with running_nginx(nginx_program, tmp_path / "nginx", site) as nginx:
        first = run(
            tmp_path,
            nginx,
            *("--scope", "path", "--exclude", "/old/", "--depth", "1", "--types", "html", "--json"),
            *("--header", "X-Key: canary", "--user-agent", "tester/1.0", "--rate", "40", "--max-bytes", "1M"),
        )
        assert asked(nginx) == {"/docs/", "/docs/a.html"}
        assert {request.agent for request in nginx.requests()} == {"tester/1.0"}
        events = [json.loads(line) for line in first.stdout.splitlines()]
        assert {event["event"] for event in events} <= {"progress", "message", "summary"}
        assert (events[-1]["event"], events[-1]["pages"]) == ("summary", 2)
        assert events[-1]["refused"] == {"pattern": 2, "type": 1, "depth": 2}
        (known,) = told(tmp_path, "sites")["items"]
        settings = {name: value for name, value in known["settings"].items() if name not in ("include", "headers")}
        assert settings == {
            "exclude": ["/old/"], "depth": 1, "types": ["html"], "rate": 40.0, "max_bytes": 1 << 20
        }  # fmt: skip
        assert "canary" not in first.stdout + first.stderr + json.dumps(known)
        assert "can read --header X-Key on the command line" in first.stderr
        run(tmp_path, nginx, "--scope", "hosts", "--exclude", "/blog/", "--depth", "5", "--types", "html,pdf")
        assert asked(nginx) == set(PAGES) - {"/blog/"}
        assert nginx.requests("/docs/picture")[0].bytes < len(PAGES["/docs/picture"])
        why = weft("why", nginx.url("flags.test", "/docs/picture"), "--home", "home", cwd=tmp_path).stdout
        assert "not crawled: type: image/png by the header of its response" in why
        run(tmp_path, nginx, "--again", "0")
        assert nginx.statuses("/docs/picture") == [200], "it is not asked for again"
        assert nginx.statuses("/docs/a.html") == [200, 304]
        (known,) = told(tmp_path, "sites")["items"]
        assert "include" not in known["settings"]
        assert known["settings"]["exclude"] == ["/blog/"]
