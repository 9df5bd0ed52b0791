"""What a crawl of a site pattern came to: held against the truth about its URLs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from weft.demo.web.patterns.pattern import Server, page_of


class Measured(NamedTuple):
    fetched: int
    pages: int
    """Different pages that were fetched."""
    wrongly_hidden: int
    duplicates_known: int
    """Links fetched or hidden that lead to a page which another one leads to as well."""
    duplicates_fetched: int

    @property
    def avoided(self) -> float:
        """Share of the known duplicates that were not fetched."""
        return 1 - self.duplicates_fetched / self.duplicates_known if self.duplicates_known else 1.0

    @property
    def wrong(self) -> float:
        """Share of the known pages that no fetch will ever show."""
        total = self.pages + self.wrongly_hidden
        return self.wrongly_hidden / total if total else 0.0


def measure(server: Server, fetched: Iterable[str], hidden: Iterable[str], waiting: Iterable[str]) -> Measured:
    """Of targets that were fetched or hidden; those that still wait are neither."""
    asked, decided = list(fetched), list(dict.fromkeys([*fetched, *hidden]))
    shown = _pages(server, dict.fromkeys(asked))
    truths = _pages(server, decided)
    lost = set(truths) - set(shown) - set(_pages(server, waiting))
    return Measured(
        fetched=len(asked),
        pages=len(set(shown)),
        wrongly_hidden=len(lost),
        duplicates_known=len(truths) - len(set(truths)),
        duplicates_fetched=len(shown) - len(set(shown)),
    )


def _pages(server: Server, targets: Iterable[str]) -> list[str]:
    return [page for target in targets if (page := page_of(server, target))]
