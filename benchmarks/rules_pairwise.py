"""The document's plain rule: one pair of equal texts on a path, and the parameter is left out on the whole domain."""

from __future__ import annotations

from rules_measuring import Measured, measure
from rules_simulation import MOST, ORIGIN, RULES, target_of
from weft.demo.web.patterns.pages import html_of
from weft.demo.web.patterns.pattern import Server, split_target
from weft.dispatcher.parameters.query import name_of, path_of, tokens_of
from weft.html import parse_page


class Pairwise:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._queue = [ORIGIN + "/"]
        self._known = set(self._queue)
        self._ignored: set[str] = set()
        self._texts: dict[str, dict[str, int]] = {}
        self.fetched: list[str] = []
        self.hidden: list[str] = []

    def run(self) -> Measured:
        while self._queue and len(self.fetched) < MOST:
            url = self._queue.pop(0)
            short = _without(url, self._ignored)
            if short == url:
                self._fetch(url)
            else:
                self.hidden.append(url)
                self._offer(short)
        targets = ([target_of(url) for url in urls] for urls in (self.fetched, self.hidden, self._queue))
        return measure(self._server, *targets)

    def _offer(self, url: str) -> None:
        if url not in self._known:
            self._known.add(url)
            self._queue.append(url)

    def _fetch(self, url: str) -> None:
        self.fetched.append(url)
        answer = self._server(*split_target(target_of(url)), len(self.fetched))
        for href in [answer.location] if answer.location else [href for href, _ in answer.links]:
            self._offer(RULES.join(url, href).url)
        self._compare(url, parse_page(html_of(answer), "text/html; charset=utf-8").fingerprint)

    def _compare(self, url: str, fingerprint: int) -> None:
        same_path = self._texts.setdefault(path_of(url), {})
        for other, text in same_path.items():
            if text == fingerprint:
                self._ignored |= _names(url) ^ _names(other) or _differing(url, other)
        same_path[url] = fingerprint


def _without(url: str, names: set[str]) -> str:
    path, _, query = url.partition("?")
    kept = [token for token in tokens_of(query) if name_of(token) not in names]
    return f"{path}?{'&'.join(kept)}" if kept else path


def _names(url: str) -> set[str]:
    return {name_of(token) for token in tokens_of(url.partition("?")[2])}


def _differing(url: str, other: str) -> set[str]:
    tokens = set(tokens_of(url.partition("?")[2])) ^ set(tokens_of(other.partition("?")[2]))
    return {name_of(token) for token in tokens}
