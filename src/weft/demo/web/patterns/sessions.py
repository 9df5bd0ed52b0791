"""Sessions: an id that each visit gets, in the query or in the path."""

from __future__ import annotations

import random

from weft.demo.web.patterns.pages import NOT_FOUND, index, number_of, page
from weft.demo.web.patterns.pattern import Answer, Parameters, Pattern, Server


def session(rng: random.Random) -> Server:
    """Each visit gets an id of its own, and links carry it; pages do without one too."""
    count = rng.randint(40, 80)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        number = 0 if path == "/" else number_of(path)
        if not 0 <= number < count:
            return NOT_FOUND
        steps = [(number * 3 + step) % count for step in range(1, 7)]
        return page(f"page {number}", [(f"/p/{n}?session={visit * 7919 % 99991:x}", f"page {n}") for n in steps])

    return answer


def session_required(rng: random.Random) -> Server:
    """Without an id one is sent to a URL with one."""
    inner = session(rng)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        if dict(given).get("session"):
            return inner(path, given, visit)
        return Answer("", status=302, location=f"{path}?session={visit:x}")

    return answer


def session_behind_the_path(rng: random.Random) -> Server:
    """`;jsessionid=` behind the path: the identity of URLs knows that name."""
    inner = session(rng)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        found = inner(path.partition(";")[0], given, visit)
        links = [(href.replace("?session=", ";jsessionid="), anchor) for href, anchor in found.links]
        return found._replace(links=links)

    return answer


def session_within_the_path(rng: random.Random) -> Server:
    """The first part of the path is the id; a few visitors' links lead to every page."""
    count, visitors = rng.randint(30, 60), 4

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        if path == "/":
            return index(f"/s{visitor:04x}/p/{n}" for n in range(count) for visitor in range(visitors))
        number = number_of(path)
        return page(f"page {number}") if 0 <= number < count else NOT_FOUND

    return answer


def clocks_and_counters(rng: random.Random) -> Server:
    """Clocks and counters change with each visit, and links carry a session."""
    inner = session(rng)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        found = inner(path, given, visit)
        clock = f"\nToday is 2026-03-{visit % 28 + 1:02} {visit % 24:02}:{visit % 60:02}. {visit:,} views. "
        return found._replace(text=found.text + clock + f"Made in 0.{visit % 1000:03} seconds.")

    return answer


def ids_with_session(rng: random.Random) -> Server:
    count = rng.randint(220, 260)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        wanted = dict(given).get("id", "0") if path != "/" else "0"
        if not wanted.isdigit() or int(wanted) >= count:
            return NOT_FOUND
        steps = [(int(wanted) * 3 + step) % count for step in range(1, 11)]
        return page(f"item {wanted}", [(f"/item?id={n}&s={visit:x}", f"item {n}") for n in steps])

    return answer


def page_sort_and_session(rng: random.Random) -> Server:
    """Pages that matter, a sort order and a session that do not."""
    count = rng.randint(8, 12)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        if path == "/":
            return index(f"/l/{n}?sid={visit:x}" for n in range(count))
        if not 0 <= number_of(path) < count:
            return NOT_FOUND
        shown = dict(given).get("page", "1")
        queries = [f"?page={n}&sid={visit:x}" for n in range(1, 9)]
        queries += [f"?page={shown}&sid={visit:x}&sort={sort}" for sort in ("a", "b", "c", "d")]
        return page(f"{path} {shown}", [(path + query, query.partition("&")[0]) for query in queries])

    return answer


def ids_and_noise(rng: random.Random) -> Server:
    """One path with ids in the query; links add noise, in any order, and now and then one parameter more."""
    count = rng.randint(90, 130)

    def link(number: int, choose: random.Random) -> str:
        tokens = [f"id={number}", f"noise={choose.randrange(1 << 30):x}"]
        tokens += ["view=full"] * (choose.random() < 0.1)
        choose.shuffle(tokens)
        return "/item?" + "&".join(tokens)

    def answer(path: str, given: Parameters, visit: int) -> Answer:
        wanted = dict(given).get("id", "0") if path != "/" else "0"
        if not wanted.isdigit() or int(wanted) >= count:
            return NOT_FOUND
        choose = random.Random(f"noise {visit}")  # noqa: S311 - must be the same again
        steps = [(int(wanted) * 3 + step) % count for step in range(1, 11)]
        return page(f"item {wanted}", [(link(n, choose), f"item {n}") for n in steps])

    return answer


SESSIONS = [
    Pattern("session", session),
    Pattern("session required", session_required),
    Pattern("session, clocks and counters", clocks_and_counters),
    Pattern("session behind the path", session_behind_the_path, has_duplicates=False),
    Pattern(
        "session within the path", session_within_the_path, exempt="rules speak of queries, parts of a path are pages"
    ),
    Pattern("ids with session", ids_with_session),
    Pattern("ids, noise and order", ids_and_noise),
    Pattern("page, sort and session", page_sort_and_session),
]
