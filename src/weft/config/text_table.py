"""A small immutable mapping of text to text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


class TextTable(Mapping[str, str]):
    """Keeps its order; can be hashed and pickled, so that Settings can be handed to another process."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = dict(pairs)

    def __getitem__(self, name: str) -> str:
        return self._pairs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(frozenset(self._pairs.items()))

    def __repr__(self) -> str:
        return f"TextTable({self._pairs!r})"
