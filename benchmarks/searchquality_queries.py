"""Known-item queries, made from the pages themselves: each has between one and three right answers.

- title: the title, without what other titles of the site share. Right are the pages of that title.
- heading: a heading that at most three pages have. Right are these pages.
- anchor: the words by which an indexed page links to another, if they lead to at most three pages. Right are these,
  and pages with a heading of exactly these words.
- body: five words in a row of the text, if at most three pages have them in a row. Right are these pages.
- misspelt: a title with one slip of the keyboard that makes no word of the set. Right are the pages of that title.
- heldout-anchor: the words by which a left-out page links to an indexed one and no indexed page does. At least half of
  them are on the page, and all of them together on at most 20 pages. Right as for anchors.
- heldout-phrase: five words in a row of a left-out page, with a link or beside it. Either the page that the link leads
  to has them in a row too, or it is the only one that has them all. Right are that page and those that have them in a
  row.

Right too are pages with a title of exactly the words typed, and those with nearly the same text. A query for which more
than three pages would be right is not asked. No page is asked for more than once in a kind, except that a left-out page
may speak of one twice.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple, TypeVar

from searchquality_pages import LabelPage, Link, nearly_same, own_titles
from searchquality_words import RUN, is_prose, may_be_asked, misspell, normal, words_of

T = TypeVar("T")
KINDS: Final = ("title", "heading", "anchor", "body", "misspelt", "heldout-anchor", "heldout-phrase")
MOST_RIGHT: Final = 3
_TRIES = 12
_ROUTINE = 20
_OF_A_TARGET = 2
_PLACES = 50
_WIDE = 20


class Query(NamedTuple):
    kind: str
    text: str
    right: frozenset[str]
    """Uris."""

    @property
    def is_unseen(self) -> bool:
        """Whether it belongs to the half that nobody looks at while tuning."""
        return _number(f"half {self.kind} {self.text}") % 2 == 1


class LabelSet:
    """What is asked about a set of pages before a query may stand."""

    def __init__(self, indexed: Sequence[LabelPage], left_out: Sequence[LabelPage]) -> None:
        self.indexed, self.left_out = indexed, left_out
        self.pages = {page.uri: page for page in indexed}
        self.titles = own_titles([*indexed, *left_out])
        self._same = nearly_same(indexed)
        self.titled = _gathered((normal(self.titles[page.uri]), page.uri) for page in indexed)
        self.headed = _gathered((normal(text), page.uri) for page in indexed for text in page.headings)
        self.links = [link for page in indexed for link in page.links if link.target in self.pages]
        self.held_links = [link for page in left_out for link in page.links if link.target in self.pages]
        self.led_to = _gathered((normal(link.anchor), link.target) for link in [*self.links, *self.held_links])
        self._holders = _gathered((word, page.uri) for page in indexed for word in page.words)
        self.vocabulary = frozenset(self._holders)

    def with_all(self, words: str) -> set[str]:
        """Indexed pages with all of these words, wherever."""
        found = [self._holders.get(word, set()) for word in words.split()]
        return set.intersection(*found) if found else set()

    def right_by_anchor(self, anchor: str) -> set[str]:
        """Pages that are linked by these words, or have a heading of them."""
        return self.led_to[normal(anchor)] | self.headed[normal(anchor)]

    def query(self, kind: str, text: str, right: Iterable[str], meant: str = "") -> Query | None:
        """A query, unless too many pages would be right; `meant` is what a misspelt one should have been."""
        wanted = set(right) | self.titled.get(normal(meant or text), set())
        every = frozenset(same for uri in wanted for same in self._same[uri])
        return Query(kind, text, every) if 0 < len(every) <= MOST_RIGHT else None


def make_queries(indexed: Sequence[LabelPage], left_out: Sequence[LabelPage], of_a_kind: int) -> list[Query]:
    """At most `of_a_kind` queries of each kind, the same ones each time."""
    labels = LabelSet(indexed, left_out)
    makers: dict[str, Callable[[LabelSet], Iterator[Query | None]]] = {
        "title": _title_queries,
        "heading": _heading_queries,
        "anchor": _anchor_queries,
        "body": _body_queries,
        "misspelt": _misspelt_queries,
        "heldout-anchor": _held_anchor_queries,
        "heldout-phrase": _held_phrase_queries,
    }
    return [query for kind in KINDS for query in _some(makers[kind](labels), of_a_kind)]


def _some(made: Iterator[Query | None], count: int) -> Iterator[Query]:
    seen: set[str] = set()
    for query in made:
        if query and normal(query.text) not in seen:
            seen.add(normal(query.text))
            yield query
            if len(seen) == count:
                return


def _title_queries(labels: LabelSet) -> Iterator[Query | None]:
    for page in shuffled(labels.indexed, "title"):
        if may_be_asked(text := labels.titles[page.uri]):
            yield labels.query("title", text, [page.uri])


def _heading_queries(labels: LabelSet) -> Iterator[Query | None]:
    begun = Counter(" ".join(words_of(text)[:2]) for page in labels.indexed for text in page.headings)
    for page in shuffled(labels.indexed, "heading"):
        own = normal(labels.titles[page.uri])
        for heading in shuffled(page.headings, without_port(page.uri)):
            words = words_of(heading)
            # `Methods inherited from class …` heads hundreds of sections, each time with another name.
            is_routine = begun[" ".join(words[:2])] > _ROUTINE
            is_title = own in normal(heading) or normal(heading) in own
            if not is_routine and not (own and is_title) and may_be_asked(heading):
                yield labels.query("heading", " ".join(words), labels.headed[normal(heading)])
                break


def _anchor_queries(labels: LabelSet) -> Iterator[Query | None]:
    by_target: dict[str, list[Link]] = defaultdict(list)
    for link in labels.links:
        by_target[link.target].append(link)
    for target in shuffled(sorted(by_target), "anchor"):
        own = normal(labels.titles[target])
        anchors = sorted({" ".join(words_of(link.anchor)) for link in by_target[target]})
        # Many anchors are the title, which is a kind of its own: another one is taken where there is one.
        for anchor in sorted(shuffled(anchors, without_port(target)), key=lambda text: normal(text) == own):
            if may_be_asked(anchor) and (query := labels.query("anchor", anchor, labels.right_by_anchor(anchor))):
                yield query
                break


def _held_anchor_queries(labels: LabelSet) -> Iterator[Query | None]:
    known = {(normal(link.anchor), link.target) for link in labels.links}
    for link in shuffled(labels.held_links, "held-out anchor"):
        words = normal(link.anchor).split()
        on_page = sum(word in labels.pages[link.target].words for word in words)
        is_title = normal(link.anchor) == normal(labels.titles[link.target])
        is_known = any((normal(link.anchor), target) in known for target in labels.led_to[normal(link.anchor)])
        # The anchor alone tells which page is meant, so its words must not be everywhere.
        is_wide = len(labels.with_all(normal(link.anchor))) > _WIDE
        is_new = not is_known and not is_title
        if is_new and not is_wide and 2 * on_page >= len(words) and may_be_asked(link.anchor):
            right = labels.right_by_anchor(link.anchor)
            yield labels.query("heldout-anchor", " ".join(words_of(link.anchor)), right)


def _body_queries(labels: LabelSet) -> Iterator[Query | None]:
    chosen = {}
    for page in shuffled(labels.indexed, "body"):
        dice = random.Random(without_port(page.uri))
        runs = [" ".join(line[at : at + RUN]) for line in page.lines for at in range(len(line) - RUN + 1)]
        likely = (dice.choice(runs) for _ in range(_TRIES) if runs)
        if run := next((run for run in likely if is_prose(run.split())), ""):
            chosen[run] = page.uri
    holders = pages_with_runs(labels.indexed, chosen)
    for run in chosen:
        yield labels.query("body", run, holders[run])


def _held_phrase_queries(labels: LabelSet) -> Iterator[Query | None]:
    found = sorted({run for page in labels.left_out for run in _runs_at_links(page, labels)})
    holders = pages_with_runs(labels.indexed, {run for run, _ in found})
    asked: Counter[str] = Counter()
    for run, target in shuffled(found, "held-out phrase"):
        is_sure = target in holders[run] or labels.with_all(run) == {target}
        if is_sure and asked[target] < _OF_A_TARGET:
            query = labels.query("heldout-phrase", run, {target, *holders[run]})
            asked[target] += query is not None
            yield query


def _runs_at_links(page: LabelPage, labels: LabelSet) -> Iterator[tuple[str, str]]:
    """Five words in a row beside a link or with it, all on the page that it leads to, with that page."""
    places: dict[str, list[tuple[list[str], int]]] = defaultdict(list)
    for line in page.lines:
        for at, word in enumerate(line):
            places[word].append((line, at))
    for text, target in sorted({(normal(link.anchor), link.target) for link in page.links}):
        anchor, words = text.split(), labels.pages[target].words if target in labels.pages else frozenset()
        for line, at in places[anchor[0]][:_PLACES] if anchor and words else ():
            if line[at : at + len(anchor)] == anchor:
                for begin in range(max(0, at - RUN), min(at + len(anchor), len(line) - RUN) + 1):
                    run = line[begin : begin + RUN]
                    if words.issuperset(run) and is_prose(run):
                        yield " ".join(run), target


def _misspelt_queries(labels: LabelSet) -> Iterator[Query | None]:
    for page in shuffled(labels.indexed, "misspelt"):
        title = labels.titles[page.uri]
        if may_be_asked(title) and (wrong := misspell(title, random.Random(title), labels.vocabulary)):
            yield labels.query("misspelt", wrong, [page.uri], meant=title)


def pages_with_runs(pages: Sequence[LabelPage], runs: Iterable[str]) -> dict[str, set[str]]:
    """By run of five words the pages that have it, across the ends of lines too."""
    found: dict[str, set[str]] = {run: set() for run in runs}
    for page in pages:
        words = [word for line in page.lines for word in line]
        for at in range(len(words) - RUN + 1):
            if (run := " ".join(words[at : at + RUN])) in found:
                found[run].add(page.uri)
    return found


def _gathered(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        if key:
            found[key].add(value)
    return found


def shuffled(values: Sequence[T], seed: str) -> list[T]:
    return random.Random(seed).sample(values, len(values))


def without_port(uri: str) -> str:
    """What to draw lots by: every crawl has another port, and queries must stay what they are."""
    return re.sub(r":\d+", "", uri, count=1)


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:8])
