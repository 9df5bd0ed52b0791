"""Views of one page: languages, print, where the reader came from, defaults, spellings."""

from __future__ import annotations

import random

from weft.demo.web.patterns.pages import NOT_FOUND, index, number_of, page, variants
from weft.demo.web.patterns.pattern import Answer, Parameters, Pattern, Server


def language_ignored(rng: random.Random) -> Server:
    return variants(rng, "/doc", ["?lang=en", "?lang=de", "?lang=fr"], lambda path, _: path, 150)


def language_matters(rng: random.Random) -> Server:
    return variants(rng, "/doc", ["?lang=de", "?lang=fr"], lambda path, given: f"{path} {given.get('lang', 'en')}")


def language_matters_on_some_paths(rng: random.Random) -> Server:
    translated = rng.randint(3, 5)

    def identity(path: str, given: dict[str, str]) -> str:
        has_translation = (number_of(path) * 7 + 3) % 10 < translated
        return f"{path} {given.get('lang', 'en')}" if has_translation else path

    return variants(rng, "/doc", ["?lang=de", "?lang=fr"], identity)


def tracking(rng: random.Random) -> Server:
    """Where a reader came from, a few values of it on each page."""
    count = rng.randint(170, 220)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        number = 0 if path == "/" else number_of(path)
        if not 0 <= number < count:
            return NOT_FOUND
        steps = [(number * 2 + step) % count for step in range(1, 6)]
        return page(f"page {number}", [(f"/a/{n}?from=p{number % 17}", f"page {n}") for n in steps])

    return answer


def tracking_bundle(rng: random.Random) -> Server:
    """Several parameters that always come together."""
    queries = [f"?src={src}&med={med}&cmp=c{n}" for n, (src, med) in enumerate([("mail", "a"), ("feed", "b")])]
    return variants(rng, "/story", queries, lambda path, _: path, 150)


def print_view(rng: random.Random) -> Server:
    return variants(rng, "/article", ["?print=1"], lambda path, _: path, 260)


def print_view_is_another_text(rng: random.Random) -> Server:
    return variants(rng, "/article", ["?print=1"], lambda path, given: f"{path} {given.get('print', '')}", 60)


def default_values(rng: random.Random) -> Server:
    """`view=list` and `per=20` are what one gets anyway; `view=grid` is another text."""
    queries = ["?view=list", "?view=grid", "?per=20", "?per=20&view=list", "?per=20&view=grid"]
    return variants(
        rng, "/cat", queries, lambda path, given: f"{path} {'grid' if given.get('view') == 'grid' else ''}", 140
    )


def repeated(rng: random.Random) -> Server:
    queries = ["?tag=a", "?tag=a&tag=a", "?tag=b", "?tag=b&tag=b&tag=b"]
    return variants(rng, "/tags", queries, lambda path, given: f"{path} {given.get('tag', '')}", 150)


def order(rng: random.Random) -> Server:
    queries = ["?a=1&b=2", "?b=2&a=1", "?b=3&a=4", "?a=4&b=3"]
    return variants(rng, "/find", queries, lambda path, given: f"{path} {given.get('a', '')} {given.get('b', '')}", 150)


def only_together(rng: random.Random) -> Server:
    """A point needs both of its coordinates; one alone shows the whole map."""
    count = rng.randint(8, 14)
    alone = [f"?{name}={n}" for name in "xy" for n in range(4)]
    queries = [*alone, *(f"?x={x}&y={y}" for x in range(3) for y in range(3))]

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        if path == "/":
            return index(f"/map/{n}" for n in range(count))
        if not 0 <= number_of(path) < count:
            return NOT_FOUND
        asked = dict(given)
        point = f"{path} {asked['x']},{asked['y']}" if {"x", "y"} <= asked.keys() else path
        return page(point, [(path + query, query) for query in queries])

    return answer


def tabs(rng: random.Random) -> Server:
    """Items with reviews and items without: there the tab shows the item itself."""
    count, share = rng.randint(80, 120), rng.randint(3, 7)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        if path == "/":
            return index(f"/item?id={n}" for n in range(count))
        asked = dict(given)
        number = int(asked.get("id", "-1"))
        if not 0 <= number < count:
            return NOT_FOUND
        has_reviews = (number * 7 + 1) % 10 < share
        shown = f"item {number} {asked.get('tab', '') if has_reviews else ''}"
        return page(shown, [(f"/item?id={number}&tab=reviews", "reviews")])

    return answer


VIEWS = [
    Pattern("language ignored", language_ignored),
    Pattern("language matters", language_matters, has_duplicates=False),
    Pattern(
        "language matters on some paths",
        language_matters_on_some_paths,
        exempt="two duplicates on a path, and no path tells of another",
    ),
    Pattern("tracking", tracking),
    Pattern("tracking bundle", tracking_bundle),
    Pattern("print view", print_view),
    Pattern("print view, another text", print_view_is_another_text, has_duplicates=False),
    Pattern("default values", default_values),
    Pattern("repeated parameters", repeated),
    Pattern("order of parameters", order),
    Pattern(
        "only together",
        only_together,
        exempt="beside the other one each of them matters, so no rule is made for all values",
    ),
    Pattern("tabs", tabs, exempt="which items have no reviews is known when they were asked for"),
]
