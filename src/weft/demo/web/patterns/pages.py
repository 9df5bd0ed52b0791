"""What the pages of the patterns are made of."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from html import escape
from typing import Final

from weft.demo.web.patterns.pattern import Answer, Parameters, Server

_WORDS: Final = """
river stone light garden window paper morning engine bridge forest winter market silver letter copper ocean harbour
meadow lantern thunder velvet marble orchard compass feather granite horizon island journey kettle
"""
_PLACES: Final = [one + two for one in _WORDS.split() for two in _WORDS.split()]
_EMPTY: Final = b"<title></title><div id=app></div><script>draw()</script>"

NOT_FOUND: Final = Answer("", "There is no such page here", [], 404)


def prose(key: object, words: int = 50) -> str:
    """A text of its own for each key."""
    chosen = random.Random(f"prose {key}")  # noqa: S311 - must be the same again
    return " ".join(chosen.choice(_PLACES) for _ in range(words))


def page(name: str, links: Iterable[tuple[str, str]] = (), text: str | None = None) -> Answer:
    return Answer(name, prose(name) if text is None else text, list(links))


def index(hrefs: Iterable[str], name: str = "start") -> Answer:
    """A page of links."""
    return page(name, [(href, prose(href.partition("?")[0], 2)) for href in hrefs])


def number_of(path: str) -> int:
    """The number at the end of a path; -1: there is none."""
    last = path.rpartition("/")[2]
    return int(last) if last.isdigit() else -1


def variants(
    rng: random.Random, prefix: str, queries: list[str], identity: Callable[[str, dict[str, str]], str], low: int = 60
) -> Server:
    """Pages below a prefix, each linked bare and with each query."""
    count = rng.randint(low, low + 40)
    hrefs = [f"{prefix}/{n}{query}" for n in range(count) for query in ["", *queries]]

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        if path == "/":
            return index(hrefs)
        if not path.startswith(prefix) or not 0 <= number_of(path) < count:
            return NOT_FOUND
        return page(identity(path, dict(given)))

    return answer


def html_of(answer: Answer) -> bytes:
    """The page as it is served; one without a text is drawn by a script."""
    if not answer.text:
        return _EMPTY
    links = "".join(f'<a href="{escape(href)}">{escape(anchor)}</a> ' for href, anchor in answer.links)
    text = answer.text.replace("\n", "</p><p>")
    return f"<!doctype html><title>Shop</title><p>{text}</p><nav>{links}</nav>".encode()
