"""How well a contestant did: mean reciprocal rank and success within the first ten, by kind of query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from searchquality_queries import KINDS, Query

ALL = "all"


class Score(NamedTuple):
    queries: int
    mrr: float
    first: float
    """Share of queries whose best answer is right."""
    ten: float
    """Share of queries with a right answer among the first ten."""


class Outcome(NamedTuple):
    """What became of one query: the rank of the first right answer, 0 if there was none among the first ten."""

    query: Query
    rank: int


def rank_of(answers: Sequence[str], right: frozenset[str]) -> int:
    return next((rank for rank, uri in enumerate(answers, 1) if uri in right), 0)


def score(ranks: Sequence[int]) -> Score:
    count = len(ranks)
    if not count:
        return Score(0, 0.0, 0.0, 0.0)
    found = [rank for rank in ranks if rank]
    return Score(count, sum(1 / rank for rank in found) / count, found.count(1) / count, len(found) / count)


def by_kind(outcomes: Iterable[Outcome]) -> dict[str, Score]:
    """Over all queries, and for each kind."""
    known = list(outcomes)
    scores = {ALL: score([outcome.rank for outcome in known])}
    return scores | {kind: score([one.rank for one in known if one.query.kind == kind]) for kind in KINDS}


def table(scores: Mapping[str, Mapping[str, Score]]) -> str:
    """Markdown, a row for each contestant: MRR@10, and success@1/success@10 in percent."""
    names = (ALL, *KINDS)
    counts = next(iter(scores.values()))
    lines = ["| MRR@10 (success@1/@10, %) | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    lines.append("| queries | " + " | ".join(f"{counts[name].queries:,}" for name in names) + " |")
    for contestant, found in scores.items():
        lines.append(f"| {contestant} | " + " | ".join(map(_cell, (found[name] for name in names))) + " |")
    return "\n".join(lines)


def _cell(one: Score) -> str:
    return f"{one.mrr:.2f} ({one.first * 100:.0f}/{one.ten * 100:.0f})" if one.queries else ""


def verdict(scores: Mapping[str, Mapping[str, Score]], own: str, wanted: float) -> list[str]:
    """What `own` misses: sentences, none if it is ahead of every other for every kind and reaches `wanted` over all."""
    others = {name: found for name, found in scores.items() if name != own}
    behind = [
        f"{own} is not ahead of {name} for {kind}: {scores[own][kind].mrr:.3f}, {found[kind].mrr:.3f}."
        for name, found in others.items()
        for kind in KINDS
        if found[kind].queries and scores[own][kind].mrr <= found[kind].mrr
    ]
    reached = scores[own][ALL].mrr
    return behind + ([f"{own} reaches MRR@10 {reached:.3f} over all, not {wanted}."] if reached < wanted else [])
