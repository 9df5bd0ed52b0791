"""What a link reduces to by the rules of its path and its host and by the settings of its site."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final, NamedTuple

from weft.dispatcher.parameters.host_evidence import Pair, is_full
from weft.dispatcher.parameters.parameter_rules import ParameterRule, Reach
from weft.dispatcher.parameters.query import (
    LONGEST_QUERY,
    SPELLING,
    Names,
    Values,
    context_of,
    name_of,
    normal_form,
    normal_query,
    others_of,
    query_of,
    short_hash,
    tokens_of,
    values_of,
    with_query,
)
from weft.model.refusal import Refusal, RefusalKind
from weft.model.site import Site
from weft.model.url import PageUrl

_SAMPLE_PARTS: Final = 100_000
_STEPS: Final = 64
"""More than rules of one site lead through; a link that they lead further is not reduced."""
_NARROWEST_FIRST: Final = (Reach.VALUE, Reach.PATH, Reach.HOST, Reach.USER)


class UserRules(NamedTuple):
    """The parameter settings of a site; a name that ends in `*` means all names that begin like it."""

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def keeps(self, names: Names) -> bool:
        return any(_matches(name, self.keep) for name in names)

    def drops(self, name: str) -> bool:
        return _matches(name, self.drop) and not _matches(name, self.keep)


class RuleSet(NamedTuple):
    """All rules that may apply to one path."""

    path: dict[Names, list[ParameterRule]]
    host: dict[Names, list[ParameterRule]]
    differing: dict[Names, frozenset[Pair]]
    """Values that matter on this path, whatever holds for other paths."""
    broken: frozenset[str | None]
    user_rules: UserRules = UserRules()

    def __bool__(self) -> bool:
        return bool(self.path or self.host or self.user_rules.drop)

    def of(self, names: Names) -> list[ParameterRule]:
        if self.user_rules.keeps(names):
            return []
        against = self.differing.get(names, frozenset())
        host = [rule for rule in self.host.get(names, []) if not _is_opposed(rule, against)]
        return [*self.path.get(names, []), *host]


def _is_opposed(rule: ParameterRule, against: frozenset[Pair]) -> bool:
    """Whether the evidence of a path contradicts its host, or may have done so before it was cut short."""
    if rule.values is None:
        return bool(against)
    pairs = [tuple(sorted((value, rule.kept))) for value in rule.values]
    return any((one, other) in against or is_full(against, (one, other)) for one, other in pairs)


class Reduced(NamedTuple):
    """The page that is fetched in place of a link, and the rules behind that."""

    page: PageUrl
    rules: list[ParameterRule]

    @property
    def refusal(self) -> Refusal:
        rules = ", ".join(dict.fromkeys(rule.text for rule in self.rules))
        return Refusal(RefusalKind.PARAMETERS, f"{rules} -> {self.page.uri}")

    @property
    def doubt(self) -> int:
        """A spelling is confirmed by whatever confirms the other rules: few pairs differ in nothing else."""
        return max(rule.doubt for rule in [r for r in self.rules if r.names != SPELLING] or self.rules)


def user_rules(site: Site | None) -> UserRules:
    if site is None:
        return UserRules()
    return UserRules(site.settings.keep_parameters or (), site.settings.drop_parameters or ())


def reduce(page: PageUrl, rules: RuleSet) -> Reduced | None:
    """The simplest page that the rules lead to; None: no rule applies."""
    query = query_of(page.uri)
    if query is None or len(query) > LONGEST_QUERY or not rules:
        return None
    tokens, used = _without_dropped(tokens_of(query), page, rules.user_rules)
    candidates = sorted({*rules.host, *rules.path} - {SPELLING}, key=lambda names: (-len(names), names))
    way = _follow(tuple(tokens), lambda state: _step(state, candidates, rules))
    if way:
        tokens = list(way[-1].place)
        used += _used(way)
    as_written = "&".join(tokens) or None if used else query
    respelt = _respelt(as_written, rules)
    short = as_written if respelt is None else next(iter(respelt.place), None)
    used += () if respelt is None else respelt.rules
    if not used or short == query or short in rules.broken:
        return None
    return Reduced(with_query(page.url, short), list(dict.fromkeys(used)))


def is_sampled(uri: str, percent: float, doubt: int = 1) -> bool:
    """Whether a link is fetched although it reduces to another, to see whether the rules still hold.

    Always the same links, so that asking again fetches no more of them.
    """
    return short_hash("sample:" + uri) % _SAMPLE_PARTS < percent * doubt * _SAMPLE_PARTS / 100


def _without_dropped(tokens: list[str], page: PageUrl, user_rules: UserRules) -> tuple[list[str], list[ParameterRule]]:
    dropped = sorted({name_of(token) for token in tokens if user_rules.drops(name_of(token))})
    rules = [ParameterRule(Reach.USER, page.uri.partition("/")[0], (name,), None, ()) for name in dropped]
    return [token for token in tokens if name_of(token) not in dropped], rules


class _Step(NamedTuple):
    """Where rules lead: all tokens of a query, the values of parameters, or a spelling."""

    place: Values
    rules: tuple[ParameterRule, ...]


def _follow(start: Values, next_step: Callable[[Values], _Step | None]) -> list[_Step]:
    """The steps to where the rules lead.

    Rules about different parameters may undo each other. Wherever one enters such a circle, the way ends at the same
    place of it: where the narrowest rule leads. So each place is reduced to one that is not reduced any more.
    """
    way: list[_Step] = []
    seen = {start: 0}
    step = next_step(start)
    while step is not None and len(way) < _STEPS:
        way.append(step)
        begin = seen.setdefault(step.place, len(way))
        if begin < len(way):
            end = min(range(begin + 1, len(way) + 1), key=lambda number: _rank(way[number - 1]))
            return way[: begin if end == len(way) else end]
        step = next_step(step.place)
    return way if step is None else []


def _rank(step: _Step) -> tuple[int, int, str, Values]:
    tokens = list(step.place)
    return _narrowness(step.rules[-1]), len(tokens), normal_query(tokens) or "", step.place


def _narrowness(rule: ParameterRule) -> int:
    return _NARROWEST_FIRST.index(rule.reach)


def _used(way: list[_Step]) -> list[ParameterRule]:
    return [rule for step in way for rule in step.rules]


def _step(tokens: Values, candidates: Iterable[Names], rules: RuleSet) -> _Step | None:
    """The tokens after the rules for the first parameters that are not yet as they should be."""
    form = normal_form("&".join(tokens))
    for names in candidates:
        if not all(name in form for name in names):
            continue
        others = others_of(form, names)
        context, other_names = context_of(others), frozenset(others)
        holding = [(rule, rule.kept) for rule in rules.of(names) if rule.holds(context, other_names)]
        step = _stand_for(values_of(form, names), holding)
        if step is not None:
            return _Step(tuple(_replaced(tokens, names, step.place)), step.rules)
    return None


def _stand_for(values: Values, holding: list[tuple[ParameterRule, Values]]) -> _Step | None:
    """The values that stand for all that are the same by these rules, each with what it keeps; None: these do.

    All that are the same get the same: absence if it is among them, else what the narrowest rule keeps.
    """
    came: dict[Values, tuple[Values, ParameterRule] | None] = {values: None}
    kept: dict[Values, int] = {}
    waiting = sorted(holding, key=lambda each: each[0].values is not None)
    anything = waiting[0][1] if waiting and waiting[0][0].values is None else None
    while touching := [(each, begin) for each in waiting if (begin := _touches(*each, came, anything)) is not None]:
        (rule, keeps), begin = touching[0]
        for value in sorted({keeps, *(rule.values or ())}):
            came.setdefault(value, (values if rule.values is None else begin, rule))
        kept[keeps] = min(kept.get(keeps, len(_NARROWEST_FIRST)), _narrowness(rule))
        waiting = [each for each in waiting if each != (rule, keeps)]
    simplest_first = sorted(kept, key=lambda value: (len(value), sum(map(len, value)), value))
    best = min(simplest_first, key=lambda value: (bool(value), kept[value]), default=values)
    return _Step(best, _way_back(best, came)) if best != values else None


def _touches(rule: ParameterRule, keeps: Values, came: Container[Values], anything: Values | None) -> Values | None:
    """From which of the values that are known to be the same this rule leads on; `anything` if all values are."""
    if rule.values is None:
        return anything
    return next((value for value in (keeps, *sorted(rule.values)) if value in came), anything)


def _way_back(value: Values, came: dict[Values, tuple[Values, ParameterRule] | None]) -> tuple[ParameterRule, ...]:
    rules: list[ParameterRule] = []
    while (before := came[value]) is not None:
        value, rule = before
        rules.append(rule)
    return tuple(reversed(rules))


def _replaced(tokens: Sequence[str], names: Names, values: Values) -> list[str]:
    """The tokens with these values of `names`, put where the first of them was."""
    kept: list[str] = []
    waiting = list(values)
    for token in tokens:
        if name_of(token) not in names:
            kept.append(token)
        elif waiting:
            kept += waiting
            waiting = []
    return kept


def _respelt(query: str | None, rules: RuleSet) -> _Step | None:
    """The same parameters in another order, or each once."""
    if query is None:
        return None
    form = normal_form(query)
    normal = normal_query(tokens_of(query))
    holding: list[tuple[ParameterRule, Values]] = []
    for rule in rules.of(SPELLING):
        if rule.values is None:
            holding.append((rule, () if normal is None else (normal,)))
        elif rule.holds(context_of(form), ()) and normal_form(next(iter(rule.kept), None)) == form:
            holding.append((rule, rule.kept))
    return _stand_for((query,), holding)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in patterns)
