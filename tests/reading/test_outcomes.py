"""The table of outcomes, row by row."""

from __future__ import annotations

import pytest

from weft.reading.outcomes import BodyKind, Effect, Leads, PageOutcome, effect_of, outcome_of

ROWS = [
    ((200, 201, 203, 204, 299), "any", BodyKind.PAGE, PageOutcome.PAGE, Effect.REPLACE),
    ((200, 201, 203, 204, 299), "any", BodyKind.LISTING, PageOutcome.LISTING, Effect.REMOVE),
    ((200, 201, 203, 204, 299), "any", BodyKind.OTHER, PageOutcome.OTHER, Effect.REMOVE),
    ((301, 302, 303, 307, 308), Leads.ELSEWHERE, "any", PageOutcome.MOVED, Effect.REMOVE),
    ((301, 302, 303, 307, 308), Leads.TO_ITSELF, "any", PageOutcome.SELF_REDIRECT, Effect.KEEP),
    ((301, 302, 303, 307, 308), Leads.TO_NO_PAGE, "any", PageOutcome.BAD_REDIRECT, Effect.KEEP),
    ((301, 302, 303, 307, 308), Leads.NOWHERE, "any", PageOutcome.FAILING, Effect.KEEP),
    ((304,), "any", "any", PageOutcome.SAME, Effect.KEEP),
    ((404, 410), "any", "any", PageOutcome.GONE, Effect.REMOVE),
    ((0, 100, 199, 206, 300, 305, 306, 400, 401, 403, 405, 429, 451, 500, 503, 999), "any", "any",
     PageOutcome.FAILING, Effect.KEEP),
]  # fmt: skip


@pytest.mark.parametrize(("statuses", "leads", "body", "outcome", "effect"), ROWS)
def test_a_row_of_the_table(
    statuses: tuple[int, ...], leads: Leads | str, body: BodyKind | str, outcome: PageOutcome, effect: Effect
) -> None:
    ways = [
        outcome_of(status, each_leads, each_body)
        for status in statuses
        for each_leads in (Leads if leads == "any" else [Leads(leads)])
        for each_body in (BodyKind if body == "any" else [BodyKind(body)])
    ]
    assert set(ways) == {outcome}
    assert effect_of(outcome, bad_redirect_removes=False) is effect


def test_every_outcome_is_in_the_table() -> None:
    assert {row[3] for row in ROWS} == set(PageOutcome)


def test_the_option_of_bad_redirects_changes_nothing_else() -> None:
    changed = [
        outcome
        for outcome in PageOutcome
        if effect_of(outcome, bad_redirect_removes=True) is not effect_of(outcome, bad_redirect_removes=False)
    ]
    assert changed == [PageOutcome.BAD_REDIRECT]
    assert effect_of(PageOutcome.BAD_REDIRECT, bad_redirect_removes=True) is Effect.REMOVE
