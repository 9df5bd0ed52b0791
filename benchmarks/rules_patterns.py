"""Site patterns with their truth: which URLs are the same page. What a page says is a function of its URL and visit."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

_WORDS = "river stone light garden window paper morning engine bridge forest winter market silver letter copper "
_WORDS += (
    "ocean harbour meadow lantern thunder velvet marble orchard compass feather granite horizon island journey kettle"
)
_PLACES = [f"{one}{two}" for one in _WORDS.split() for two in _WORDS.split()]


class Answer(NamedTuple):
    """What a server sends, and which page that is in truth; no page where `page` is nothing."""

    page: str
    text: str = ""
    links: Sequence[tuple[str, str]] = ()
    status: int = 200
    location: str = ""


Server = Callable[[str, list[tuple[str, str]], int], Answer]
"""(path, parameters, number of the visit) -> answer"""


class Pattern(NamedTuple):
    name: str
    make: Callable[[random.Random], Server]
    has_duplicates: bool = True
    is_promised: bool = True
    """Whether the share of duplicates that are avoided is bounded; what is hidden wrongly always is."""
    is_steady: bool = True
    """Whether a page says the same at each visit, clocks and counters aside."""


def prose(key: object, words: int = 50) -> str:
    """A text of its own for each key."""
    chosen = random.Random(f"prose {key}")
    return " ".join(chosen.choice(_PLACES) for _ in range(words))


def page(name: str, links: Iterable[tuple[str, str]] = (), text: str | None = None) -> Answer:
    return Answer(name, prose(name) if text is None else text, list(links))


NOT_FOUND = Answer("", "There is no such page here", [], 404)


def _index(hrefs: Iterable[str], name: str = "start") -> Answer:
    return page(name, [(href, prose(href.partition("?")[0], 2)) for href in hrefs])


def _number(path: str) -> int:
    last = path.rpartition("/")[2]
    return int(last) if last.isdigit() else -1


def _variants(
    rng: random.Random, prefix: str, queries: list[str], identity: Callable[[str, dict[str, str]], str], low: int = 60
) -> Server:
    """Pages below a prefix, each linked bare and with each query."""
    count = rng.randint(low, low + 40)
    hrefs = [f"{prefix}/{n}{query}" for n in range(count) for query in ["", *queries]]

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        if path == "/":
            return _index(hrefs)
        if not path.startswith(prefix) or not 0 <= _number(path) < count:
            return NOT_FOUND
        return page(identity(path, dict(given)))

    return answer


def session(rng: random.Random) -> Server:
    """Each visit gets an id of its own, and links carry it; pages do without one too."""
    count = rng.randint(40, 80)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        number = 0 if path == "/" else _number(path)
        if not 0 <= number < count:
            return NOT_FOUND
        steps = [(number * 3 + step) % count for step in range(1, 7)]
        return page(f"page {number}", [(f"/p/{n}?session={visit * 7919 % 99991:x}", f"page {n}") for n in steps])

    return answer


def session_required(rng: random.Random) -> Server:
    """Without an id one is sent to a URL with one."""
    inner = session(rng)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        if dict(given).get("session"):
            return inner(path, given, visit)
        return Answer("", status=302, location=f"{path}?session={visit:x}")

    return answer


def sort_in_the_browser(rng: random.Random) -> Server:
    return _variants(rng, "/list", ["?sort=price", "?sort=name", "?sort=date", "?sort=age"], lambda path, _: path, 90)


def sort_on_the_server(rng: random.Random) -> Server:
    return _variants(
        rng, "/list", ["?sort=price", "?sort=name"], lambda path, given: f"{path} {given.get('sort', 'none')}"
    )


def _paged(rng: random.Random, links: int, last: int) -> Server:
    count = rng.randint(180, 220)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        if path == "/":
            return _index(f"/list/{n}" for n in range(count))
        if not 0 <= _number(path) < count:
            return NOT_FOUND
        asked = dict(given).get("page", "1")
        shown = min(max(int(asked), 1), last) if asked.isdigit() else 1
        return page(f"{path} {shown}", [(f"{path}?page={n}", str(n)) for n in range(1, links + 1)])

    return answer


def pagination(rng: random.Random) -> Server:
    return _paged(rng, 3, 3)


def pagination_beyond_the_end(rng: random.Random) -> Server:
    return _paged(rng, 5, 3)


def language_ignored(rng: random.Random) -> Server:
    return _variants(rng, "/doc", ["?lang=en", "?lang=de", "?lang=fr"], lambda path, _: path, 150)


def language_matters(rng: random.Random) -> Server:
    return _variants(rng, "/doc", ["?lang=de", "?lang=fr"], lambda path, given: f"{path} {given.get('lang', 'en')}")


def language_matters_on_some_paths(rng: random.Random) -> Server:
    translated = rng.randint(3, 5)

    def identity(path: str, given: dict[str, str]) -> str:
        has_translation = (_number(path) * 7 + 3) % 10 < translated
        return f"{path} {given.get('lang', 'en')}" if has_translation else path

    return _variants(rng, "/doc", ["?lang=de", "?lang=fr"], identity)


def tracking(rng: random.Random) -> Server:
    """Where a reader came from, a few values of it on each page."""
    count = rng.randint(170, 220)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        number = 0 if path == "/" else _number(path)
        if not 0 <= number < count:
            return NOT_FOUND
        steps = [(number * 2 + step) % count for step in range(1, 6)]
        return page(f"page {number}", [(f"/a/{n}?from=p{number % 17}", f"page {n}") for n in steps])

    return answer


def tracking_bundle(rng: random.Random) -> Server:
    """Several parameters that always come together."""
    queries = [f"?src={src}&med={med}&cmp=c{n}" for n, (src, med) in enumerate([("mail", "a"), ("feed", "b")])]
    return _variants(rng, "/story", queries, lambda path, _: path, 150)


def ids(rng: random.Random) -> Server:
    count = rng.randint(150, 250)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        if path == "/":
            return _index(f"/item?id={n}" for n in range(count))
        wanted = dict(given).get("id", "")
        return page(f"item {wanted}") if wanted.isdigit() and int(wanted) < count else NOT_FOUND

    return answer


def ids_with_session(rng: random.Random) -> Server:
    count = rng.randint(220, 260)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        wanted = dict(given).get("id", "0") if path != "/" else "0"
        if not wanted.isdigit() or int(wanted) >= count:
            return NOT_FOUND
        steps = [(int(wanted) * 3 + step) % count for step in range(1, 7)]
        return page(f"item {wanted}", [(f"/item?id={n}&s={visit:x}", f"item {n}") for n in steps])

    return answer


def facets(rng: random.Random) -> Server:
    """Colours and sizes choose what is shown; some choices leave nothing."""
    colours, sizes = ["red", "blue", "green", "black"], ["s", "m", "l"]
    count = rng.randint(8, 14)
    empty = rng.randint(2, 4)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        if path == "/":
            return _index(f"/shop/{n}" for n in range(count))
        number, asked = _number(path), dict(given)
        if not 0 <= number < count:
            return NOT_FOUND
        choices = [f"?colour={c}" for c in colours] + [f"?size={s}" for s in sizes]
        choices += [f"?colour={c}&size={s}" for c in colours for s in sizes]
        links = [(path + choice, choice) for choice in choices]
        colour, size = asked.get("colour", ""), asked.get("size", "")
        if colour and size and (colours.index(colour) * 3 + sizes.index(size) + number) % 7 < empty:
            return page(f"{path} nothing", links)
        return page(f"{path} {colour} {size}", links)

    return answer


def print_view(rng: random.Random) -> Server:
    return _variants(rng, "/article", ["?print=1"], lambda path, _: path, 260)


def print_view_is_another_text(rng: random.Random) -> Server:
    return _variants(rng, "/article", ["?print=1"], lambda path, given: f"{path} {given.get('print', '')}", 60)


def soft_errors(rng: random.Random) -> Server:
    """Half of the paths give one text, whatever is asked; on the others the parameter matters."""
    return _variants(
        rng,
        "/x",
        ["?v=1", "?v=2", "?v=3"],
        lambda path, given: f"{path} {given.get('v', '')}" if _number(path) % 2 else "oops",
    )


def empty_pages(rng: random.Random) -> Server:
    """Pages that are drawn by a script have no text; the parameter matters where there is one."""
    inner = _variants(rng, "/app", ["?view=a", "?view=b"], lambda path, given: f"{path} {given.get('view', '')}")

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        found = inner(path, given, visit)
        return found._replace(text="") if path != "/" and _number(path) % 2 == 0 else found

    return answer


def changing_dates(rng: random.Random) -> Server:
    """Clocks and counters change with each visit, and links carry a session."""
    inner = session(rng)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        found = inner(path, given, visit)
        clock = f"\nToday is 2026-03-{visit % 28 + 1:02} {visit % 24:02}:{visit % 60:02}. {visit:,} views. "
        return found._replace(text=found.text + clock + f"Made in 0.{visit % 1000:03} seconds.")

    return answer


def changing_text(rng: random.Random) -> Server:
    """Each visit shows another text, as a page of quotes or of advertisements does."""
    inner = _variants(rng, "/ad", ["?ref=a", "?ref=b"], lambda path, _: path)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        found = inner(path, given, visit)
        return found._replace(text=f"{found.text}\n{prose(visit, 12)}")

    return answer


def two_texts(rng: random.Random) -> Server:
    """An experiment: each visit gets one of two texts."""
    inner = _variants(rng, "/ab", ["?c=1", "?c=2", "?c=3"], lambda path, _: path)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        found = inner(path, given, visit)
        return found._replace(text=f"{found.text}\nvariant {prose(visit * 31 % 7 < 3, 6)}")

    return answer


def default_values(rng: random.Random) -> Server:
    """`view=list` and `per=20` are what one gets anyway; `view=grid` is another text."""
    return _variants(
        rng,
        "/cat",
        ["?view=list", "?view=grid", "?per=20", "?per=20&view=list", "?per=20&view=grid"],
        lambda path, given: f"{path} {'grid' if given.get('view') == 'grid' else ''}",
        140,
    )


def repeated(rng: random.Random) -> Server:
    return _variants(
        rng,
        "/tags",
        ["?tag=a", "?tag=a&tag=a", "?tag=b", "?tag=b&tag=b&tag=b"],
        lambda path, given: f"{path} {given.get('tag', '')}",
        150,
    )


def order(rng: random.Random) -> Server:
    return _variants(
        rng,
        "/find",
        ["?a=1&b=2", "?b=2&a=1", "?b=3&a=4", "?a=4&b=3"],
        lambda path, given: f"{path} {given.get('a', '')} {given.get('b', '')}",
        150,
    )


def calendar(rng: random.Random) -> Server:
    """A month after the other without end; `view=month` is what one gets anyway."""
    first = rng.randint(0, 100)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        asked = dict(given).get("month", str(first))
        month = int(asked) if asked.removeprefix("-").isdigit() else first
        near = [month + step for step in (-29, -13, -5, -1, 1, 7, 17, 31)]
        links = [(f"/cal?month={n}{view}", f"month {n}") for n in near for view in ("", "&view=month")]
        return page(f"month {month}", links)

    return answer


def only_together(rng: random.Random) -> Server:
    """A point needs both of its coordinates; one alone shows the whole map."""
    count = rng.randint(6, 10)
    points = [(x, y) for x in range(6) for y in range(6)]

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        if path == "/":
            return _index(f"/map/{n}" for n in range(count))
        if not 0 <= _number(path) < count:
            return NOT_FOUND
        alone = [f"?x={n}" for n in range(4)] + [f"?y={n}" for n in range(4)]
        links = [(path + query, query) for query in [*alone, *(f"?x={x}&y={y}" for x, y in points)]]
        asked = dict(given)
        return page(f"{path} {asked['x']},{asked['y']}" if {"x", "y"} <= asked.keys() else path, links)

    return answer


def tabs(rng: random.Random) -> Server:
    """Items with reviews and items without: there the tab shows the item itself."""
    count, share = rng.randint(80, 120), rng.randint(3, 7)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        if path == "/":
            return _index(f"/item?id={n}" for n in range(count))
        asked = dict(given)
        number = int(asked.get("id", "-1"))
        if not 0 <= number < count:
            return NOT_FOUND
        has_reviews = (number * 7 + 1) % 10 < share
        shown = f"item {number} {asked.get('tab', '') if has_reviews else ''}"
        return page(shown, [(f"/item?id={number}&tab=reviews", "reviews")])

    return answer


def mixed(rng: random.Random) -> Server:
    """Pages that matter, a sort order and a session that do not."""
    count = rng.randint(8, 12)

    def answer(path: str, given: list[tuple[str, str]], visit: int) -> Answer:
        if path == "/":
            return _index(f"/l/{n}?sid={visit:x}" for n in range(count))
        if not 0 <= _number(path) < count:
            return NOT_FOUND
        shown = dict(given).get("page", "1")
        queries = [f"?page={n}&sid={visit:x}" for n in range(1, 9)]
        queries += [f"?page={shown}&sid={visit:x}&sort={sort}" for sort in ("a", "b", "c", "d")]
        return page(f"{path} {shown}", [(path + query, query.partition("&")[0]) for query in queries])

    return answer


PATTERNS = [
    Pattern("session", session),
    Pattern("session required", session_required),
    Pattern("session, clocks and counters", changing_dates),
    Pattern("ids", ids, has_duplicates=False),
    Pattern("ids with session", ids_with_session),
    Pattern("sort in the browser", sort_in_the_browser),
    Pattern("sort on the server", sort_on_the_server, has_duplicates=False),
    Pattern("pagination, page=1 default", pagination),
    Pattern("pagination beyond the end", pagination_beyond_the_end, is_promised=False),
    Pattern("language ignored", language_ignored),
    Pattern("language matters", language_matters, has_duplicates=False),
    Pattern("language matters on some paths", language_matters_on_some_paths, is_promised=False),
    Pattern("tracking", tracking),
    Pattern("tracking bundle", tracking_bundle),
    Pattern("facets", facets, is_promised=False),
    Pattern("print view", print_view),
    Pattern("print view, another text", print_view_is_another_text, has_duplicates=False),
    Pattern("soft errors", soft_errors, is_promised=False),
    Pattern("empty pages", empty_pages, has_duplicates=False),
    Pattern("changing text", changing_text, is_promised=False, is_steady=False),
    Pattern("two texts", two_texts, is_promised=False, is_steady=False),
    Pattern("default values", default_values),
    Pattern("repeated parameters", repeated),
    Pattern("order of parameters", order),
    Pattern("calendar without end", calendar),
    Pattern("only together", only_together, is_promised=False),
    Pattern("tabs", tabs, is_promised=False),
    Pattern("page, sort and session", mixed),
]


def split_target(target: str) -> tuple[str, list[tuple[str, str]]]:
    path, _, query = target.partition("?")
    return path, parse_qsl(query, keep_blank_values=True)
