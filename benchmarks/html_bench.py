"""Reading pages: links, visible text and fingerprints, beside two other parsers that do the same.

Run by `weft bench html`, on one core: generated pages of about 35 KB with 40 links, and the pages of the published
archives and encoding cases, where those are present. The contestants take turns page by page, so that whatever else the
machine does hits all alike; the ratio compares the quickest reading of every page.

The job: links with their words and rel; the visible text with single spaces; fingerprint and simhash, which the same
function makes for all. The others do less of it: words that markup cuts in two stay so, and hidden elements are read.

The file is not called html.py: Python would import it wherever something asks for its own module of that name.
"""

from __future__ import annotations

import argparse
import os
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fastwarc import ArchiveIterator, WarcRecordType
from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html
from selectolax.lexbor import LexborHTMLParser

from measuring import Stopwatch, timed
from weft.config.sections import LimitsSettings
from weft.html import parse_page
from weft.html.charset import read_document
from weft.html.fingerprint import fingerprint_and_simhash
from weft.html.page_links import read_links
from weft.html.page_text import text_of
from weft.html.tree import dissolve, find_elements, leave_only_seen

SUITES = Path(os.environ.get("WEFT_SUITES") or Path(__file__).resolve().parents[2] / "shared" / "suites")
LINKS = 40
PAGE_BYTES = 35_000
LIMITS = LimitsSettings()
INVISIBLE = ["script", "style", "template", "noscript", "iframe", "svg", "select", "textarea", "object", "head"]
VOCABULARY = [
    first + middle + last
    for first in ("b", "c", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v")
    for middle in ("a", "e", "i", "o", "u")
    for last in ("", "l", "nd", "ring", "ster", "tion")
]

Hrefs = list[str]


def generated_page(number: int) -> bytes:
    """A page with a menu, paragraphs, headings, scripts and styles; the same one for a number in every run."""
    chance = random.Random(number)

    def words(count: int) -> str:
        return " ".join(chance.choices(VOCABULARY, k=count))

    menu = "".join(
        f'<li class="menu-item item-{item}"><a class="link" href="/{words(1)}/{item}.html">{words(2)}</a></li>\n'
        for item in range(LINKS // 2)
    )
    parts = [
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{words(6)}</title>',
        f'<meta name="description" content="{words(15)}"><link rel="stylesheet" href="/style.css">',
        f"<style>.menu {{ color: red }}</style><script>var words = '{words(150)}';</script></head>",
        f'<body class="page"><nav><ul>{menu}</ul></nav><main>',
    ]
    size, block = sum(map(len, parts)), 0
    while size < PAGE_BYTES:
        link = f'<a href="https://www.{words(1)}.example/{block}?a=1&amp;b=2" rel="nofollow">{words(3)}</a>'
        parts.append(
            f'<div class="block" data-id="{block}"><h2>{words(5)}</h2>\n<p>{words(40)} <em>{words(2)}</em> &amp; '
            f"{words(60)}\n{words(30)}, {number} {words(4)} 31.1.2026. {link if block < LINKS // 2 else ''}</p></div>\n"
        )
        size, block = size + len(parts[-1]), block + 1
    return "".join([*parts, "</main><footer><p>&copy; 2026</p></footer></body></html>"]).encode()


def suite_pages() -> Iterator[bytes]:
    for archive in ("iana.warc.gz", "cc-whirlwind/whirlwind.warc.gz", "warcio/example.warc.gz"):
        path = SUITES / "warc" / archive
        if path.exists():
            with path.open("rb") as file:
                for record in ArchiveIterator(file, record_types=WarcRecordType.response, auto_decode="content"):
                    body = record.reader.read()
                    if body and record.http_content_type == "text/html":
                        yield body
    for path in sorted((SUITES / "html" / "encoding").glob("*.dat")):
        for case in path.read_bytes().split(b"#data\n")[1:]:
            yield case.partition(b"\n#encoding\n")[0]


def whole_page(body: bytes) -> Hrefs:
    return [link.href for link in parse_page(body).links]


def same_job(body: bytes) -> Hrefs:
    """The parts of parse_page that the others do as well."""
    document = read_document(body)
    found = find_elements(document)
    leave_only_seen(document, found)
    links = read_links(found.links, LIMITS, document.encoding or "")
    dissolve(found.links)
    fingerprint_and_simhash(text_of(document), [])
    return [link.href for link in links]


def lexbor(body: bytes) -> Hrefs:
    tree = LexborHTMLParser(body)
    found = [
        (node.attributes["href"] or "", " ".join(node.text().split()), node.attributes.get("rel"))
        for node in tree.css("a[href], area[href]")
    ]
    tree.strip_tags(INVISIBLE)
    body_text = tree.body.text(separator="\n") if tree.body else ""
    fingerprint_and_simhash(_single_spaced(body_text.split("\n")), [])
    return [href.strip() for href, _, _ in found]


def lxml(body: bytes) -> Hrefs:
    try:
        tree = lxml_html.document_fromstring(body)
    except etree.ParserError:
        return []
    found = [
        (node.get("href"), " ".join(node.text_content().split()), node.get("rel"))
        for node in tree.iter("a", "area")
        if node.get("href") is not None
    ]
    etree.strip_elements(tree, *INVISIBLE, etree.Comment, with_tail=False)
    fingerprint_and_simhash(_single_spaced(tree.itertext()), [])
    return [href.strip() for href, _, _ in found]


def _single_spaced(lines: Iterable[str]) -> str:
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


CONTESTANTS: dict[str, Callable[[bytes], Hrefs]] = {
    "weft, the same job": same_job,
    "weft, all of parse_page": whole_page,
    "selectolax (Lexbor)": lexbor,
    "lxml": lxml,
}
SETS: dict[str, Callable[[], list[bytes]]] = {
    "generated": lambda: [generated_page(number) for number in range(60)],
    "suites": lambda: list(suite_pages()),
}


@dataclass
class Taken:
    """What one contestant needed, in seconds."""

    readings: int = 0
    wall: float = 0.0
    quickest: dict[int, float] = field(default_factory=dict)
    """The quickest reading of each page."""
    hrefs: list[Hrefs] = field(default_factory=list)

    def add(self, number: int, seconds: float) -> None:
        self.readings += 1
        self.wall += seconds
        self.quickest[number] = min(seconds, self.quickest.get(number, seconds))

    @property
    def quickest_micros(self) -> float:
        return sum(self.quickest.values()) / len(self.quickest) * 1e6


def take_turns(pages: list[bytes], rounds: int) -> dict[str, Taken]:
    taken = {name: Taken(hrefs=[read(page) for page in pages]) for name, read in CONTESTANTS.items()}
    order = deque(CONTESTANTS)
    for _ in range(rounds):
        for number, page in enumerate(pages):
            for name in order:
                taken[name].add(number, timed(partial(CONTESTANTS[name], page)))
            # Whoever comes after a slow one finds the caches empty: each has its turn at that.
            order.rotate(1)
        order.rotate(1)
    return taken


def cpu_micros(name: str, pages: list[bytes], rounds: int) -> float:
    """CPU time of one page, all of them read by one contestant after the other."""
    watch, read = Stopwatch(), CONTESTANTS[name]
    for _ in range(rounds):
        for page in pages:
            read(page)
    watch.stop()
    return watch.cpu / rounds / len(pages) * 1e6


def compare(chosen: str, rounds: int) -> Iterator[str]:
    pages = SETS[chosen]()
    if not pages:
        yield f"\n{chosen}: no pages at {SUITES}; WEFT_SUITES names the folder"
        return
    taken = take_turns(pages, rounds)
    first = taken["weft, the same job"]
    yield f"\n{chosen}: {len(pages)} pages, {sum(map(len, pages)) / len(pages) / 1000:.1f} KB on average"
    yield "\n| | pages/s | CPU µs per page | quickest µs per page | times weft's | same links |"
    yield "|---|---|---|---|---|---|"
    for name, result in taken.items():
        same = sum(ours == theirs for ours, theirs in zip(first.hrefs, result.hrefs, strict=True))
        yield (
            f"| {name} | {result.readings / result.wall:,.0f} | {cpu_micros(name, pages, max(rounds // 3, 1)):,.0f} "
            f"| {result.quickest_micros:,.0f} | {result.quickest_micros / first.quickest_micros:.2f} "
            f"| {same} of {len(pages)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    rounds = 5 if parser.parse_args().quick else 30
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print("links with words and rel, visible text with single spaces, fingerprint and simhash")
    for chosen in SETS:
        for line in compare(chosen, rounds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
