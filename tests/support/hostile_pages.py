"""Pages that are made to take long, by a size; run as a program, it reads some of them under a limit of CPU time."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

from weft.html import parse_page

PAGES: dict[str, Callable[[int], str]] = {
    "nested blocks": lambda n: "<div>x" * n,
    "nested inline elements": lambda n: "<span>x " * n,
    "formatting that is never closed": lambda n: "<b>x<p>" * n,
    "formatting closed in the wrong order": lambda n: "<b><p>x</b>" * n,
    "links and formatting, never closed": lambda n: "<a href=x><b><i><p>x" * (n // 8),
    "nested tables": lambda n: "<table><tr><td>x" * n,
    "text in the wrong place of tables": lambda n: "<table>x" * n,
    "nested lists": lambda n: "<ul><li>x" * n,
    "nested links around a long text": lambda n: "<a href=x><table><td>" * (n // 4) + "word " * n,
    "nested links around many elements": lambda n: "<a href=x><table><td>" * (n // 4) + "<hr>" * n,
    "nested headings": lambda n: "<h1><div>" * (n // 2) + "word " * n,
    "nested objects with links": lambda n: "<object><a href=x>y" * n,
    "nested templates": lambda n: "<template><a href=x>y" * n,
    "nested shadow roots": lambda n: "<div><template shadowrootmode=open>x" * n,
    "nested hidden elements": lambda n: "<p hidden><span hidden>x" * n,
    "nested drawings": lambda n: "<svg><g><title>x" * (n // 2),
    "forty thousand attributes": lambda n: "<p " + " ".join(f"a{i}=1" for i in range(max(n, 40_000))) + ">x",
    "an endless attribute": lambda n: '<a href="' + "x" * (20 * n),
    "an endless rel": lambda n: "<a href=x rel='" + "y " * (5 * n) + "'>z",
    "an endless title": lambda n: "<title>" + "x " * (5 * n),
    "an endless comment": lambda n: "<!-- x" * n,
    "an endless script": lambda n: "<script>x" * n,
    "less-than signs": lambda n: "<" * (10 * n),
    "ampersands": lambda n: "&amp" * (3 * n),
    "zero bytes": lambda n: "\0" * (10 * n),
    "spaces": lambda n: " " * (20 * n),
    "no-break spaces": lambda n: "x&nbsp;" * n,
    "links": lambda n: "<a href=/x>y</a>" * n,
    "pictures in a link": lambda n: "<a href=x>" + "<img>" * n,
    "blocks in a link": lambda n: "<a href=x>" + "<div>x</div>" * n,
    "metas": lambda n: "<meta name=robots content=noindex>" * n,
    "options": lambda n: "<select>" + "<option>x" * n,
    "one long word": lambda n: "<p>" + "x" * (10 * n),
    "one long number": lambda n: "<p>" + "1" * (10 * n),
    "times": lambda n: "<p>" + "12:30 " * n,
    "dates": lambda n: "<p>" + "31 January 2026, " * n,
    "a long text": lambda n: "<p>" + "word " * (5 * n),
    "a long text without spaces": lambda n: "<p>" + "漢字" * (3 * n),
}


def main() -> None:
    """Read the pages named by the arguments behind size and seconds; each finished one is a line with its CPU time."""
    size, seconds = int(sys.argv[1]), float(sys.argv[2])
    for name in sys.argv[3:]:
        body = PAGES[name](size).encode()
        began = time.process_time()
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(began + seconds) + 1, hard))
        parse_page(body)
        print(name, time.process_time() - began, sep="\t", flush=True)


if __name__ == "__main__":
    main()
