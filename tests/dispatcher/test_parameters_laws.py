"""Laws of learning: order does not matter, contradictions win, nothing hidden is lost, nothing grows without end."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.parameter_learning import NEVER_SAMPLED, Learning
from weft.dispatcher.link_records import LINK, LinkPhase, LinkRecord, decode_record
from weft.dispatcher.parameters import evidence_cells, host_evidence
from weft.dispatcher.parameters import path_evidence as bounds
from weft.dispatcher.parameters.parameter_rules import ParameterRule, Reach, contradictions, rules_of_path
from weft.dispatcher.parameters.path_evidence import Observation, PathEvidence, observe
from weft.dispatcher.parameters.query import SPELLING, Names, Values, short_hash
from weft.dispatcher.parameters.reduction import RuleSet, reduce
from weft.model.url import UrlRules
from weft.store.api import Batch
from weft.store.tables import Table

PATH = "com.test/a"
RULES = UrlRules()
tokens = st.sampled_from(["a=1", "a=2", "b=1", "b=2", "c", "c=3"])
queries = st.one_of(st.none(), st.lists(tokens, min_size=1, max_size=3).map("&".join))
observations = st.lists(
    st.builds(Observation, query=queries, fingerprint=st.integers(1, 3), at=st.integers(0, 3_000_000)),
    max_size=14,
    unique_by=(lambda each: each.query, lambda each: each.at),
)


def seen(found: list[Observation]) -> PathEvidence:
    evidence = PathEvidence()
    for each in found:
        evidence = observe(evidence, each)
    return evidence


def rule_set(evidence: PathEvidence) -> RuleSet:
    return RuleSet(
        rules_of_path(PATH, evidence, [], NEVER_SAMPLED), {}, contradictions(evidence), frozenset(evidence.broken)
    )


@given(observations, st.randoms(use_true_random=False))
def test_the_order_of_fetches_does_not_matter(found: list[Observation], random: object) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert rule_set(seen(found)) == rule_set(seen(shuffled))
    assert evidence_cells.decode_path(evidence_cells.encode(seen(found))) == seen(found)


def test_at_one_moment_the_finding_that_says_no_stands_whichever_came_first() -> None:
    first, other = Observation(None, 1, 0), Observation("a=1", 2, 5)
    same = Observation("a=1", 1, 5)
    for order in ([first, other, same], [first, same, other]):
        assert rule_set(seen(order)).path == {}
    assert rule_set(seen([first, other, Observation("a=1", 1, 6)])).path != {}


@given(observations)
def test_a_rule_for_a_parameter_has_no_contradiction(found: list[Observation]) -> None:
    evidence = seen(found)
    against = contradictions(evidence)
    for names, rules in rule_set(evidence).path.items():
        assert all(rule.values is not None for rule in rules) or names not in against


@given(observations)
def test_a_fetched_query_is_only_reduced_to_one_it_agrees_with_when_both_were_seen_together(
    found: list[Observation],
) -> None:
    texts = {each.query: each.fingerprint for each in found}
    rules = rule_set(seen(found))
    for query, text in texts.items():
        if query is None:
            continue
        page = RULES.identify(f"https://test.com/a?{query}")
        reduced = reduce(page, rules)
        if reduced is not None and len(reduced.rules) == 1:
            target = reduced.page.uri.partition("?")[2] or None
            assert texts.get(target, text) == text


@given(observations, queries)
def test_what_stands_for_others_stands_for_itself(found: list[Observation], query: str | None) -> None:
    rules = rule_set(seen(found))
    reduced = reduce(RULES.identify(f"https://test.com/a?{query or ''}"), rules)
    assert reduced is None or reduce(reduced.page, rules) is None


CONTEXTS = [frozenset({short_hash(text)}) for text in ("", "a=1", "a=2", "b=1", "b=2", "c", "b=1&c")]


def any_rules(names: Names, values: list[Values]) -> st.SearchStrategy[list[ParameterRule]]:
    """Rules of a path or a host about these parameters, whether or not evidence could ever lead to them."""
    rule = st.builds(
        ParameterRule,
        st.sampled_from([Reach.VALUE, Reach.PATH, Reach.HOST]),
        st.just("com.test"),
        st.just(names),
        st.one_of(st.none(), st.frozensets(st.sampled_from(values), min_size=1, max_size=2)),
        st.sampled_from([(), *values]),
        st.one_of(st.none(), st.sampled_from(CONTEXTS)),
        st.just(frozenset("abc")),
    )
    return st.lists(rule, max_size=4)


by_names = st.fixed_dictionaries(
    {
        ("a",): any_rules(("a",), [("a=1",), ("a=2",), ("a=3",)]),
        ("b",): any_rules(("b",), [("b=1",), ("b=2",)]),
        ("a", "b"): any_rules(("a", "b"), [("a=1", "b=1")]),
        SPELLING: any_rules(SPELLING, [("a=1&b=1",), ("b=1&a=1",), ("a=1&b=1&a=1",)]),
    }
)
any_queries = st.lists(st.sampled_from(["a=1", "a=2", "a=3", "b=1", "b=2", "c"]), min_size=1, max_size=4).map("&".join)


@given(by_names, by_names, any_queries)
def test_whatever_the_rules_are_reducing_twice_is_reducing_once(path, host, query) -> None:
    rules = RuleSet(path, host, {}, frozenset())
    reduced = reduce(RULES.identify(f"https://test.com/a?{query}"), rules)
    if reduced is not None:
        assert reduce(reduced.page, rules) is None
        assert len(reduced.rules) == len(set(reduced.rules)), "each rule is listed once"


@given(by_names, by_names, st.sampled_from(["a=7", "a=8&c", "c&a=9", "a=1"]))
def test_two_variants_of_a_page_reduce_to_the_same_uri(path, host, query) -> None:
    whole = ParameterRule(Reach.HOST, "com.test", ("a",), None, ("a=2",), None, frozenset("abc"))
    rules = RuleSet(path, {**host, ("a",): [whole]}, {}, frozenset())
    other = query.replace(query[query.index("a=") + 2], "5")

    def place(query: str) -> str:
        page = RULES.identify(f"https://test.com/a?{query}")
        reduced = reduce(page, rules)
        return reduced.page.uri if reduced else page.uri

    assert place(query) == place(other)


def test_a_rule_of_the_path_decides_where_the_host_would_undo_it() -> None:
    host = ParameterRule(Reach.HOST, "com.test", ("s",), None, ("s=5c",), None, frozenset())
    path = ParameterRule(Reach.VALUE, PATH, ("s",), frozenset({("s=5c",)}), ("s=3d",), None, frozenset())
    rules = RuleSet({("s",): [path]}, {("s",): [host]}, {}, frozenset())
    reduced = reduce(RULES.identify("https://test.com/a?s=another"), rules)
    assert reduced is not None
    assert (reduced.page.uri, reduced.rules) == ("com.test/a?s=3d", [host, path])
    assert reduce(RULES.identify("https://test.com/a?s=3d"), rules) is None


targets = st.sampled_from([f"/{path}{query}" for path in "abcdefg" for query in ("", "?s=1", "?s=2", "?s=3", "?t=1")])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["fetch", "find", "step"]), targets, st.booleans()), max_size=30))
def test_hidden_links_are_never_lost(history: list[tuple[str, str, bool]]) -> None:
    crawl = Learning()
    for action, target, is_same in history:
        if action == "fetch":
            crawl.fetch(target, ord(target[1]) if is_same else 1000 + sum(map(ord, target)))
        elif action == "find":
            crawl.find(target)
        else:
            crawl.step()
    uris = {uri: record for uri, record in records(crawl).items() if record.phase is LinkPhase.HIDDEN}
    assert all(record.canonical.encode() in records(crawl) for record in uris.values())
    drop_all_rules(crawl)
    crawl.step()
    assert all(record.phase is not LinkPhase.HIDDEN for record in records(crawl).values())


def records(crawl: Learning) -> dict[bytes, LinkRecord]:
    cells = crawl.store.scan_rows(Table.LINKS, b"l:")
    return {cell.qualifier: decode_record(cell.value) for cell in cells if cell.family == LINK}


def drop_all_rules(crawl: Learning) -> None:
    batch = Batch()
    for cell in list(crawl.store.scan(Table.LINKS, b"l:com.test", evidence_cells.EVIDENCE)):
        batch.delete(Table.LINKS, cell.row, cell.family, cell.qualifier)
    batch.put(Table.LINKS, *evidence_cells.sweep_column(b"com.test", b""), b"")
    crawl.store.write(batch, crawl.store.last_seq + 1)


def test_the_value_that_stands_for_the_others_stays_however_many_agree() -> None:
    evidence, kept = PathEvidence(), set()
    for n in range(300):
        evidence = observe(evidence, Observation(f"id={n // 4}&noise={short_hash(str(n)):x}", 1 + n // 4, n))
        rules = rules_of_path(PATH, evidence, [], NEVER_SAMPLED).get(("noise",), [])
        kept |= {rule.kept for rule in rules if rule.values is None}
    assert len(kept) == 1


@given(st.integers(0, 2**32), st.sampled_from(["names", "values", "both"]))
@settings(deadline=None, max_examples=6)
def test_the_evidence_of_a_path_is_bounded_under_endless_parameters(seed: int, kind: str) -> None:
    evidence = PathEvidence()
    for n in range(300):
        name = "p" if kind == "values" else f"p{seed + n}"
        value = "1" if kind == "names" else f"{seed + n}"
        evidence = observe(evidence, Observation(f"{name}={value}&q={n % 3}", 1 + n % 2, n))
    assert len(evidence.observations) <= bounds.ANCHORS + bounds.RECENT
    assert len({finding.names for finding in evidence.findings}) <= bounds.PARAMETERS
    assert len(evidence.findings) <= bounds.PARAMETERS * (bounds.AGREEING + bounds.DIFFERING)


def test_the_evidence_of_a_host_is_bounded_under_endless_paths_and_parameters() -> None:
    host = host_evidence.HostEvidence()
    for n in range(600):
        evidence = seen([Observation(None, n + 1, n), Observation(f"p{n % 200}=1", n + 1, n + 1)])
        host = host_evidence.cast(
            host_evidence.seen_text(host, f"com.test/{n}", n % 300 + 1), f"com.test/{n}", evidence
        )
    assert len(host.votes) <= host_evidence.PARAMETERS
    assert all(len(each) <= 2 * host_evidence.VOTES for each in host.votes.values())
    assert len(host.lately) <= host_evidence.LATELY
    assert len(host.soft) <= host_evidence.SOFT
