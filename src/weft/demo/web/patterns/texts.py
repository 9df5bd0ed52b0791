"""Texts that must not teach: errors in disguise, empty pages, texts that change with each visit."""

from __future__ import annotations

import random

from weft.demo.web.patterns.pages import number_of, page, prose, variants
from weft.demo.web.patterns.pattern import Answer, Parameters, Pattern, Server

_VIEWS = ["?v=1", "?v=2", "?v=3"]


def soft_errors(rng: random.Random) -> Server:
    """Half of the paths give one text, whatever is asked; on the others the parameter matters."""
    return variants(
        rng, "/x", _VIEWS, lambda path, given: f"{path} {given.get('v', '')}" if number_of(path) % 2 else "oops"
    )


def one_text(rng: random.Random) -> Server:
    """A host that answers every URL with the same text."""
    inner = variants(rng, "/y", _VIEWS, lambda path, _: path, 10)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        return page("start", inner("/", [], visit).links, prose("one text"))

    return answer


def random_text(rng: random.Random) -> Server:
    """A host that gives another text at each visit, whatever is asked."""
    inner = variants(rng, "/z", _VIEWS, lambda path, given: f"{path} {given.get('v', '')}", 20)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        return inner(path, given, visit)._replace(text=prose(f"random {visit}"))

    return answer


def empty_pages(rng: random.Random) -> Server:
    """Pages that are drawn by a script have no text; the parameter matters where there is one."""
    inner = variants(rng, "/app", ["?view=a", "?view=b"], lambda path, given: f"{path} {given.get('view', '')}")

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        found = inner(path, given, visit)
        return found._replace(text="") if path != "/" and number_of(path) % 2 == 0 else found

    return answer


def changing_text(rng: random.Random) -> Server:
    """Each visit shows another advertisement among the words."""
    inner = variants(rng, "/ad", ["?ref=a", "?ref=b"], lambda path, _: path)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        found = inner(path, given, visit)
        return found._replace(text=f"{found.text}\n{prose(visit, 12)}")

    return answer


def two_texts(rng: random.Random) -> Server:
    """An experiment: each visit gets one of two texts."""
    inner = variants(rng, "/ab", ["?c=1", "?c=2", "?c=3"], lambda path, _: path)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        found = inner(path, given, visit)
        return found._replace(text=f"{found.text}\nvariant {prose(visit * 31 % 7 < 3, 6)}")

    return answer


_CHANGES = "a text that changes by itself says nothing about parameters"

TEXTS = [
    Pattern("soft errors", soft_errors, exempt="a text that many paths give teaches nothing"),
    Pattern("one text for every URL", one_text, exempt="a text that many paths give teaches nothing"),
    Pattern("random text", random_text, has_duplicates=False, is_steady=False),
    Pattern("empty pages", empty_pages, has_duplicates=False),
    Pattern("changing text", changing_text, exempt=_CHANGES, is_steady=False),
    Pattern("two texts", two_texts, exempt=_CHANGES, is_steady=False),
]
