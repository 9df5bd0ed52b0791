"""Two sets of real documentation as sites: which pages they have, and which of those are left out of the index.

The choice follows from the packages alone. Dropped are copies, pages with few words, and pages that lead elsewhere or
ask not to be indexed. Of the rest 10 in 100, chosen by a hash of their path, are left out: nobody serves them, and
queries are made of what they say about pages that are served.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from searchquality_packages import DebianPackage, JavadocPackage, Package
from weft.html import ParsedPage, parse_page

LEFT_OUT_PERCENT = 10
_FEWEST_WORDS = 30
_LISTS = r"class-use/|src-html/|(^|/)package-(use|tree|frame)\.html$|index-all|-(no)?frame\.html$|^allclasses\.html$"


class Site(NamedTuple):
    host: str
    package: Package
    root: str
    """Where the pages lie in the package; what follows is their path on the site."""
    wanted: str
    """A pattern for paths that are taken."""
    unwanted: str = r"(?!)"


class PageSet(NamedTuple):
    name: str
    sites: tuple[Site, ...]


def _javadoc(host: str, group: str, artifact: str, version: str) -> Site:
    return Site(host, JavadocPackage(group, artifact, version), "", r"\.html$", _LISTS)


_RUST = (
    r"^(book/[^/]+|reference/.+|nomicon/[^/]+|rust-by-example/.+|edition-guide/.+|unstable-book/[^/]+"
    r"|std/[^/]+|std/(collections|io|iter|ops|sync|str|slice|fs|fmt|net|env|thread|mem|cmp|num|char|process|path|ptr)/.+)"
    r"\.html$"
)
SETS = (
    PageSet(
        "javadoc",
        (
            _javadoc("guava.test", "com.google.guava", "guava", "33.3.1-jre"),
            _javadoc("lucene.test", "org.apache.lucene", "lucene-core", "9.12.0"),
            _javadoc("httpclient.test", "org.apache.httpcomponents.client5", "httpclient5", "5.4.1"),
            _javadoc("lang.test", "org.apache.commons", "commons-lang3", "3.17.0"),
        ),
    ),
    PageSet(
        "manuals",
        (
            Site("rust.test", DebianPackage("rust-doc"), "usr/share/doc/rust-doc/html/", _RUST, r"(^|/)print\.html$"),
            Site("apache.test", DebianPackage("apache2-doc"), "usr/share/doc/apache2-doc/manual/en/", r"\.html$"),
            # Release notes and cross references repeat what other pages say.
            Site(
                "sqlite.test", DebianPackage("sqlite3-doc"), "usr/share/doc/sqlite3/", r"\.html$", r"^releaselog/|^doc_"
            ),
            Site("git.test", DebianPackage("git-doc"), "usr/share/doc/git-doc/", r"\.html$"),
        ),
    ),
)


class Place(NamedTuple):
    """Where the pages of a set lie: below a directory for each host."""

    served: Path
    left_out: Path


def place_of(directory: Path) -> Place:
    return Place(directory / "served", directory / "left-out")


def write_set(wanted: PageSet, packages: Path, directory: Path, most_of_a_site: int) -> None:
    """Fetch the packages and write the chosen pages below `directory`."""
    packages.mkdir(parents=True, exist_ok=True)
    aside = directory.with_name(directory.name + ".new")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)
    place = place_of(aside)
    for site in wanted.sites:
        for path, content in _chosen(site, packages, most_of_a_site):
            file = (place.left_out if is_left_out(site.host, path) else place.served) / site.host / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    aside.rename(directory)


def is_left_out(host: str, path: str) -> bool:
    return not path.endswith("index.html") and _number(f"left out {host}/{path}") % 100 < LEFT_OUT_PERCENT


def _chosen(site: Site, packages: Path, most: int) -> list[tuple[str, bytes]]:
    wanted, unwanted = re.compile(site.wanted), re.compile(site.unwanted)
    found = {
        name.removeprefix(site.root): content
        for name, content in site.package.files(site.package.fetch(packages))
        if name.startswith(site.root)
    }
    paths = sorted(path for path in found if wanted.search(path) and not unwanted.search(path))
    by_chance = sorted(paths, key=lambda path: (path != "index.html", _number(path)))[:most]
    return list(_distinct((path, found[path]) for path in sorted(by_chance)))


def _distinct(pages: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    texts: set[str] = set()
    for path, content in pages:
        page = parse_page(content, "text/html")
        if path == "index.html" or (_says_something(page) and page.text not in texts):
            texts.add(page.text)
            yield path, content


def _says_something(page: ParsedPage) -> bool:
    is_meant = page.refresh is None and not page.robots.noindex
    return is_meant and len(page.text.split()) >= _FEWEST_WORDS


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:8])
