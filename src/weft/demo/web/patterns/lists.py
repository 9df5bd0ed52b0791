"""Lists: sorted, in pages, chosen from."""

from __future__ import annotations

import random

from weft.demo.web.patterns.pages import NOT_FOUND, index, number_of, page, variants
from weft.demo.web.patterns.pattern import Answer, Parameters, Pattern, Server


def sort_in_the_browser(rng: random.Random) -> Server:
    return variants(rng, "/list", ["?sort=price", "?sort=name", "?sort=date", "?sort=age"], lambda path, _: path, 90)


def sort_on_the_server(rng: random.Random) -> Server:
    return variants(
        rng, "/list", ["?sort=price", "?sort=name"], lambda path, given: f"{path} {given.get('sort', 'none')}"
    )


def _paged(rng: random.Random, links: int, last: int, low: int) -> Server:
    count = rng.randint(low, low + 40)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        if path == "/":
            return index(f"/list/{n}" for n in range(count))
        if not 0 <= number_of(path) < count:
            return NOT_FOUND
        asked = dict(given).get("page", "1")
        shown = min(max(int(asked), 1), last) if asked.isdigit() else 1
        return page(f"{path} {shown}", [(f"{path}?page={n}", str(n)) for n in range(1, links + 1)])

    return answer


def pagination(rng: random.Random) -> Server:
    return _paged(rng, 3, 3, 180)


def pagination_beyond_the_end(rng: random.Random) -> Server:
    return _paged(rng, 5, 3, 60)


def pagination_without_default(rng: random.Random) -> Server:
    """Every page of a list has its number and its own text."""
    inner = _paged(rng, 4, 4, 60)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        found = inner(path, given, visit)
        return found._replace(links=[link for link in found.links if not link[0].endswith("page=1")])

    return answer


def ids(rng: random.Random) -> Server:
    count = rng.randint(150, 250)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        if path == "/":
            return index(f"/item?id={n}" for n in range(count))
        wanted = dict(given).get("id", "")
        return page(f"item {wanted}") if wanted.isdigit() and int(wanted) < count else NOT_FOUND

    return answer


def facets(rng: random.Random) -> Server:
    """Colours and sizes choose what is shown; some choices leave nothing."""
    colours, sizes = ["red", "blue", "green", "black"], ["s", "m", "l"]
    count, empty = rng.randint(8, 14), rng.randint(2, 4)
    choices = [f"?colour={c}" for c in colours] + [f"?size={s}" for s in sizes]
    choices += [f"?colour={c}&size={s}" for c in colours for s in sizes]

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        if path == "/":
            return index(f"/shop/{n}" for n in range(count))
        number, asked = number_of(path), dict(given)
        if not 0 <= number < count:
            return NOT_FOUND
        links = [(path + choice, choice) for choice in choices]
        colour, size = asked.get("colour", ""), asked.get("size", "")
        if colour and size and (colours.index(colour) * 3 + sizes.index(size) + number) % 7 < empty:
            return page(f"{path} nothing", links)
        return page(f"{path} {colour} {size}", links)

    return answer


def calendar(rng: random.Random) -> Server:
    """A month after the other, for decades; `view=month` is what one gets anyway."""
    first, most = rng.randint(0, 100), 220

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        asked = dict(given).get("month", str(first))
        month = int(asked) if asked.removeprefix("-").isdigit() else first
        near = [month + step for step in (-29, -13, -5, -1, 1, 7, 17, 31) if abs(month + step - first) <= most]
        links = [(f"/cal?month={n}{view}", f"month {n}") for n in near for view in ("", "&view=month")]
        return page(f"month {month}", links)

    return answer


LISTS = [
    Pattern("ids", ids, has_duplicates=False),
    Pattern("sort in the browser", sort_in_the_browser),
    Pattern("sort on the server", sort_on_the_server, has_duplicates=False),
    Pattern("pagination, page=1 default", pagination),
    Pattern("pagination without default", pagination_without_default, has_duplicates=False),
    Pattern("pagination beyond the end", pagination_beyond_the_end, exempt="each list has another last page"),
    Pattern("facets", facets, exempt="which choices leave nothing is known when they were made"),
    Pattern("calendar", calendar),
]
