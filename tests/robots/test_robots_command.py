"""`weft robots` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.weft_command import one_sentence, weft

BODY = "User-agent: *\nDisallow: /private/\nAllow: /private/open$\nCrawl-delay: 2.5\nSitemap: https://a.com/s.xml\n"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "robots.txt"
    path.write_text(BODY)
    return str(path)


def test_each_url_is_told_with_the_line_that_decides(file: str, tmp_path: Path) -> None:
    urls = ["https://a.com/", "a.com/private/x", "/private/open", "https://a.com/private/open?utm_source=x"]
    run = weft("robots", file, "weft", *urls, cwd=tmp_path)
    assert run.stdout.splitlines() == [
        "allowed  https://a.com/  no rule matches",
        "refused  https://a.com/private/x  line 2: Disallow: /private/",
        "allowed  /private/open  line 3: Allow: /private/open$",
        "allowed  https://a.com/private/open  line 3: Allow: /private/open$",
    ]
    assert run.returncode == 1


def test_the_exit_code_is_0_when_all_are_allowed(file: str, tmp_path: Path) -> None:
    assert weft("robots", file, "weft", "/", "/x", cwd=tmp_path).returncode == 0


def test_standard_input_and_json(tmp_path: Path) -> None:
    run = weft("robots", "-", "weft", "/private/", "--json", cwd=tmp_path, stdin=BODY)
    assert run.returncode == 1
    assert json.loads(run.stdout) == {
        "agent": "weft",
        "crawl_delay": 2.5,
        "sitemaps": ["https://a.com/s.xml"],
        "count": 1,
        "items": [{"url": "/private/", "allowed": False, "line": 2, "text": "Disallow: /private/"}],
    }


def test_the_limit_is_a_setting(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(b"#" * 512_000 + b"\nUser-agent: *\nDisallow: /\n")
    assert weft("robots", "robots.txt", "weft", "/", cwd=tmp_path).returncode == 0
    assert (
        weft("robots", "robots.txt", "weft", "/", "--set", "limits.robots_bytes=600000", cwd=tmp_path).returncode == 1
    )


def test_a_line_that_the_limit_cuts_is_not_shown_as_a_rule(tmp_path: Path) -> None:
    rule = "\nUser-agent: *\nDisallow: /a"
    body = "#" * (512_000 - len(rule)) + rule + "b"
    (tmp_path / "robots.txt").write_text(body)
    assert weft("robots", "robots.txt", "weft", "/ac", cwd=tmp_path).returncode == 0
    assert weft("robots", "-", "weft", "/ac", cwd=tmp_path, stdin=body).returncode == 0
    assert weft("robots", "-", "weft", "/ac", cwd=tmp_path, stdin=body[:-1]).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("none.txt", "weft", "/"), "none.txt: No such file or directory; expected a robots.txt that can be read"),
        ((".", "weft", "/"), ".: Is a directory; expected a robots.txt that can be read"),
        (("-", "weft/1.0", "/"), "AGENT 'weft/1.0': expected a product token"),
        (("-", "weft", "ftp://a.com/"), "its scheme is ftp; expected http or https"),
        (("-", "weft"), "Missing argument 'URL...'"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    run = weft("robots", *arguments, cwd=tmp_path, stdin="")
    assert run.returncode == 2
    assert sentence in one_sentence(run)
