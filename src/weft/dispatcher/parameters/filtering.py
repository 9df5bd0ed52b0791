"""What a link reduces to by the rules of its path, its host and its site."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

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
    tokens_of,
    values_of,
    with_query,
)
from weft.dispatcher.parameters.rules import Reach, Rule
from weft.dispatcher.parameters.votes import Pair, is_full
from weft.model.refusal import Refusal, RefusalKind
from weft.model.site import Site
from weft.model.url import PageUrl

_STEPS: Final = 24
"""More than the parameters of a query: each step leaves a simpler one."""


class ByHand(NamedTuple):
    """What the user said about the parameters of a site; a name that ends in `*` means all that begin so."""

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def keeps(self, names: Names) -> bool:
        return any(_matches(name, self.keep) for name in names)

    def drops(self, name: str) -> bool:
        return _matches(name, self.drop) and not _matches(name, self.keep)


class RuleSet(NamedTuple):
    """All rules that may speak of one path."""

    path: dict[Names, list[Rule]]
    host: dict[Names, list[Rule]]
    differing: dict[Names, frozenset[Pair]]
    """Values that matter on this path, whatever other paths say."""
    broken: frozenset[str | None]
    by_hand: ByHand = ByHand()

    def __bool__(self) -> bool:
        return bool(self.path or self.host or self.by_hand.drop)

    def of(self, names: Names) -> list[Rule]:
        if self.by_hand.keeps(names):
            return []
        against = self.differing.get(names, frozenset())
        host = [rule for rule in self.host.get(names, []) if not _is_opposed(rule, against)]
        return [*self.path.get(names, []), *host]


def _is_opposed(rule: Rule, against: frozenset[Pair]) -> bool:
    """Whether a path says otherwise than its host, or may have said so and been cut short."""
    if rule.values is None:
        return bool(against)
    pairs = [tuple(sorted((value, rule.stands))) for value in rule.values]
    return any((one, other) in against or is_full(against, (one, other)) for one, other in pairs)


class Reduced(NamedTuple):
    """The page that stands for a link, and the rules that say so."""

    page: PageUrl
    rules: list[Rule]

    @property
    def refusal(self) -> Refusal:
        rules = ", ".join(dict.fromkeys(rule.text for rule in self.rules))
        return Refusal(RefusalKind.PARAMETERS, f"{rules} -> {self.page.uri}")

    @property
    def doubt(self) -> int:
        return max(rule.doubt for rule in self.rules)


def by_hand(site: Site | None) -> ByHand:
    if site is None:
        return ByHand()
    return ByHand(site.settings.keep_parameters or (), site.settings.drop_parameters or ())


def reduce(page: PageUrl, rules: RuleSet) -> Reduced | None:
    """The simplest page that the rules lead to; None: the link stands for itself."""
    query = query_of(page.uri)
    if query is None or len(query) > LONGEST_QUERY or not rules:
        return None
    tokens, used = _without_dropped(tokens_of(query), page, rules.by_hand)
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


def _without_dropped(tokens: list[str], page: PageUrl, said: ByHand) -> tuple[list[str], list[Rule]]:
    dropped = sorted({name_of(token) for token in tokens if said.drops(name_of(token))})
    rules = [Rule(Reach.HAND, page.uri.partition("/")[0], (name,), None, ()) for name in dropped]
    return [token for token in tokens if name_of(token) not in dropped], rules


def _step(tokens: list[str], candidates: Iterable[Names], rules: RuleSet) -> tuple[list[str], Rule] | None:
    """The tokens after the first rule that holds."""
    form = normal_form("&".join(tokens))
    for names in candidates:
        if not all(name in form for name in names):
            continue
        others = others_of(form, names)
        values, context = values_of(form, names), context_of(others)
        covering = (rule for rule in rules.of(names) if rule.covers(values, context, others))
        rule = next(covering, None)
        # The first that speaks of it decides; where it already has the value that stands, no other may change that.
        if rule is not None and rule.stands != values:
            return _replaced(tokens, names, rule.stands), rule
    return None


def _replaced(tokens: Sequence[str], names: Names, stands: Values) -> list[str]:
    """The values that stand for the others take the first one's place."""
    kept: list[str] = []
    waiting = list(stands)
    for token in tokens:
        if name_of(token) not in names:
            kept.append(token)
        elif waiting:
            kept += waiting
            waiting = []
    return kept


def _spelt(query: str, tokens: list[str], rules: RuleSet, *, has_changed: bool) -> tuple[str | None, list[Rule]]:
    """The query of these tokens, by the rules for its spelling if there are any."""
    as_written = "&".join(tokens) or None if has_changed else query
    form = normal_form(as_written)
    for rule in rules.of(SPELLING):
        if rule.values is None:
            short = normal_query(tokens)
            return (short, [rule]) if short != as_written else (as_written, [])
        if as_written is not None and rule.covers((as_written,), context_of(form), ()):
            return next(iter(rule.stands), None), [rule]
    return as_written, []


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in patterns)
