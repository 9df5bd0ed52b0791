"""What a link reduces to by the rules of its path and its host and by the settings of its site."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
_STEPS: Final = 24
"""More than the parameters of a query: each step leaves a simpler one."""


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
        return max(rule.doubt for rule in self.rules)


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
    candidates = {*rules.host, *rules.path} - {SPELLING}
    for _ in range(_STEPS):
        step = _step(tokens, sorted(candidates, key=lambda names: (-len(names), names)), rules)
        if step is None:
            break
        tokens, rule = step
        used.append(rule)
    short, spelling = _spelt(query, tokens, rules, has_changed=bool(used))
    used += spelling
    if not used or short == query or short in rules.broken:
        return None
    return Reduced(with_query(page.url, short), used)


def is_sampled(uri: str, percent: float, doubt: int = 1) -> bool:
    """Whether a link is fetched although it reduces to another, to see whether the rules still hold.

    Always the same links, so that asking again fetches no more of them.
    """
    return short_hash("sample:" + uri) % _SAMPLE_PARTS < percent * doubt * _SAMPLE_PARTS / 100


def _without_dropped(tokens: list[str], page: PageUrl, user_rules: UserRules) -> tuple[list[str], list[ParameterRule]]:
    dropped = sorted({name_of(token) for token in tokens if user_rules.drops(name_of(token))})
    rules = [ParameterRule(Reach.USER, page.uri.partition("/")[0], (name,), None, ()) for name in dropped]
    return [token for token in tokens if name_of(token) not in dropped], rules


def _step(tokens: list[str], candidates: Iterable[Names], rules: RuleSet) -> tuple[list[str], ParameterRule] | None:
    """The tokens after the first rule that holds."""
    form = normal_form("&".join(tokens))
    for names in candidates:
        if not all(name in form for name in names):
            continue
        others = others_of(form, names)
        values, context = values_of(form, names), context_of(others)
        covering = (rule for rule in rules.of(names) if rule.covers(values, context, others))
        rule = next(covering, None)
        # The first rule that applies decides; where its value is already in place, no other may change it.
        if rule is not None and rule.kept != values:
            return _replaced(tokens, names, rule.kept), rule
    return None


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


def _spelt(
    query: str, tokens: list[str], rules: RuleSet, *, has_changed: bool
) -> tuple[str | None, list[ParameterRule]]:
    """The query of these tokens, by the rules for its spelling if there are any."""
    as_written = "&".join(tokens) or None if has_changed else query
    form = normal_form(as_written)
    for rule in rules.of(SPELLING):
        if rule.values is None:
            short = normal_query(tokens)
            return (short, [rule]) if short != as_written else (as_written, [])
        if as_written is not None and rule.covers((as_written,), context_of(form), ()):
            return next(iter(rule.kept), None), [rule]
    return as_written, []


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in patterns)
