"""What index servers are asked and answer, as JSON: both ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import msgspec

from weft.search.query_language import LONGEST_QUERY, MOST_ALTERNATIVES, MOST_FILTERS, MOST_TERMS, MOST_WORDS
from weft.search.query_terms import MOST_WORDS_IN_TERM, number_of_words
from weft.search.search import DEEPEST
from weft.search.search_query import SearchQuery
from weft.search.shard_reader import ScorePart, ShardAnswer, ShardQuestion, ShardReader
from weft.search.spelling import Correction

ASK, CORRECT, EXPLAIN = "/shards/ask", "/shards/correct", "/shards/explain"
LONGEST_QUESTION: Final = 64 << 10
LONGEST_ANSWER: Final = 64 << 20
_MOST_SHARDS: Final = 256

_Shards = Annotated[list[Annotated[int, msgspec.Meta(ge=0)]], msgspec.Meta(min_length=1, max_length=_MOST_SHARDS)]


class _ToShards(msgspec.Struct, frozen=True, kw_only=True):
    shards: _Shards
    """Numbers of the shards that are asked."""
    count: int
    """How many there are in all; a server that divides the index otherwise has other shards."""


class AskShards(_ToShards, frozen=True, kw_only=True):
    question: ShardQuestion


class CorrectShards(_ToShards, frozen=True, kw_only=True):
    word: Annotated[str, msgspec.Meta(max_length=200)]


class ExplainShards(_ToShards, frozen=True, kw_only=True):
    query: SearchQuery
    uri: str


class _FromShards(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    problems: dict[int, str] = {}
    """Why a shard did not answer, by its number."""


class AskedShards(_FromShards, frozen=True, kw_only=True):
    answers: list[ShardAnswer | None]
    """In the order in which the shards were named; null: it did not answer."""


class CorrectedShards(_FromShards, frozen=True, kw_only=True):
    answers: list[list[Correction] | None]


class ExplainedShards(_FromShards, frozen=True, kw_only=True):
    answers: list[list[ScorePart] | None]


Asked = AskShards | CorrectShards | ExplainShards
PATHS: Final[dict[type[Asked], str]] = {AskShards: ASK, CorrectShards: CORRECT, ExplainShards: EXPLAIN}


def question_of(asked: Asked) -> Callable[[ShardReader], object]:
    """What each of the shards is asked."""
    if isinstance(asked, AskShards):
        return lambda reader: reader.ask(asked.question)
    if isinstance(asked, CorrectShards):
        return lambda reader: reader.correct(asked.word)
    return lambda reader: reader.explain(asked.query, asked.uri)


def problem_of(asked: Asked, count: int) -> str:
    """Why this cannot be asked of a server with `count` shards; empty: it can."""
    if asked.count != count:
        return f"this server divides the index into {count} shards, not {asked.count} (indexserver.shards)"
    if any(number >= count for number in asked.shards) or len(set(asked.shards)) < len(asked.shards):
        return f"expected different shards from 0 to {count - 1}"
    if isinstance(asked, AskShards):
        if not 0 <= asked.question.most <= DEEPEST:
            return f"expected at most {DEEPEST} hits"
        return _query_problem(asked.question.query)
    return _query_problem(asked.query) if isinstance(asked, ExplainShards) else ""


def _query_problem(query: SearchQuery) -> str:
    """Why no text that somebody may type means this query: then it may be more work than any of these."""
    terms = [*(term for group in query.groups for term in group), *query.excluded]
    filters = [*query.sites, *query.not_sites, *query.languages, *query.not_languages]
    if not all(query.groups):
        return "a group of words is empty"
    if len(terms) > MOST_TERMS or any(len(group) > MOST_ALTERNATIVES for group in query.groups):
        return f"expected at most {MOST_TERMS} words and phrases in a query, and {MOST_ALTERNATIVES} alternatives"
    if len(filters) > MOST_FILTERS:
        return f"expected at most {MOST_FILTERS} filters in a query"
    # A word that is corrected may become a little longer.
    if sum(len(term.text) for term in terms) > 2 * LONGEST_QUERY:
        return f"expected at most {LONGEST_QUERY} characters in a query"
    words = [number_of_words(term.text) for term in terms]
    if any(number > MOST_WORDS_IN_TERM for number in words) or sum(words) > MOST_WORDS:
        return f"expected at most {MOST_WORDS_IN_TERM} words in a phrase, and {MOST_WORDS} in all"
    return ""
